#include "gated/core/matrix.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/numbers.hpp"

namespace gated::matrix_test {
namespace {

TEST(Matrix, StoresTheChannelsOfATokenContiguously) {
  Matrix<float> x(2, 3);
  x << 1, 2, 3, 4, 5, 6;
  EXPECT_EQ(x.data()[1], 2);
  EXPECT_EQ(x.data()[3], 4);
}

TEST(View, DoesNotCopyABlock) {
  Matrix<double> x = Matrix<double>::Zero(4, 6);
  View<double> view = x.block(1, 2, 2, 3);
  EXPECT_EQ(view.outerStride(), 6);
  view(0, 0) = 7;
  EXPECT_EQ(x(1, 2), 7);
  const ConstView<double> seen = x.block(1, 2, 2, 3);
  EXPECT_EQ(seen.data(), &x(1, 2));
}

TEST(ExpectColumns, NamesTheCallerAndBothSizes) {
  const Matrix<float> x(2, 5);
  EXPECT_NO_THROW(expect_columns<float>("Linear", "x", x, "in", 5));
  const std::string message = test::message_of<ShapeError>([&] {
    expect_columns<float>({"Linear", "forward"}, "x", x, "in", 4);
  });
  EXPECT_EQ(message.find("Linear::forward: x has 5 columns, expected in = 4"), 0u) << message;
}

TEST(ExpectShape, RefusesMismatchedRowsOrColumns) {
  Matrix<float> y(2, 5);
  EXPECT_NO_THROW(expect_shape<float>("matmul", "y", y, 2, 5));
  EXPECT_THROW(expect_shape<float>("matmul", "y", y, 2, 4), ShapeError);
  const std::string message = test::message_of<ShapeError>([&] { expect_shape<float>("matmul", "y", y, 3, 5); });
  EXPECT_EQ(message.find("matmul: y is 2 × 5, expected 3 × 5."), 0u) << message;
}

TEST(ExpectPositions, RefusesTokensPastTheCapacity) {
  constexpr Index most = std::numeric_limits<Index>::max();
  EXPECT_NO_THROW(expect_positions("f", 3, 5, 8, "of the capacity."));
  EXPECT_NO_THROW(expect_positions("f", 0, 8, 8, "of the capacity."));
  EXPECT_NO_THROW(expect_positions("f", most, 0, most, "of the capacity."));
  EXPECT_EQ(test::message_of<ShapeError>([] {
              expect_positions({"GmlpBlock", "extend"}, 3, 6, 8, "of the capacity.");
            }),
            "GmlpBlock::extend: 3 tokens from position 6 exceed the 8 tokens of the capacity.");
  EXPECT_THROW(expect_positions("f", 0, 9, 8, "of the capacity."), ShapeError);
  EXPECT_THROW(expect_positions("f", 0, -1, 8, "of the capacity."), ShapeError);
  EXPECT_THROW(expect_positions("f", most, most - 1, most, "of the capacity."), ShapeError) << "their sum overflows Index";
}

}  // namespace
}  // namespace gated::matrix_test
