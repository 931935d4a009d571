#include "models.hpp"

#include <algorithm>
#include <numeric>

#include "common/fitting_width.hpp"
#include "gated/models/gau_presets.hpp"

namespace text {

namespace {

using gated::ArgumentError, gated::Index;

template <class Model, class ConfigOf>
Index fitting_width(Index wanted, const ConfigOf& config_of, Index step = 16) {
  const Index width = examples::fitting_width<Model>(wanted, config_of, step);
  gated::require<ArgumentError>(width > 0, "--parameters ", wanted, ": expected at least ",
                                gated::parameter_count(Model(config_of(step))),
                                ", the size of the narrowest model with these --channels, --depth and --length.");
  return width;
}

}  // namespace

gated::GmlpLanguageModelConfig gmlp_config(const Options& options) {
  const auto config_of = [&](Index width) {
    return gated::GmlpLanguageModelConfig{
        .vocabulary = vocabulary_of(options),
        .trunk = {.length = options.length,
                  .channels = options.channels,
                  .hidden = width,
                  .depth = options.depth,
                  .gate = options.gate,
                  .spatial = options.spatial,
                  .length_policy = options.mlm ? gated::LengthPolicy::slice : gated::LengthPolicy::exact,
                  .causal = !options.mlm,
                  .heads = options.heads,
                  .attention_width = options.attention}};
  };
  return config_of(fitting_width<GmlpModel>(options.parameters, config_of, std::lcm(Index{16}, 2 * options.heads)));
}

gated::FlashLanguageModelConfig flash_config(const Options& options) {
  const auto config_of = [&](Index width) {
    auto layer = gated::flash_presets::lucidrains(
        {.channels = options.channels, .query_key = 64, .chunk = std::min<Index>(options.length, 64), .causal = !options.mlm});
    layer.value = width;
    return gated::FlashLanguageModelConfig{.vocabulary = vocabulary_of(options),
                                           .trunk = {.depth = options.depth, .block = layer}};
  };
  return config_of(fitting_width<FlashModel>(options.parameters, config_of));
}

gated::GauEncoderConfig gau_config(const Options& options) {
  const auto config_of = [&](Index width) {
    auto unit = gated::gau_presets::paper({.channels = options.channels, .max_length = options.length, .query_key = 64});
    unit.value = width;
    unit.score_scale = gated::ScoreScale::max_length;
    unit.causal = !options.mlm;
    return gated::GauEncoderConfig{.vocabulary = vocabulary_of(options), .trunk = {.depth = options.depth, .block = unit}};
  };
  return config_of(fitting_width<GauModel>(options.parameters, config_of));
}

TransformerModel::Config transformer_config(const Options& options) {
  const auto config_of = [&](Index width) {
    return TransformerModel::Config{.vocabulary = vocabulary_of(options),
                                    .trunk = {.depth = options.depth,
                                              .block = {.channels = options.channels,
                                                        .token_mixer = {.heads = options.heads,
                                                                        .causal = !options.mlm,
                                                                        .rotary = gated::Rotary::half,
                                                                        .relative_bias = gated::RelativeBiasForm::toeplitz,
                                                                        .max_length = options.length},
                                                        .channel_mixer = {.hidden = width}}}};
  };
  return config_of(fitting_width<TransformerModel>(options.parameters, config_of));
}

}  // namespace text
