#include "gated/audio/window.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::window_test {
namespace {

TEST(Window, EqualsItsFormula) {
  const double pi = std::acos(-1.0);
  for (const Index n : {2, 3, 16, 480, 1920}) {
    for (const bool periodic : {true, false}) {
      const auto hann = window_weights({.form = WindowForm::hann, .periodic = periodic}, n);
      const auto hamming = window_weights({.form = WindowForm::hamming, .periodic = periodic}, n);
      for (Index i = 0; i < n; ++i) {
        const double cosine = std::cos(2 * pi * static_cast<double>(i) / static_cast<double>(periodic ? n : n - 1));
        EXPECT_NEAR(hann[i], 0.5 - 0.5 * cosine, 1e-15);
        EXPECT_NEAR(hamming[i], 0.54 - 0.46 * cosine, 1e-15);
      }
    }
  }
}

TEST(Window, SymmetricWindowsEndAsTheyBegin) {
  const auto weights = window_weights({.form = WindowForm::hamming, .periodic = false}, 401);
  EXPECT_TRUE(test::same_bits(weights, weights.reverse()));
  EXPECT_EQ(weights[200], 1);
}

TEST(Window, WindowOfOneSampleIsOne) {
  for (const WindowForm form : {WindowForm::hann, WindowForm::hamming}) {
    EXPECT_EQ(window_weights({.form = form, .periodic = false}, 1)[0], 1);
    EXPECT_EQ(window_weights({.form = form, .periodic = true}, 1)[0], 1);
  }
}

TEST(Window, RefusesEmptyWindows) {
  test::expect_error<ArgumentError>([] { window_weights({}, 0); }, {"window_weights", "0 samples, expected at least 1"});
}

}  // namespace
}  // namespace gated::window_test
