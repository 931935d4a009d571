#pragma once

#include <algorithm>

#include "gated/layers/gated_attention_unit.hpp"
#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"

/// @file
/// The floating-point operations of a model's dense products, two for a multiply-add.
///
/// Only what the formula needs is counted: of a causal matrix its triangle. Activations, norms and biases count nothing. So the
/// share of the peak that these numbers give is a lower bound of how busy the multipliers were, and skipping work never makes
/// it larger than one.

namespace bench {

/// The products in one column of W v, where W is tokens × tokens.
inline double pairs(double tokens, bool causal) { return causal ? tokens * (tokens + 1) / 2 : tokens * tokens; }

/// A gMLP or aMLP trunk on `count` sequences of `length` tokens.
inline double flops_of(const gated::GmlpConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels);
  const auto hidden = static_cast<double>(c.hidden), a = static_cast<double>(c.attention);
  const double half = c.gate == gated::GateForm::split ? hidden / 2 : hidden;  // what leaves the gate
  const bool causal = c.causal || c.spatial == gated::SpatialForm::scaled_toeplitz;
  const double projections = n * channels * (hidden + half), spatial = pairs(n, causal) * half;
  const double attention = a > 0 ? n * a * (3 * channels + half) + pairs(n, c.causal) * 2 * a : 0;
  return 2.0 * static_cast<double>(c.depth * count) * (projections + spatial + attention);
}

/// A gated attention unit.
inline double flops_of(const gated::GatedAttentionUnitConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels);
  const auto e = static_cast<double>(c.value), s = static_cast<double>(c.query_key);
  return 2.0 * static_cast<double>(count) * (n * channels * (3 * e + s) + pairs(n, c.causal) * (s + e));
}

/// A FLASH layer on sequences of whole chunks, or shorter than one.
inline double flops_of(const gated::MixedChunkAttentionConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels),
             chunk = static_cast<double>(std::min(c.chunk, length));
  const auto e = static_cast<double>(c.value), s = static_cast<double>(c.query_key);
  const double local = n / chunk * pairs(chunk, c.causal) * (s + e), global = 2 * n * s * e;
  return 2.0 * static_cast<double>(count) * (n * channels * (3 * e + s) + local + global);
}

/// A FLASH trunk.
inline double flops_of(const gated::FlashConfig& c, gated::Index count, gated::Index length) {
  return static_cast<double>(c.depth) * flops_of(c.layer, count, length);
}

/// A Transformer block with softmax attention.
inline double flops_of(const gated::TransformerBlockConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels);
  const double hidden = c.feed_forward > 0 ? static_cast<double>(c.feed_forward) : 4 * channels;
  return 2.0 * static_cast<double>(count) * (n * channels * (4 * channels + 2 * hidden) + pairs(n, c.causal) * 2 * channels);
}

}  // namespace bench
