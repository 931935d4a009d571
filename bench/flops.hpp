#pragma once

#include <algorithm>

#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash_language_model.hpp"
#include "gated/models/gau_encoder.hpp"
#include "gated/models/gmlp_image_classifier.hpp"
#include "gated/models/gmlp_language_model.hpp"

/// @file
/// The floating-point operations of a model's dense products, two for a multiply-add.
///
/// Only what the formula needs is counted: of a causal matrix its triangle. Activations, norms and biases count nothing. So the
/// share of the peak that these numbers give is a lower bound of how busy the multipliers were, and skipping work never makes
/// it larger than one.

namespace bench {

/// The products in one column of W v, where W is tokens × tokens.
inline double pairs(double tokens, bool causal) { return causal ? tokens * (tokens + 1) / 2 : tokens * tokens; }

/// The spatial projection of `channels` channels: W v of each.
inline double spatial_flops(gated::Index channels, gated::Index length, bool causal) {
  return 2.0 * static_cast<double>(channels) * pairs(static_cast<double>(length), causal);
}

/// A channel projection of `rows` rows.
inline double projection_flops(gated::Index in, gated::Index out, gated::Index rows) {
  return 2.0 * static_cast<double>(in) * static_cast<double>(out) * static_cast<double>(rows);
}

/// A gMLP or aMLP trunk on `count` sequences of `length` tokens.
inline double flops_of(const gated::GmlpConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels);
  const gated::Index gated_channels = c.gate == gated::GateForm::split ? c.hidden / 2 : c.hidden;  // what leaves the gate
  const auto hidden = static_cast<double>(c.hidden), half = static_cast<double>(gated_channels);
  const auto a = static_cast<double>(c.attention);
  const bool causal = c.causal || c.spatial == gated::SpatialForm::scaled_toeplitz;
  const double projections = n * channels * (hidden + half);
  const double attention = a > 0 ? n * a * (3 * channels + half) + pairs(n, c.causal) * 2 * a : 0;
  return static_cast<double>(c.depth * count) * (2 * (projections + attention) + spatial_flops(gated_channels, length, causal));
}

/// A gated attention unit.
inline double flops_of(const gated::GatedAttentionUnitConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels);
  const auto e = static_cast<double>(c.value), s = static_cast<double>(c.query_key);
  return 2.0 * static_cast<double>(count) * (n * channels * (3 * e + s) + pairs(n, c.causal) * (s + e));
}

/// A FLASH layer on sequences of whole chunks, or shorter than one. In the causal form the first chunk has no memory to read,
/// and nobody reads what the last one would add to it.
inline double flops_of(const gated::MixedChunkAttentionConfig& c, gated::Index count, gated::Index length) {
  const auto n = static_cast<double>(length), channels = static_cast<double>(c.channels),
             chunk = static_cast<double>(std::min(c.chunk, length));
  const auto e = static_cast<double>(c.value), s = static_cast<double>(c.query_key);
  const double local = n / chunk * pairs(chunk, c.causal) * (s + e), global = 2 * (c.causal ? n - chunk : n) * s * e;
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

/// From tokens to logits.
inline double flops_of(const gated::GmlpLanguageModelConfig& c, gated::Index count, gated::Index length) {
  return flops_of(c.trunk, count, length) + projection_flops(c.trunk.channels, c.vocabulary, count * length);
}

/// From tokens to logits, through a head that has no dense projection.
inline double flops_of(const gated::FlashLanguageModelConfig& c, gated::Index count, gated::Index length) {
  return flops_of(c.trunk, count, length) + projection_flops(c.trunk.layer.channels, c.vocabulary, count * length);
}

/// From tokens to hidden states.
inline double flops_of(const gated::GauEncoderConfig& c, gated::Index count, gated::Index length) {
  return static_cast<double>(c.depth) * flops_of(c.layer, count, length);
}

/// From pixels to the logits of `images` images that are read out as one token each.
inline double flops_of(const gated::GmlpImageClassifier<float>& model, gated::Index images) {
  const auto& c = model.config;
  const gated::Index patches = model.patch_embedding.grid().area();
  return flops_of(c.trunk, images, c.trunk.length) +
         projection_flops(c.image_channels * c.patch.area(), c.trunk.channels, images * patches) +
         projection_flops(c.trunk.channels, c.classes, images);
}

}  // namespace bench
