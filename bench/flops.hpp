#pragma once

#include <algorithm>

#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/mixer_image_classifiers.hpp"
#include "gated/models/mossformer2.hpp"
#include "gated/models/text_transformer.hpp"
#include "gated/models/tiny_time_mixer.hpp"

/// @file
/// The floating-point operations (flops) of a model's dense products: two per multiply-add.
///
/// The flops of channel projections follow from the sizes of the model's weights; the formulas below compute those of token
/// mixing. Only necessary products count: a causal matrix counts as its lower triangle; activations, norms and biases do not
/// count. Flops / time / peak is therefore a lower bound on the utilization of the multipliers, and at most one.

namespace bench {

using gated::Index;

/// The multiply-adds to compute one column of W v, where W is tokens × tokens, or its lower triangle if causal.
inline double pairs(double tokens, bool causal) { return causal ? tokens * (tokens + 1) / 2 : tokens * tokens; }

/// Flops of a spatial projection: W v for each of `channels` channels.
inline double spatial_flops(Index channels, Index length, bool causal) {
  return 2.0 * static_cast<double>(channels) * pairs(static_cast<double>(length), causal);
}

/// Flops of the channel projections for `rows` tokens.
template <class Model>
double projection_flops(const Model& model, Index rows) {
  double values = 0;
  gated::for_each_parameter(
      [&](const gated::ParameterInfo& info, auto weights) {
        const bool projects = (info.role == gated::Role::weight || info.role == gated::Role::memory) && info.shape.rank() >= 2;
        values += projects ? static_cast<double>(weights.size()) : 0;
      },
      model);
  return 2.0 * values * static_cast<double>(rows);
}

// --- Token mixing ---

inline double mixing_flops(const gated::GmlpBlock<float>& block, Index length) {
  const auto& c = block.config;
  return (block.gate.mixes_tokens() ? spatial_flops(block.gate.out(), length, block.gate.proj.is_causal()) : 0) +
         4.0 * static_cast<double>(c.attention_width) * pairs(static_cast<double>(length), c.causal);
}

inline double mixing_flops(const gated::GatedAttentionUnit<float>& layer, Index length) {
  const auto& c = layer.config;
  return 2.0 * pairs(static_cast<double>(length), c.causal) * static_cast<double>(c.query_key + c.value);
}

/// Exact if `length` is a multiple of the chunk size, or smaller than it. If causal, the first chunk does not read the memory
/// of earlier chunks, and the last chunk does not add to that memory.
inline double mixing_flops(const gated::MixedChunkAttention<float>& layer, Index length) {
  const auto& c = layer.config;
  const auto n = static_cast<double>(length), chunk = static_cast<double>(std::min(c.chunk, length));
  const auto e = static_cast<double>(c.value), s = static_cast<double>(c.query_key);
  return 2.0 * (n / chunk * pairs(chunk, c.causal) * (s + e) + 2 * (c.causal ? n - chunk : n) * s * e);
}

/// Flops of the scores and the weighted values. Pairs outside the attention window do not count.
inline double mixing_flops(const gated::SelfAttention<float>& layer, Index length) {
  const auto& c = layer.config;
  const auto hidden = static_cast<double>(std::max<Index>(length - 1 - c.reach(), 0));  // keys outside the last query's window
  return 4.0 * static_cast<double>(c.heads * c.width()) *
         (pairs(static_cast<double>(length), c.causal) - (c.causal ? 0.5 : 1.0) * hidden * (hidden + 1));
}

inline double mixing_flops(const gated::TokenMlp<float>& layer, Index length) {
  const auto& c = layer.config;
  return 4.0 * static_cast<double>(c.channels) * static_cast<double>(c.hidden) * static_cast<double>(length);
}

inline double mixing_flops(const gated::TokenProjection<float>& layer, Index length) {
  return spatial_flops(layer.config.channels, length, layer.proj.is_causal());
}

inline double mixing_flops(const gated::DepthwiseConvolution<float>& conv, Index length) {
  return 2.0 * static_cast<double>(conv.weight.size()) * static_cast<double>(length);
}

/// In an incomplete last chunk, only the scores between its own tokens count.
inline double mixing_flops(const gated::SharedChunkAttention<float>& layer, Index length) {
  const auto& c = layer.config;
  const Index whole = length / c.chunk * c.chunk;
  const auto n = static_cast<double>(length), e = 2.0 * static_cast<double>(c.values()), s = static_cast<double>(c.query_key);
  const double scored = static_cast<double>(whole * c.chunk + (length - whole) * (length - whole));
  return 2.0 * (scored * (s + e) + 2 * n * s * e) + mixing_flops(layer.hidden.conv, length) +
         mixing_flops(layer.qk.conv, length) + mixing_flops(layer.proj_out.conv, length);
}

inline double mixing_flops(const gated::MossFormerBlock<float>& block, Index length) {
  const auto& gated = block.fsmn.gated_fsmn;
  return mixing_flops(block.attention, length) + mixing_flops(gated.to_u.conv, length) + mixing_flops(gated.to_v.conv, length) +
         mixing_flops(*gated.fsmn.conv, length);
}

template <class TokenMixer, class ChannelMixer>
double mixing_flops(const gated::MixerBlock<TokenMixer, ChannelMixer>& block, Index length) {
  return mixing_flops(block.tokens.mixer, length);
}

template <class Block, class Config>
double mixing_flops(const gated::Stack<Block, Config>& trunk, Index length) {
  double sum = 0;
  for (const Block& block : trunk.blocks) {
    sum += mixing_flops(block, length);
  }
  return sum;
}

inline double mixing_flops(const gated::MaskNetwork<float>& model, Index length) {
  return mixing_flops(model.trunk.trunk, length);
}

// --- Whole models ---

/// Flops of a layer or a trunk on `count` sequences of `length` tokens.
template <class Layer>
double flops_of(const Layer& layer, Index count, Index length) {
  return projection_flops(layer, count * length) + static_cast<double>(count) * mixing_flops(layer, length);
}

/// Flops from tokens to logits; a tied head multiplies by the embedding.
template <class Trunk>
double flops_of(const gated::LanguageModel<Trunk>& model, Index count, Index length) {
  const bool tied = model.config.head.form == gated::HeadForm::tied;
  const double embedding = tied ? static_cast<double>(model.embedding.weight.size()) : 0;
  return projection_flops(model, count * length) + static_cast<double>(count) * mixing_flops(model.trunk, length) +
         2.0 * embedding * static_cast<double>(count * length);
}

/// Flops of a text transformer that reads `texts` and computes `logits` rows of logits.
inline double flops_of(const gated::TextTransformer<float>& model, const gated::Sequences& texts, Index logits) {
  double sum = projection_flops(model.trunk, texts.total()) +
               2.0 * static_cast<double>(model.embedding.weight.size()) * static_cast<double>(logits);
  for (Index b = 0; b < texts.count(); ++b) {
    sum += mixing_flops(model.trunk, texts.length(b));
  }
  return sum;
}

/// Flops from pixels to the logits of `images` images. The head reads one token per image.
template <class Trunk>
double flops_of(const gated::ImageClassifier<Trunk>& model, Index images) {
  const Index patches = model.patch_embedding.grid().area();
  return flops_of(model.trunk, images, model.tokens_per_image()) + projection_flops(model.patch_embedding, images * patches) +
         (model.head ? projection_flops(*model.head, images) : 0);
}

/// For callers that pass a sequence length, which image classifiers do not need.
template <class Trunk>
double flops_of(const gated::ImageClassifier<Trunk>& model, Index images, Index) {
  return flops_of(model, images);
}

/// Flops of a forecaster's trunk for `series` series: its MLPs and gates over features, patches and series.
inline double flops_of(const gated::SeriesTrunk<float>& trunk, Index series) {
  double sum = 0;
  for (const auto& level : trunk.levels) {
    const auto& c = level.config.block;
    const auto per_input = static_cast<double>(2 * c.expansion + (c.gated ? 1 : 0));
    const auto widths = static_cast<double>(c.channels + (c.mixes_patches() ? c.patches : 0) + c.series);
    sum += 2.0 * per_input * widths * static_cast<double>(level.config.depth * c.patches * c.channels * series);
  }
  return sum;
}

/// Flops of forecasting `items` items with `each` series per item. `model` must have no frequency prefix or forecast mixing.
inline double flops_of(const gated::TinyTimeMixer<float>& model, Index items, Index each) {
  const Index series = items * each, tokens = series * model.config.tokens();
  double sum = projection_flops(model.backbone.patch_embedding, tokens) + flops_of(model.backbone.trunk, series) +
               projection_flops(model.head, series);
  if (model.decoder) {
    sum += (model.decoder->adapter ? projection_flops(*model.decoder->adapter, tokens) : 0) +
           flops_of(model.decoder->trunk, series);
  }
  return sum;
}

}  // namespace bench
