#pragma once

#include <algorithm>
#include <vector>

#include "gated/core/parameter_budget.hpp"
#include "gated/layers/series_mixer_block.hpp"
#include "gated/ops/series_scaling.hpp"

/// @file
/// The options of TinyTimeMixer and PatchTSMixer, and presets for published models.

namespace gated {

/// The options of a trunk of mixer blocks.
struct SeriesTrunkConfig {
  Index channels = 16;        ///< d, features per patch
  Index depth = 3;            ///< blocks per level
  Index levels = 0;           ///< adaptive patching: level k cuts each patch into 2^k parts, finest first; 0 for none
  bool mixes_series = false;  ///< blocks also mix the series of an item
  NormPosition norm_position = NormPosition::pre;  ///< norms before the mixers, after the residuals, or after the mixers
  double layer_scale = 0;                          ///< initial per-channel scale of each branch; 0 for no scales
  double drop_path = 0;                            ///< probability that training drops a branch or block (stochastic depth)

  /// Parts per patch at `level`; levels count down to 0. Returns 1 if a part would have 4 features or fewer.
  Index parts(Index level) const {
    const Index parts = level < 62 ? Index{1} << level : 0;
    return parts > 0 && channels / parts > 4 ? parts : 1;
  }
  /// Number of block stacks: one per level, or one if there are no levels.
  Index stacks() const { return std::max<Index>(levels, 1); }

  template <class C = SeriesTrunkConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("depth", &C::depth), setting("levels", &C::levels),
                  setting("mixes_series", &C::mixes_series), setting("norm_position", &C::norm_position),
                  setting("layer_scale", &C::layer_scale), setting("drop_path", &C::drop_path));
  }
};

/// The options of the exogenous mixer: see ForecastMixer.
struct ForecastMixingConfig {
  bool enabled = false;   ///< whether the model has an exogenous mixer
  Index context = 1;      ///< c, time steps seen before and after each time step
  bool gated = true;      ///< softmax gates
  Index depth = 0;        ///< mixer blocks over the series; 0 for none
  bool past = true;       ///< prepends the last input values to the forecast; if false, prepends zeros
  Index past_offset = 0;  ///< number of values to skip at the end of the input

  template <class C = ForecastMixingConfig>
  static constexpr auto fields() {
    return Fields(setting("enabled", &C::enabled), setting("context", &C::context), setting("gated", &C::gated),
                  setting("depth", &C::depth), setting("past", &C::past), setting("past_offset", &C::past_offset));
  }
};

/// Position embedding of patches.
enum class PatchPosition {
  none,
  learned,  ///< a learned vector per patch
  sinusoid  ///< a fixed table of sines and cosines, standardized and divided by 10
};

constexpr auto names_of(PatchPosition) { return words_for<PatchPosition>("none", "learned", "sinusoid"); }

/// The options of a TinyTimeMixer.
struct TinyTimeMixerConfig {
  Index series = 1;                                 ///< M, series per item; not checked if nothing mixes or selects series
  Index context = 64;                               ///< L, input values per series
  Index patch = 8;                                  ///< P, values per patch
  Index stride = 8;                                 ///< S, stride of the patches; leftover values at the front are dropped
  Index horizon = 16;                               ///< F, forecast values per series
  SeriesScaling scaling = SeriesScaling::standard;  ///< scaling of each series
  PatchPosition position = PatchPosition::none;     ///< position embedding of the patches
  Index resolutions = 0;                            ///< number of frequency tokens to choose from; 0 for none
  SeriesTrunkConfig backbone = {};                  ///< options of the backbone's trunk
  bool has_decoder = true;                          ///< whether the model has a decoder
  SeriesTrunkConfig decoder = {.channels = 8, .depth = 8};  ///< options of the decoder's trunk
  bool raw_residual = false;                                ///< the decoder also reads the raw patches
  Index expansion = 2;                                      ///< hidden width of all MLPs, as a multiple of their input
  bool gated = true;                                        ///< softmax gates in all blocks
  bool mixes_single_patch = false;                          ///< mixes patches even if there is only one, as PatchTSMixer does
  double norm_eps = 1e-5;                                   ///< ε of all norms
  double dropout = 0.2;                                     ///< dropout in the backbone's MLPs, in training
  double head_dropout = 0.2;                                ///< dropout in the decoder's MLPs and before the head, in training
  Index filter = 0;                                         ///< number of leading forecast values to output; 0 for all
  std::vector<Index> predicted = {};                        ///< series to forecast; empty for all series outside `known`
  std::vector<Index> known = {};                            ///< series with a known future
  ForecastMixingConfig forecast_mixing = {};                ///< the exogenous mixer

