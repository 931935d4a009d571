#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/ops/external_attention.hpp"

/// @file
/// External attention: a token mixer whose keys and values are learned memories.

namespace gated {

/// The options of external attention.
struct ExternalAttentionConfig {
  Index channels = 0;       ///< C
  Index heads = 1;          ///< h, number of heads; all share the same memories
  Index hidden = 0;         ///< H, total width of the heads; 0 for C
  Index memories = 64;      ///< K, number of memories
  bool memory_bias = true;  ///< adds b_k and b_v, the biases of M_k and M_v
  bool out_bias = true;     ///< adds b_o

  Index hidden_channels() const { return hidden > 0 ? hidden : channels; }
  Index head_width() const { return heads > 0 ? hidden_channels() / heads : 0; }

  template <class C = ExternalAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("heads", &C::heads), setting("hidden", &C::hidden),
                  setting("memories", &C::memories), setting("memory_bias", &C::memory_bias),
                  setting("out_bias", &C::out_bias));
  }
};

/// The options of EAMLP's multi-head form for images: 4·`heads` heads and 4·`channels` hidden channels.
inline ExternalAttentionConfig eamlp_attention(Index channels, Index heads) {
  return {.channels = channels, .heads = 4 * heads, .hidden = 4 * channels};
}

/// y = W_o z + b_o, where z is the output of attend_to_memory() for the queries u = W_q x and the memories M_k and M_v
/// (arXiv:2105.02358, eq. 5 and 6; Algorithm 2 for several heads). The cost is linear in the number of tokens.
///
/// The softmax runs over the tokens, so every output depends on all of them. Masked tokens are left out of the softmax.
/// The biases of W_q and of the keys cancel in the softmax; they exist because checkpoints contain them.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed; ShapeError for wrong sizes.
/// Cost: 4·rows·H·(C + K) flops; scratch of K × (length of the longest sequence) elements.
template <class T>
struct ExternalAttention : Layer<ExternalAttention<T>> {
  using Config = ExternalAttentionConfig;
  static constexpr const char* name = "ExternalAttention";
  static constexpr const char* architecture = "gated.ExternalAttention";

  ExternalAttentionConfig config;
  Linear<T> query;       ///< W_q: H × C
  Matrix<T> key;         ///< M_k: K × H/h
  Vector<T> key_bias;    ///< K, or empty
  Matrix<T> value;       ///< M_v: H/h × K
  Vector<T> value_bias;  ///< H/h, or empty
  Linear<T> proj_out;    ///< W_o: C × H

  ExternalAttention() = default;
  explicit ExternalAttention(const ExternalAttentionConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0 && c.memories > 0 && c.hidden >= 0, name, ": channels = ", c.channels,
                           ", heads = ", c.heads, " and memories = ", c.memories, " must be positive, and hidden = ", c.hidden,
                           " must not be negative.");
    require<ArgumentError>(c.hidden_channels() % c.heads == 0, name, ": heads = ", c.heads,
                           " does not divide hidden = ", c.hidden_channels(), ".");
    query = Linear<T>(c.channels, c.hidden_channels());
    key = unset_weight<T>(c.memories, c.head_width(), name);
    key_bias = filled_vector<T>(T{0}, c.memory_bias ? c.memories : 0, name);
    value = unset_weight<T>(c.head_width(), c.memories, name);
    value_bias = filled_vector<T>(T{0}, c.memory_bias ? c.head_width() : 0, name);
    proj_out = Linear<T>(c.hidden_channels(), c.channels, c.out_bias);
  }
  ExternalAttention(const ExternalAttentionConfig& c, Random& random) : ExternalAttention(c) { this->initialize(random); }

  static constexpr auto fields() {
    using A = ExternalAttention;
    return Fields(field("query", &A::query), field("key", &A::key, Role::memory), field("key_bias", &A::key_bias, Role::bias),
                  field("value", &A::value, Role::memory), field("value_bias", &A::value_bias, Role::bias),
                  field("proj_out", &A::proj_out));
  }

  /// The authors' initialization: weights from N(0, 0.02²), M_v = M_kᵀ, biases of 0.
  void initialize(Random& random) {
    fill_normal(query.weight, 0.02, random);
    fill_normal(key, 0.02, random);
    value = key.transpose();
    fill_normal(proj_out.weight, 0.02, random);
  }

  Contract contract() const {
    return {.in = config.channels,
            .out = config.channels,
            .unstreamable = "Its softmax runs over all tokens of a sequence.",
            .takes_mask = true};
  }

  auto apply(auto& run, auto x, auto then) const {
    expect_set(run, "key", key);
    expect_set(run, "value", value);
    const auto u = run(query, std::move(x));  // N × H
    const ExternalMemory<T> memory{config.heads, &key, &key_bias, &value, &value_bias};
    return run(proj_out, attend_to_memory(run, memory, u, mask_values<T>(run.mask(), run)), std::move(then));  // N × C
  }
};

}  // namespace gated
