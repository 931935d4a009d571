#include "models.hpp"

#include <algorithm>
#include <cmath>

#include "gated/models/gau_presets.hpp"

namespace text {

namespace {

using gated::ArgumentError, gated::Index;

/// The multiple of 16 for which `Model(config_of(width))` has the number of parameters nearest to `wanted`. They grow linearly
/// with the width.
template <class Model, class ConfigOf>
Index fitting_width(Index wanted, const ConfigOf& config_of) {
  constexpr Index step = 16;
  const Index narrowest = gated::parameter_count(Model(config_of(step)));
  const Index growth = gated::parameter_count(Model(config_of(2 * step))) - narrowest;
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
    const Index chunk = std::min<Index>(options.length, 64), query_key = 64;
    auto layer = gated::flash_presets::lucidrains(options.channels, chunk, true, query_key);
    layer.value = width;
    return gated::FlashLanguageModelConfig{
        .vocabulary = 256, .position = gated::PositionForm::none, .trunk = {.depth = options.depth, .layer = layer}};
  };
  return config_of(fitting_width<FlashModel>(options.parameters, config_of));
}

}  // namespace text
