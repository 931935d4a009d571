#include "gated/audio/spectral_mask.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::spectral_mask_test {
namespace {

using test::expect_error;
using test::random_vector;

/// Spectrum options of a small MossFormer2 at 8 kHz.
SpectrumOptions options() { return {.window = {.form = WindowForm::hamming, .periodic = false}, .length = 80, .hop = 16}; }

TEST(SpectralMask, EqualsIstftOfTheMaskedStft) {
  const Vector<double> x = random_vector<double>(795, 1);
  const Matrix<double> mask = test::random_matrix<double>(45, 41, 2).cwiseAbs();
  const Matrix<std::complex<double>> masked = stft<double>(x, options()).cwiseProduct(mask.cast<std::complex<double>>());
  EXPECT_LT((apply_mask<double>(x, mask, options()) - istft<double>(masked, 795, options())).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(SpectralMask, MaskOfOnesKeepsEverythingExceptTheTail) {
  const Vector<float> x = random_vector<float>(795, 3);
  const Vector<float> y = apply_mask<float>(x, Matrix<float>::Ones(45, 41), options());
  EXPECT_LT((y - x).head(784).cwiseAbs().maxCoeff(), 1e-6f);
  EXPECT_TRUE((y.tail(11).array() == 0).all()) << "(795 - 80) mod 16 = 11";
  EXPECT_TRUE((apply_mask<float>(x, Matrix<float>::Zero(45, 41), options()).array() == 0).all());
}

TEST(SpectralMask, RefusesWrongShapes) {
  const Vector<float> x = random_vector<float>(795, 4);
  expect_error<ShapeError>([&] { apply_mask<float>(x, Matrix<float>::Ones(44, 41), options()); },
                           {"apply_mask: the mask is 44 × 41, expected 45 frames × 41 bins for 795 samples"});
  expect_error<ShapeError>([&] { apply_mask<float>(x.head(79), Matrix<float>::Ones(1, 41), options()); }, {"79 samples"});
}

}  // namespace
}  // namespace gated::spectral_mask_test
