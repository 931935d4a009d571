#pragma once

#include "gated/layers/linear.hpp"
#include "gated/models/gmlp.hpp"

/// @file
/// A model of one's own, put together from parts: it takes the noise off a signal while the signal comes in.

namespace denoise {

using gated::Index, gated::PlaceOf, gated::RowsOf;

/// The options of a denoiser. The trunk must be causal for the model to stream.
struct DenoiserConfig {
  Index frame = 0;            ///< samples that come in together
  gated::GmlpConfig trunk{};  ///< of the blocks between the two projections

  template <class C = DenoiserConfig>
  static constexpr auto fields() {
    return std::tuple{gated::setting("frame", &C::frame), gated::setting("trunk", &C::trunk)};
  }
};

/// y = x + decode(trunk(encode(x))): frames in, cleaner frames out.
template <class T>
struct Denoiser : gated::SequenceLayer<Denoiser<T>, T> {
  using Scalar = T;
  using Config = DenoiserConfig;
  static constexpr const char* name = "Denoiser";
  static constexpr const char* architecture = "example.Denoiser";

  DenoiserConfig config;
  gated::Linear<T> encode, decode;
  gated::Gmlp<T> trunk;

  explicit Denoiser(const DenoiserConfig& c)
      : config(c), encode(c.frame, c.trunk.channels), decode(c.trunk.channels, c.frame), trunk(c.trunk) {}
  Denoiser(const DenoiserConfig& c, gated::Random& random) : Denoiser(c) { this->initialize(random); }
  static gated::Count value_count(const DenoiserConfig& c) {
    return gated::Linear<T>::value_count(c.frame, c.trunk.channels) + gated::Gmlp<T>::value_count(c.trunk) +
           gated::Linear<T>::value_count(c.trunk.channels, c.frame);
  }

  static constexpr auto fields() {
    return std::tuple{gated::field("encode", &Denoiser::encode), gated::field("trunk", &Denoiser::trunk),
                      gated::field("decode", &Denoiser::decode)};
  }
  Index in() const { return config.frame; }
  Index out() const { return config.frame; }
  Index longest() const { return trunk.longest(); }
  void check(gated::Where where, const gated::Sequences& sequences, gated::Mask mask) const {
    trunk.check(where, sequences, mask);
  }

  /// The body: written once, it runs over batches, streams and trains.
  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    return run(decode, run(trunk, run(encode, x)), {.residual = x}, to);
  }
};

}  // namespace denoise
