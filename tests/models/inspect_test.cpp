#include "gated/models/inspect.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/models/gmlp.hpp"
#include "tests/core/numbers.hpp"

namespace gated::inspect_test {
namespace {

/// A projection with random parameters.
template <class T>
SpatialProjection<T> random_projection(SpatialProjectionConfig config, std::uint64_t seed) {
  SpatialProjection<T> projection(config);
  Random random(seed);
  for_each_parameter([&](const ParameterInfo&, auto values) { fill_normal(values, 1.0, random); }, projection);
  return projection;
}

/// The spatial weight of a convolution over a grid: W[p, p + Δ] = kernel(Δy, Δx) for each patch p and offset Δ = (Δy, Δx).
template <class T, class Kernel>
Matrix<T> translation_invariant(ImageSize grid, const Kernel& kernel) {
  Matrix<T> w(grid.area(), grid.area());
  for (Index p = 0; p < grid.area(); ++p) {
    for (Index q = 0; q < grid.area(); ++q) {
      w(p, q) = kernel(q / grid.width - p / grid.width, q % grid.width - p % grid.width);
    }
  }
  return w;
}

template <class T>
class ToeplitzError : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ToeplitzError, Scalars);

TYPED_TEST(ToeplitzError, IsExactlyZeroForToeplitzWeights) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    const auto projection =
        random_projection<T>({.length = 37, .heads = 3, .causal = causal, .form = SpatialForm::toeplitz}, 1);
    for (Index head = 0; head < 3; ++head) {
      for (const Index window : {1, 3, 5, 73, 1001}) {
        EXPECT_EQ(toeplitz_error(projection, head, window), 0.0) << head << ", " << window;
      }
    }
  }
}

TYPED_TEST(ToeplitzError, IsExactlyZeroForConvolutions) {
  using T = TypeParam;
  const ImageSize grid{4, 7};
  const Matrix<T> numbers = test::random_matrix<T>(7, 13, 2);
  const Matrix<T> w = translation_invariant<T>(grid, [&](Index dy, Index dx) { return numbers(dy + 3, dx + 6); });
  for (const Index window : {1, 3, 5, 99}) {
    EXPECT_EQ(toeplitz_error<T>(w, grid, window), 0.0) << window;
  }
  EXPECT_GT(toeplitz_error<T>(w, ImageSize{1, 28}, 99), 0.1)
      << "not Toeplitz along the sequence, which continues from one grid row to the next";
  EXPECT_TRUE(test::same_bits(mean_filter<T>(w, grid, 99), numbers.template cast<double>().eval()));
}

TEST(ToeplitzErrorOfNumbers, EqualsItsFormula) {
  Matrix<double> w(3, 3);
  w << 1, 5, 9,  //
      2, 3, 7,   //
      9, 4, 8;
  // The diagonal 1, 3, 8 has the mean 4 and absolute differences 3 + 1 + 4. The next diagonals are 5, 7 (mean 6, differences
  // 1 + 1) and 2, 4 (mean 3, differences 1 + 1).
  EXPECT_DOUBLE_EQ(toeplitz_error<double>(w, ImageSize{1, 3}, 1), 8.0 / 12);
  EXPECT_DOUBLE_EQ(toeplitz_error<double>(w, ImageSize{1, 3}, 3), (8.0 + 2 + 2) / (12 + 12 + 6));
  EXPECT_DOUBLE_EQ(toeplitz_error<double>(w, ImageSize{1, 3}, 5), 12.0 / 48) << "each corner is a diagonal of one element";
  EXPECT_DOUBLE_EQ(energy_share<double>(w, ImageSize{1, 3}, 1), (1.0 + 9 + 64) / w.squaredNorm());
  EXPECT_DOUBLE_EQ(energy_share<double>(w, ImageSize{1, 3}, 5), 1.0);
  EXPECT_TRUE(test::same_bits(mean_filter<double>(w, ImageSize{1, 3}, 3), Matrix<double>{{3, 4, 6}}));
  EXPECT_DOUBLE_EQ(mean_filter<double>(w, ImageSize{3, 1}, 3)(0, 0), 3) << "a grid of one column";
}

