#pragma once

#include "gated/core/count.hpp"
#include "gated/core/layer.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/fourier_mixing.hpp"

/// @file
/// FNet's token mixer.

namespace gated {

/// The options of FNet's token mixer: it has none.
struct FourierMixingConfig {
  Index channels = 0;  ///< C

  template <class C = FourierMixingConfig>
  static constexpr auto fields() {
    return std::tuple{setting("channels", &C::channels)};
  }
};

/// y = Re(F_n x F_d), the Fourier transform over the tokens of each sequence and over the channels, not scaled
/// (arXiv:2105.03824, eq. 3). It has no parameters and takes any length.
///
/// In a body, run(layer, x, {.residual = …}) fuses what follows into the last pass: see Fused.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built without channels, and for a stream: every output depends on all tokens.
/// Cost: see mix_by_fourier().
template <class T>
struct FourierMixing : SequenceLayer<FourierMixing<T>, T> {
  using Scalar = T;
  using Config = FourierMixingConfig;
  template <class Run>
  using Options = Fused<Run>;
  static constexpr const char* name = "FourierMixing";
  static constexpr const char* architecture = "gated.FourierMixing";

  FourierMixingConfig config;

  FourierMixing() = default;
  explicit FourierMixing(const FourierMixingConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0, name, ": channels = ", c.channels, " must be positive.");
  }
  /// As training starts.
  FourierMixing(const FourierMixingConfig& c, Random&) : FourierMixing(c) {}
  /// None, whatever the configuration.
  static Count value_count(const FourierMixingConfig&) { return 0; }

  static constexpr auto fields() { return std::tuple{}; }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  bool is_causal() const { return false; }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Fused<Run>& fused, const PlaceOf<Run>& to) const {
    return mix_by_fourier(run, x, fused, to);
  }
};

}  // namespace gated
