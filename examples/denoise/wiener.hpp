#pragma once

#include <algorithm>
#include <vector>

#include "gated/audio/spectral_mask.hpp"

/// The baseline for the model: a filter without learned parameters.

namespace denoise {

/// Denoises speech with a causal Wiener filter. The estimate of the speech is decision-directed (Ephraim and Malah 1984); the
/// estimate of the noise is derived from the least power of the last second (Martin 1994).
inline gated::Vector<float> wiener(const gated::Vector<float>& noisy, const gated::SpectrumOptions& spectrum) {
  constexpr gated::Index memory = 100;  // frames
  constexpr float smoothing = 0.8f, bias = 2, trust = 0.95f, floor = 0.1f;
  // Pads with silence: otherwise only one frame would cover the first samples, and one the last.
  gated::Vector<float> padded = gated::Vector<float>::Zero(noisy.size() + 2 * spectrum.length);
  padded.segment(spectrum.length, noisy.size()) = noisy;
  const gated::Matrix<float> power = gated::power_spectrum<float>(padded, spectrum);
  const gated::Index ends = spectrum.length / spectrum.hop;  // the first frames, which include padding
  gated::Matrix<float> gains(power.rows(), power.cols());
  for (gated::Index k = 0; k < power.cols(); ++k) {
    std::vector<float> smooth;
    float speech = 0;  // |S|² of the previous frame
    for (gated::Index t = 0; t < power.rows(); ++t) {
      smooth.push_back(t <= ends ? power(std::min(ends, power.rows() - 1), k)
                                 : smoothing * smooth.back() + (1 - smoothing) * power(t, k));
      const float noise = bias * *std::min_element(smooth.end() - std::min(t + 1, memory), smooth.end()) + 1e-12f;
      const float now = std::max(power(t, k) / noise - 1, 0.0f), ratio = trust * speech / noise + (1 - trust) * now;
      gains(t, k) = std::max(ratio / (1 + ratio), floor);
      speech = gains(t, k) * gains(t, k) * power(t, k);
    }
  }
  return gated::apply_mask<float>(padded, gains, spectrum).segment(spectrum.length, noisy.size());
}

}  // namespace denoise
