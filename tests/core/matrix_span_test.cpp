#include "gated/core/matrix_span.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gated/core/workspace.hpp"
#include "gated/layers/gmlp_block.hpp"
#include "tests/core/numbers.hpp"

namespace gated::matrix_span_test {
namespace {

using test::message_of;

GmlpBlock<float> block() {
  Random random(1);
  GmlpBlock<float> layer({.length = 6, .channels = 4, .hidden = 8, .causal = true});
  layer.initialize(random);
  return layer;
}
const std::vector<float> values = [] {
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 7) - 3;
  }
  return x;
}();

TEST(MatrixSpan, IsAcceptedByForwardAndExtend) {
  const auto layer = block();
  const Matrix<float> expected = layer.forward(Eigen::Map<const Matrix<float>>(values.data(), 6, 4));
  Workspace<float> workspace;
  std::vector<float> y(24), z(24);
  layer.forward({values, 6, 4}, {y, 6, 4}, workspace);
  EXPECT_TRUE(test::same_bits(Eigen::Map<Matrix<float>>(y.data(), 6, 4), expected));
  layer.forward({values, 6, 4}, Sequences::single(6), {z, 6, 4}, workspace);
  EXPECT_EQ(y, z);
  auto state = layer.start();
  for (std::size_t i = 0; i < 6; ++i) {
    layer.extend({std::span(values).subspan(4 * i, 4), 1, 4}, state, {std::span(z).subspan(4 * i, 4), 1, 4}, workspace);
  }
  EXPECT_EQ(y, z);
}

TEST(MatrixSpan, RefusesWrongSizes) {
  const auto layer = block();
  Workspace<float> workspace;
  std::vector<float> y(24);
  const auto refusal = [&](Index rows, Index columns) {
    return message_of<Error>([&] { layer.forward({values, rows, columns}, {y, 6, 4}, workspace); });
  };
  EXPECT_EQ(refusal(6, 3), "MatrixSpan: the span has 24 elements, expected 6 × 3 = 18.");
  EXPECT_EQ(refusal(-6, -4), "MatrixSpan: the matrix is -6 × -4, expected no negative size.");
  EXPECT_NE(refusal(4, 6).find("6 columns, expected in = 4"), std::string::npos);
}

#if defined(__cpp_lib_mdspan)
TEST(MatrixSpan, AcceptsMdspans) {
  const auto layer = block();
  const Matrix<float> expected = layer.forward(Eigen::Map<const Matrix<float>>(values.data(), 6, 4));
  Workspace<float> workspace;
  std::vector<float> y(24), wide(60, 7.0f);
  layer.forward(std::mdspan(values.data(), 6, 4), std::mdspan(y.data(), 6, 4), workspace);
  EXPECT_TRUE(test::same_bits(Eigen::Map<Matrix<float>>(y.data(), 6, 4), expected));
  using Extents = std::dextents<int, 2>;
  const std::mdspan strided(wide.data(), std::layout_stride::mapping(Extents(6, 4), std::array{10, 1}));
  layer.forward(std::mdspan(values.data(), 6, 4), strided, workspace);
  EXPECT_EQ(wide[10], y[4]);
  EXPECT_EQ(wide[4], 7.0f);
  const std::mdspan columns(wide.data(), std::layout_left::mapping(Extents(6, 4)));
  EXPECT_NE(message_of<ShapeError>([&] {
              layer.forward(std::mdspan(values.data(), 6, 4), columns, workspace);
            }).find("6 elements apart, expected 1"),
            std::string::npos);
}
#endif

}  // namespace
}  // namespace gated::matrix_span_test
