#pragma once

#include <algorithm>
#include <cstdlib>

#include "common/fitting_width.hpp"
#include "gated/models/gau_presets.hpp"
#include "language.hpp"

/// @file
/// The configurations of the models that the comparisons train.

namespace papers {

using gated::GateForm, gated::SpatialForm;
using text::FlashModel, text::GauModel, text::GmlpModel, text::TransformerModel;

/// The size of a model, small in a quick run.
struct Sizes {
  Index channels, depth, length, vocabulary = text::mask_token + 1;

  explicit Sizes(const Setup& setup, Index channels_ = 64, Index depth_ = 6, Index length_ = 128)
      : channels(setup.quick ? 16 : channels_), depth(setup.quick ? 1 : depth_), length(setup.quick ? 16 : length_) {}

  Index query_key() const { return channels / 2; }
};

/// A gMLP. `hidden` = 0 selects the default hidden width: 6·channels if the gate splits, otherwise 4·channels.
inline gated::GmlpLanguageModelConfig gmlp(const Sizes& sizes, GateForm gate = GateForm::split, Index hidden = 0,
                                           SpatialForm spatial = SpatialForm::toeplitz, Index attention = 0) {
  return {.vocabulary = sizes.vocabulary,
          .trunk = {.length = sizes.length,
                    .channels = sizes.channels,
                    .hidden = hidden > 0 ? hidden : (gate == GateForm::split ? 6 : 4) * sizes.channels,
                    .depth = sizes.depth,
                    .gate = gate,
                    .spatial = spatial,
                    .length_policy = gated::LengthPolicy::slice,
                    .attention_width = attention}};
}

/// The parameter count of a gMLP. Other models are sized to match it.
inline Index parameters_of(const gated::GmlpLanguageModelConfig& config) { return gated::parameter_count(GmlpModel(config)); }

/// Returns the config_of(width) whose parameter count is closest to `parameters`.
/// Errors: ArgumentError if the two counts differ by more than 2 %, unless `parameters` is below 50,000.
template <class Model, class ConfigOf>
typename Model::Config fitted(Index parameters, const ConfigOf& config_of) {
  constexpr Index step = 4;
  const auto config = config_of(std::max(examples::fitting_width<Model>(parameters, config_of, step), step));
  const Index found = gated::parameter_count(Model(config));
  gated::require<gated::ArgumentError>(50 * std::abs(found - parameters) <= parameters || parameters < 50'000,
                                       "a fitted model has ", found, " parameters, expected about ", parameters);
  return config;
}

/// Gated attention units as in the paper, with a value width of 2·channels.
inline gated::GauEncoderConfig gau(const Sizes& sizes) {
  return {.vocabulary = sizes.vocabulary,
          .trunk = {.depth = sizes.depth,
                    .block = gated::gau_presets::paper(
                        {.channels = sizes.channels, .max_length = sizes.length, .query_key = sizes.query_key()})}};
}

/// The parameter count of gau(). All models in FLASH's tables are sized to match it.
inline Index parameters_of_gau(const Sizes& sizes) { return gated::parameter_count(GauModel(gau(sizes))); }

inline gated::GauEncoderConfig gau(const Sizes& sizes, gated::ScoreKernel kernel, Index parameters) {
  return fitted<GauModel>(parameters, [&](Index value) {
    auto config = gau(sizes);
    auto& unit = config.trunk.block;
    unit.value = value;
    unit.kernel = kernel;
    if (kernel == gated::ScoreKernel::softmax) {
      unit.score_scale = gated::ScoreScale::sqrt_width;
    }
    return config;
  });
}

/// FLASH as in its paper, except that it uses layer norm, as gau() does.
inline gated::FlashLanguageModelConfig flash(const Sizes& sizes, Index chunk, Index parameters) {
  return fitted<FlashModel>(parameters, [&](Index value) {
    auto layer = gated::flash_presets::paper(
        {.channels = sizes.channels, .query_key = sizes.query_key(), .chunk = std::min(sizes.length, chunk), .causal = false});
    layer.norm = gated::NormForm::layer_norm;
    layer.value = value;
    return gated::FlashLanguageModelConfig{.vocabulary = sizes.vocabulary, .trunk = {.depth = sizes.depth, .block = layer}};
  });
}

/// A Transformer with rotary positions. With C channels and a hidden width of 4·C, each layer has 12·C² weights. For
/// comparison: two gated attention units have 13·C² weights, two gMLP blocks 18·C².
inline TransformerModel::Config transformer(const Sizes& sizes, Index layers, gated::RelativeBiasForm bias, Index parameters) {
  return fitted<TransformerModel>(parameters, [&](Index hidden) {
    return TransformerModel::Config{
        .vocabulary = sizes.vocabulary,
        .trunk = {.depth = std::max<Index>(layers, 1),
                  .block = {.channels = sizes.channels,
                            .token_mixer = {.heads = 4, .rotary = gated::Rotary::half, .relative_bias = bias},
                            .channel_mixer = {.hidden = hidden}}}};
  });
}

}  // namespace papers