TEST(ToeplitzErrorOfNumbers, IsScaleInvariantAndLargeForNoise) {
  const Matrix<double> noise = test::random_matrix<double>(64, 64, 3);
  for (const ImageSize grid : {ImageSize{8, 8}, ImageSize{1, 64}}) {
    const double error = toeplitz_error<double>(noise, grid, 3);
    EXPECT_GT(error, 0.9);
    EXPECT_LT(error, 1.2);
    EXPECT_NEAR(toeplitz_error<double>(noise * -1e3, grid, 3), error, 1e-12);
  }
}

TEST(ToeplitzErrorOfNumbers, IsZeroForZerosAndNaNForNaN) {
  Matrix<double> w = Matrix<double>::Zero(6, 6);
  EXPECT_EQ(toeplitz_error<double>(w, ImageSize{2, 3}, 3), 0.0);
  EXPECT_EQ(energy_share<double>(w, ImageSize{2, 3}, 3), 0.0);
  w(1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(toeplitz_error<double>(w, ImageSize{2, 3}, 3)));
  EXPECT_TRUE(std::isnan(energy_share<double>(w, ImageSize{2, 3}, 3)));
}

TEST(ToeplitzErrorOfNumbers, AccountsForMasksAndPositionScales) {
  auto scaled = random_projection<double>({.length = 9, .form = SpatialForm::scaled_toeplitz}, 4);
  EXPECT_GT(toeplitz_error(scaled, 0, 5), 0.1);
  scaled.position_x.setOnes();
  scaled.position_y.setOnes();
  EXPECT_EQ(toeplitz_error(scaled, 0, 5), 0.0);

  auto causal = random_projection<double>({.length = 9, .causal = true}, 5);
  const double before = toeplitz_error(causal, 0, 5);
  causal.weight.triangularView<Eigen::StrictlyUpper>().setConstant(1e6);
  EXPECT_EQ(toeplitz_error(causal, 0, 5), before) << "masked weights must not count";
}

TEST(PatchWeight, ExcludesTheClassToken) {
  const auto projection = random_projection<float>({.length = 7, .heads = 2}, 6);
  const Matrix<float> w = patch_weight(projection, 1, ImageSize{2, 3});
  EXPECT_TRUE(test::same_bits(w, projection.weight.block(8, 1, 6, 6).eval()));
  EXPECT_EQ(toeplitz_error(projection, 1, 3, ImageSize{2, 3}), toeplitz_error<float>(w, ImageSize{2, 3}, 3));
}

TEST(PatchWeight, ErrorsNameTheExpectedValue) {
  const auto projection = random_projection<float>({.length = 7, .heads = 2}, 7);
  EXPECT_EQ(test::message_of<ArgumentError>([&] {
              patch_weight(projection, 2, ImageSize{1, 7});
            }),
            "patch_weight: head = 2, expected 0 … 1.");
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              toeplitz_error(projection, 0, 3, ImageSize{2, 4});
            }),
            "patch_weight: the grid is 2 × 4, expected 1 to 7 patches, the length of the projection.");
  const SpatialProjection<float> wide({.length = 7, .outputs = 9});
  EXPECT_EQ(test::message_of<ArgumentError>([&] {
              patch_weight(wide, 0, ImageSize{1, 7});
            }),
            "patch_weight: outputs = 9, expected 0: the rows of W must be tokens of x.");
  EXPECT_THROW(patch_weight(projection, -1, ImageSize{1, 7}), ArgumentError);
  EXPECT_THROW(patch_weight(projection, 0, ImageSize{0, 7}), ShapeError);
  EXPECT_THROW(patch_weight(projection, 0, ImageSize{-1, -7}), ShapeError);
  for (const Index window : {0, 2, -1}) {
    EXPECT_EQ(test::message_of<ArgumentError>([&] { toeplitz_error(projection, 0, window); }),
              text("toeplitz_error: window = ", window, ", expected a positive odd number: it is centred on a token."));
  }
  const Matrix<float> w = Matrix<float>::Zero(6, 6);
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              mean_filter<float>(w, ImageSize{2, 4}, 3);
            }),
            "mean_filter: w is 6 × 6, expected patches × patches for a grid of 2 × 4. Use patch_weight().");
  EXPECT_THROW(energy_share<float>(w, ImageSize{-2, -3}, 3), ShapeError);
}

}  // namespace
}  // namespace gated::inspect_test