  /// Number of patches per series, without the prefix.
  Index patches() const { return stride > 0 && patch > 0 && context >= patch ? (context - patch) / stride + 1 : 0; }
  /// Rows per series in the trunk: one per patch, and the prefix if there are resolutions.
  Index tokens() const { return patches() + (resolutions > 0 ? 1 : 0); }
  /// Output values per series.
  Index given() const { return filter > 0 ? filter : horizon; }
  /// Features of a token before the head.
  Index width() const { return has_decoder ? decoder.channels : backbone.channels; }
  /// The series to forecast, in ascending order; empty for all.
  /// Errors: MemoryError.
  std::vector<Index> sorted_predicted() const {
    std::vector<Index> sorted = predicted;
    const bool others = predicted.empty() && (!known.empty() || forecast_mixing.enabled);
    const std::vector<Index> in_order = sorted_known();
    expect_memory<Index>("TinyTimeMixer", others ? series : 0);
    for (Index m = 0; others && m < series; ++m) {
      if (!std::binary_search(in_order.begin(), in_order.end(), m)) {
        sorted.push_back(m);
      }
    }
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  /// The known series in ascending order.
  std::vector<Index> sorted_known() const {
    std::vector<Index> sorted = known;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  /// True if each item must have exactly `series` series.
  bool fixes_series() const {
    return backbone.mixes_series || (has_decoder && decoder.mixes_series) || forecast_mixing.enabled || !predicted.empty() ||
           !known.empty();
  }

  /// The number of forecast series.
  Index predicted_count() const {
    return predicted.empty() ? series - static_cast<Index>(known.size()) : static_cast<Index>(predicted.size());
  }

  /// The options of a block in `trunk`, at a level that cuts each patch into `parts` parts.
  SeriesMixerBlockConfig block(const SeriesTrunkConfig& trunk, Index parts, double dropped) const {
    return {.channels = trunk.channels / parts,
            .patches = (Count(tokens()) * parts).value(),
            .series = trunk.mixes_series ? series : 0,
            .expansion = expansion,
            .gated = gated,
            .mixes_single_patch = mixes_single_patch,
            .norm_eps = norm_eps,
            .dropout = dropped,
            .norm_position = trunk.norm_position,
            .layer_scale = trunk.layer_scale,
            .drop_path = trunk.drop_path};
  }
  /// The options of a block in the exogenous mixer.
  SeriesMixerBlockConfig forecast_block() const {
    return {.channels = (2 * (2 * Count(forecast_mixing.context) + 1)).value(),
            .patches = (Count(predicted_count()) + static_cast<Index>(known.size())).value(),
            .expansion = expansion,
            .gated = forecast_mixing.gated,
            .mixes_single_patch = mixes_single_patch,
            .norm_eps = norm_eps,
            .dropout = head_dropout};
  }

  template <class C = TinyTimeMixerConfig>
  static constexpr auto fields() {
    return Fields(setting("series", &C::series), setting("context", &C::context), setting("patch", &C::patch),
                  setting("stride", &C::stride), setting("horizon", &C::horizon), setting("scaling", &C::scaling),
                  setting("position", &C::position), setting("resolutions", &C::resolutions), setting("backbone", &C::backbone),
                  setting("has_decoder", &C::has_decoder), setting("decoder", &C::decoder),
                  setting("raw_residual", &C::raw_residual), setting("expansion", &C::expansion), setting("gated", &C::gated),
                  setting("mixes_single_patch", &C::mixes_single_patch), setting("norm_eps", &C::norm_eps),
                  setting("dropout", &C::dropout), setting("head_dropout", &C::head_dropout), setting("filter", &C::filter),
                  setting("predicted", &C::predicted), setting("known", &C::known),
                  setting("forecast_mixing", &C::forecast_mixing));
  }
};

namespace detail {

/// IBM's published models by size. All forecast 96 values.
inline TinyTimeMixerConfig published_ttm(Index context, Index patch, Index channels, Index decoder_channels,
                                         Index resolutions = 0) {
  return {.context = context,
          .patch = patch,
          .stride = patch,
          .horizon = 96,
          .resolutions = resolutions,
          .backbone = {.channels = channels, .depth = 2, .levels = 3},
          .decoder = {.channels = decoder_channels, .depth = 2}};
}

}  // namespace detail

/// ibm-granite/granite-timeseries-ttm-r1 and TTM 512-96-r2: 805,280 parameters. 512-96-r2 has a head_dropout of 0.4.
inline TinyTimeMixerConfig ttm_512_96() { return detail::published_ttm(512, 64, 192, 128); }
/// TTM 1024-96-r1: 946,336 parameters.
inline TinyTimeMixerConfig ttm_1024_96_r1() { return detail::published_ttm(1024, 64, 192, 128); }
/// TTM 1024-96-r2: 2,964,960 parameters.
inline TinyTimeMixerConfig ttm_1024_96_r2() { return detail::published_ttm(1024, 128, 384, 256); }
/// TTM 1536-96-r2: 3,081,120 parameters.
inline TinyTimeMixerConfig ttm_1536_96_r2() { return detail::published_ttm(1536, 128, 384, 256); }
/// TTM 512-96-ft-r2, with frequency tokens: 854,972 parameters.
inline TinyTimeMixerConfig ttm_512_96_ft_r2() { return detail::published_ttm(512, 64, 192, 128, 8); }
/// TTM 1024-96-ft-r2, with frequency tokens: 3,126,076 parameters.
inline TinyTimeMixerConfig ttm_1024_96_ft_r2() { return detail::published_ttm(1024, 128, 384, 256, 8); }
/// TTM 1536-96-ft-r2, with frequency tokens: 3,243,996 parameters.
inline TinyTimeMixerConfig ttm_1536_96_ft_r2() { return detail::published_ttm(1536, 128, 384, 256, 8); }

}  // namespace gated
