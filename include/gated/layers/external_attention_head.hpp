#pragma once

#include <cmath>

#include "gated/layers/batch_norm.hpp"
#include "gated/layers/external_attention.hpp"
#include "gated/ops/elementwise.hpp"

/// @file
/// EANet's head: external attention between an image's features and the classifier.

namespace gated {

/// The options of EANet's head.
struct ExternalAttentionHeadConfig {
  Index channels = 0;      ///< C
  Index memories = 64;     ///< K
  double norm_eps = 1e-5;  ///< ε of the batch norm

  /// The options of the head's external attention: one attention head, and no biases except in the query projection.
  ExternalAttentionConfig attention() const {
    return {.channels = channels, .memories = memories, .memory_bias = false, .out_bias = false};
  }

  template <class C = ExternalAttentionHeadConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("memories", &C::memories), setting("norm_eps", &C::norm_eps));
  }
};

/// y = relu(x + norm(attention(x))) with a frozen batch norm: EANet's `External_attention` (arXiv:2105.02358, Algorithm 1).
///
/// Each pixel of a feature map is a token. Masked pixels are left out of the attention's softmax.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed; ShapeError for wrong sizes.
/// Cost: see ExternalAttention.
template <class T>
struct ExternalAttentionHead : Layer<ExternalAttentionHead<T>> {
  using Config = ExternalAttentionHeadConfig;
  static constexpr const char* name = "ExternalAttentionHead";
  static constexpr const char* architecture = "gated.ExternalAttentionHead";

  ExternalAttentionHeadConfig config;
  ExternalAttention<T> attention;
  BatchNorm<T> norm;

  ExternalAttentionHead() = default;
  explicit ExternalAttentionHead(const ExternalAttentionHeadConfig& c)
      : config(c), attention(c.attention()), norm(c.channels, c.norm_eps) {}
  ExternalAttentionHead(const ExternalAttentionHeadConfig& c, Random& random) : ExternalAttentionHead(c) {
    this->initialize(random);
  }

  static constexpr auto fields() {
    return Fields(field("attention", &ExternalAttentionHead::attention), field("norm", &ExternalAttentionHead::norm));
  }

  /// The authors' initialization: W_q, M_k and W_o from N(0, 2 / rows of the weight), M_v = M_kᵀ. The batch norm starts with
  /// weight = variance = 1 and bias = mean = 0.
  void initialize(Random& random) {
    const auto fill = [&](Matrix<T>& weight) {
      fill_normal(weight, std::sqrt(2.0 / static_cast<double>(weight.rows())), random);
    };
    fill(attention.query.weight);
    fill(attention.key);
    attention.value = attention.key.transpose();
    fill(attention.proj_out.weight);
  }

  Contract contract() const { return attention.contract(); }

  auto apply(auto& run, auto x) const {
    auto normed = run(norm, run(attention, x));              // N × C
    auto sum = add(run, std::move(x), std::move(normed));    // N × C
    return activate(run, std::move(sum), Activation::relu);  // N × C
  }
};

}  // namespace gated
