#pragma once

#include "gated/core/count.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/fourier_mixing.hpp"

/// @file
/// FNet's token mixer.

namespace gated {

/// The options of FNet's token mixer.
struct FourierMixingConfig {
  Index channels = 0;  ///< C

  template <class C = FourierMixingConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels));
  }
};

/// y = Re(F_n x F_d): the unscaled Fourier transform over the tokens of each sequence and over the channels (arXiv:2105.03824,
/// eq. 3). The layer has no parameters and accepts sequences of any length.
///
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor if C < 1, and in a stream, since every output depends on all tokens.
/// Cost: see mix_by_fourier().
template <class T>
struct FourierMixing : Layer<FourierMixing<T>> {
  using Config = FourierMixingConfig;
  static constexpr const char* name = "FourierMixing";
  static constexpr const char* architecture = "gated.FourierMixing";

  FourierMixingConfig config;

  FourierMixing() = default;
  explicit FourierMixing(const FourierMixingConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0, name, ": channels = ", c.channels, " must be positive.");
  }
  /// Ignores the random generator: there are no parameters.
  FourierMixing(const FourierMixingConfig& c, Random&) : FourierMixing(c) {}

  static constexpr auto fields() { return Fields(); }

  Contract contract() const {
    return {
        .in = config.channels, .out = config.channels, .unstreamable = "A Fourier transform needs all tokens of a sequence."};
  }

  auto apply(auto& run, auto x, auto then) const { return mix_by_fourier(run, x, std::move(then)); }
};

}  // namespace gated
