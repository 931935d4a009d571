#include "gated/layers/offset_scale.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::offset_scale_test {
namespace {

using test::near;
using test::random_matrix;
using test::wide;

template <class T>
class OffsetScaleOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(OffsetScaleOf, Scalars, );

/// The elementwise product of an OffsetScale's two outputs, from rows 0 and 2 of its weight and bias.
template <class T>
struct AllRows : Layer<AllRows<T>> {
  static constexpr const char* name = "AllRows";

  OffsetScale<T> offset_scale;

  static constexpr auto fields() { return Fields(field("offset_scale", &AllRows::offset_scale)); }
  Contract contract() const { return {.in = offset_scale.in(), .out = offset_scale.out(), .sees = Sees::itself}; }

  auto apply(auto& run, auto x) const {
    auto first = run(offset_scale, x, Index{0});
    return multiply(run, std::move(first), run(offset_scale, std::move(x), Index{2}));
  }
};

TEST(OffsetScale, KeepsItsPromises) {
  for (const bool with_bias : {true, false}) {
    SCOPED_TRACE(with_bias);
    test::expect_promises([&](auto zero) {
      using T = decltype(zero);
      return AllRows<T>{{}, OffsetScale<T>(3, 7, with_bias)};
    });
  }
}

TYPED_TEST(OffsetScaleOf, ScalesAndShiftsByTheSelectedRow) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const bool with_bias : {true, false}) {
    for (const Index width : {1, 7, 16, 33}) {
      OffsetScale<T> layer(4, width, with_bias);
      test::randomize(layer, 1);
      const auto x = random_matrix<T>(6, width, 2);
      for (Index row = 0; row < 4; ++row) {
        Matrix<T> y(6, width);
        layer.forward(row, x, y, workspace);
        EXPECT_TRUE(near(y, literal::offset_scale(layer, row, wide(x)))) << row << " of width " << width;
      }
    }
  }
}

TYPED_TEST(OffsetScaleOf, ReadsAndWritesBlocksOfLargerMatrices) {
  using T = TypeParam;
  OffsetScale<T> layer(2, 5, true);
  test::randomize(layer, 1);
  const auto x = random_matrix<T>(6, 9, 2);
  Matrix<T> y = test::untouched<T>(6, 12);
  Workspace<T> workspace;
  layer.forward(1, x.rightCols(5), y.middleCols(3, 5), workspace);
  EXPECT_TRUE(near(Matrix<T>(y.middleCols(3, 5)), literal::offset_scale(layer, 1, wide<T>(x.rightCols(5)))));
  y.middleCols(3, 5).setConstant(77);
  EXPECT_TRUE(test::is_untouched(y));
}

TEST(OffsetScale, HooksSeeTheOutputOfEachRow) {
  AllRows<double> layer{{}, OffsetScale<double>(3, 5, true)};
  test::randomize(layer, 1);
  const auto x = random_matrix<double>(4, 5, 2);
  Workspace<double> workspace;
  std::map<std::string, Matrix<double>> shown;
  workspace.set_hook([&](const std::string& path, ConstView<double> output) { shown.emplace(path, output); });
  layer.forward(x, workspace);
  ASSERT_EQ(shown.size(), 3U);
  EXPECT_TRUE(near(shown.at("offset_scale.0"), literal::offset_scale(layer.offset_scale, 0, x)));
  EXPECT_TRUE(near(shown.at("offset_scale.2"), literal::offset_scale(layer.offset_scale, 2, x)));
}

TEST(OffsetScale, RefusesUnknownRowsAndWrongShapes) {
  const OffsetScale<float> layer(2, 5, true);
  const Matrix<float> x = Matrix<float>::Ones(3, 5), wide = Matrix<float>::Ones(3, 6);
  Matrix<float> y = test::untouched<float>(3, 5), low = test::untouched<float>(2, 5), broad = test::untouched<float>(3, 6);
  Workspace<float> workspace;
  EXPECT_THROW(layer.forward(2, x, y, workspace), ArgumentError);
  EXPECT_THROW(layer.forward(-1, x, y, workspace), ArgumentError);
  EXPECT_THROW(layer.forward(0, wide, y, workspace), ShapeError);
  EXPECT_THROW(layer.forward(0, wide, broad, workspace), ShapeError);
  EXPECT_THROW(layer.forward(0, x, low, workspace), ShapeError);
  EXPECT_THROW(OffsetScale<float>(-1, 5, true), ArgumentError);
  EXPECT_TRUE(test::is_untouched(y) && test::is_untouched(low) && test::is_untouched(broad));
}

TEST(OffsetScale, InitializesSmallWeightsAndZeroBiases) {
  OffsetScale<double> layer(2, 500, true);
  Random random(1);
  layer.initialize(random);
  EXPECT_NEAR(layer.weight.norm() / std::sqrt(1000.0), 0.02, 0.002);
  EXPECT_TRUE(layer.bias.isZero(0));
}

}  // namespace
}  // namespace gated::offset_scale_test
