#pragma once

#include "gated/audio/signal.hpp"
#include "gated/ops/fourier_factor.hpp"

/// @file
/// Window functions of short-time Fourier transforms.

namespace gated {

/// The formula of a window function; Window defines φ.
enum class WindowForm {
  hann,    ///< 0.5 - 0.5 cos φ
  hamming  ///< 0.54 - 0.46 cos φ
};

/// A window function. The angle φ of weight i = 0 … n - 1 is 2πi/n for a periodic window (the default of torch and librosa),
/// and 2πi/(n - 1) for a symmetric one (Kaldi).
struct Window {
  WindowForm form = WindowForm::hann;  ///< the formula
  bool periodic = true;                ///< false for a symmetric window, whose last weight equals the first
};

/// Weight i of a window of n samples. A window of one sample has weight 1.
inline double window_weight(const Window& window, Index i, Index n) {
  const Index period = window.periodic ? n : n - 1;
  const double mean = window.form == WindowForm::hann ? 0.5 : 0.54;
  return n == 1 ? 1 : mean - rounded((1 - mean) * FourierFactor<double>::turn(i, period).c);
}

/// The weights of a window of n samples.
/// Errors: ArgumentError if n < 1.
inline Vector<double> window_weights(const Window& window, Index n) {
  require<ArgumentError>(n >= 1, "window_weights: the window has ", n, " samples, expected at least 1.");
  Vector<double> weights(n);
  for (Index i = 0; i < n; ++i) {
    weights[i] = window_weight(window, i, n);
  }
  return weights;
}

}  // namespace gated
