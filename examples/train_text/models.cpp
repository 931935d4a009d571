#include "models.hpp"

#include <algorithm>
#include <cmath>

#include "gated/models/gau_presets.hpp"

namespace text {

namespace {

using gated::ArgumentError, gated::Index;

/// The multiple of 16 for which a model of `config_of(width)` has the number of parameters nearest to `wanted`. They grow
/// linearly with the width.
template <class Model, class ConfigOf>
Index fitting_width(Index wanted, const ConfigOf& config_of) {
  constexpr Index step = 16;
  const Index narrowest = Model::value_count(config_of(step)).value();
  const Index growth = Model::value_count(config_of(2 * step)).value() - narrowest;
  gated::require<ArgumentError>(wanted >= narrowest, "--parameters ", wanted, ": expected at least ", narrowest,
                                ", which the narrowest model of these --channels, --depth and --length has.");
  return step * (1 + (wanted - narrowest + growth / 2) / growth);
}

}  // namespace

gated::GmlpLanguageModelConfig gmlp_config(const Options& options, Index attention) {
  const auto config_of = [&](Index width) {
    return gated::GmlpLanguageModelConfig{.vocabulary = 256,
                                          .trunk = {.length = options.length,
                                                    .channels = options.channels,
                                                    .hidden = width,
                                                    .depth = options.depth,
                                                    .spatial = gated::SpatialForm::toeplitz,
                                                    .causal = true,
                                                    .attention = attention}};
  };
  return config_of(fitting_width<GmlpModel>(options.parameters, config_of));
}

gated::FlashLanguageModelConfig flash_config(const Options& options) {
  const auto config_of = [&](Index width) {
    auto layer = gated::flash_presets::lucidrains(
        {.channels = options.channels, .query_key = 64, .chunk = std::min<Index>(options.length, 64)});
    layer.value = width;
    return gated::FlashLanguageModelConfig{.vocabulary = 256, .trunk = {.depth = options.depth, .block = layer}};
  };
  return config_of(fitting_width<FlashModel>(options.parameters, config_of));
}

}  // namespace text
