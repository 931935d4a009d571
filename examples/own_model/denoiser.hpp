#pragma once

#include "gated/layers/linear.hpp"
#include "gated/models/gmlp.hpp"

namespace denoise {

/// The options of a denoiser. The trunk must be causal for the model to stream.
struct DenoiserConfig {
  gated::Index frame = 0;     ///< samples per frame
  gated::GmlpConfig trunk{};  ///< the blocks between the two projections

  template <class C = DenoiserConfig>
  static constexpr auto fields() {
    return std::tuple{gated::setting("frame", &C::frame), gated::setting("trunk", &C::trunk)};
  }
};

/// Removes noise from a signal as it arrives: y = x + decode(trunk(encode(x))).
template <class T>
struct Denoiser : gated::Layer<Denoiser<T>> {
  using Config = DenoiserConfig;
  static constexpr const char* name = "Denoiser";
  static constexpr const char* architecture = "example.Denoiser";

  DenoiserConfig config;
  gated::Linear<T> encode, decode;
  gated::Gmlp<T> trunk;

  explicit Denoiser(const DenoiserConfig& c)
      : config(c), encode(c.frame, c.trunk.channels), decode(c.trunk.channels, c.frame), trunk(c.trunk) {}

  static constexpr auto fields() {
    return std::tuple{gated::field("encode", &Denoiser::encode), gated::field("trunk", &Denoiser::trunk),
                      gated::field("decode", &Denoiser::decode)};
  }
  gated::Contract contract() const { return encode.contract().then(trunk.contract()).then(decode.contract()); }

  /// The forward pass: written once, for batches, streams and training.
  auto apply(auto& run, auto x) const { return run(decode, run(trunk, run(encode, x)), {.residual = x}); }
};

}  // namespace denoise
