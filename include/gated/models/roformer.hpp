#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/transformer_block.hpp"
#include "gated/models/stack.hpp"

/// @file
/// The transformers inside BS-RoFormer, a music source separator.

namespace gated {

/// The options of a Roformer.
struct RoformerConfig {
  StackConfig<TransformerBlockConfig> trunk{};  ///< the layers: see roformer_layers()
  NormForm norm = NormForm::l2_norm;            ///< norm after the last layer; NormForm::none inside a BS-RoFormer
  double norm_eps = 1e-12;                      ///< ε of the norm after the last layer

  template <class C = RoformerConfig>
  static constexpr auto fields() {
    return Fields(setting("trunk", &C::trunk), setting("norm", &C::norm), setting("norm_eps", &C::norm_eps));
  }
};

/// The sizes of a Roformer.
struct RoformerSizes {
  Index channels = 0;     ///< C
  Index depth = 1;        ///< layers
  Index heads = 8;        ///< H
  Index head_width = 64;  ///< a
  Index hidden = 0;       ///< F, hidden width of the feed-forward; 0 for 4·C
  bool rotary = true;     ///< RoPE on queries and keys, in pairs of channels 2i and 2i + 1
};

/// BS-RoFormer's layers: attention with a gate per head, then a feed-forward; 3,153,416 parameters per layer with 512 channels.
inline StackConfig<TransformerBlockConfig> roformer_layers(const RoformerSizes& s) {
  return {.depth = s.depth,
          .block = {.channels = s.channels,
                    .token_norm = NormForm::l2_norm,
                    .channel_norm = NormForm::l2_norm,
                    .norm_eps = 1e-12,
                    .token_mixer = {.heads = s.heads,
                                    .head_width = s.head_width,
                                    .rotary = s.rotary ? Rotary::interleaved : Rotary::none,
                                    .gate = AttentionGate::per_head,
                                    .bias = false,
                                    .out_bias = false},
                    .channel_mixer = {.hidden = s.hidden}}};
}

/// x += gated attention(norm(x)), x += feed-forward(norm(x)), layer by layer, then norm(x) (arXiv:2309.02612), as in
/// lucidrains' BS-RoFormer; io/bs_roformer.hpp loads its parts. A BS-RoFormer alternates a Roformer over the frames of each
/// band with one over the bands of each frame.
///
///     Roformer<float> over_time({.trunk = roformer_layers({.channels = 384})}, random);
///
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError from runs with wrong shapes.
/// Cost: that of the layers.
template <class T>
struct Roformer : Layer<Roformer<T>> {
  using Config = RoformerConfig;
  static constexpr const char* name = "Roformer";
  static constexpr const char* architecture = "gated.Roformer";

  Config config;
  Stack<TransformerBlock<T>> trunk;
  Norm<T> norm;

  Roformer() = default;
  explicit Roformer(const Config& c) : config(c), trunk(c.trunk), norm(c.trunk.block.channels, c.norm_eps, c.norm) {}
  Roformer(const Config& c, Random& random) : Roformer(c) { this->initialize(random); }

  static constexpr auto fields() { return Fields(field("trunk", &Roformer::trunk), field("norm", &Roformer::norm)); }

  Contract contract() const { return trunk.contract().then(norm.contract()); }

  auto apply(auto& run, auto x) const { return run(norm, run(trunk, std::move(x))); }
};

}  // namespace gated
