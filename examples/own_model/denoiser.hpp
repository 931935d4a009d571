#pragma once

#include "gated/layers/linear.hpp"
#include "gated/models/gmlp.hpp"

namespace denoise {

/// Removes noise from a signal as it arrives: y = x + decode(trunk(encode(x))). A row of x is a frame of 32 samples. The
/// options are those of the trunk, which must be causal for the model to stream.
template <class T>
struct Denoiser : gated::Layer<Denoiser<T>> {
  using Config = gated::GmlpConfig;
  static constexpr const char* name = "Denoiser";
  static constexpr const char* architecture = "example.Denoiser";
  static constexpr gated::Index frame = 32;

  Config config;
  gated::Linear<T> encode, decode;
  gated::Gmlp<T> trunk;

  explicit Denoiser(const Config& c) : config(c), encode(frame, c.channels), decode(c.channels, frame), trunk(c) {}

  static constexpr auto fields() {
    return gated::Fields(gated::field("encode", &Denoiser::encode), gated::field("trunk", &Denoiser::trunk),
                         gated::field("decode", &Denoiser::decode));
  }
  gated::Contract contract() const { return encode.contract().then(trunk.contract()).then(decode.contract()); }

  /// The forward pass: written once, for batches, streams and training.
  auto apply(auto& run, auto x) const { return run(decode, run(trunk, run(encode, x)), {.residual = x}); }
};

}  // namespace denoise
