#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "gated/layers/branch.hpp"
#include "gated/layers/softmax_gated_mlp.hpp"
#include "gated/ops/reshape.hpp"

/// @file
/// The block of PatchTSMixer and TinyTimeMixer.

namespace gated {

/// The options of a SeriesMixerBlock.
struct SeriesMixerBlockConfig {
  Index channels = 0;                              ///< d, features of a patch
  Index patches = 0;                               ///< n, patches per series
  Index series = 0;                                ///< M, number of series per item; 0 for no series mixer
  Index expansion = 2;                             ///< hidden width of the MLPs, as a multiple of their input width
  bool gated = true;                               ///< adds a softmax gate to each mixer
  bool mixes_single_patch = true;                  ///< keeps the patch mixer even if a series has a single patch
  double norm_eps = 1e-5;                          ///< ε of the norms
  double dropout = 0;                              ///< dropout of each MLP, in training
  NormPosition norm_position = NormPosition::pre;  ///< normalizes each mixer's input, the residual sum, or the mixer's output
  double layer_scale = 0;                          ///< initial value of each branch's per-channel scales; 0 for no scales
  double drop_path = 0;                            ///< in training, probability of dropping a branch or block: see TapeOptions

  bool mixes_patches() const { return patches > 1 || mixes_single_patch; }
  SoftmaxGatedTokenMlpConfig series_mixer() const {
    return {.channels = (Count(patches) * channels).value(),
            .length = series,
            .hidden = (Count(expansion) * series).value(),
            .gate = gated ? GatePlace::before : GatePlace::none,
            .dropout = dropout};
  }
  SoftmaxGatedTokenMlpConfig patch_mixer() const {
    return {.channels = channels,
            .length = patches,
            .hidden = (Count(expansion) * patches).value(),
            .gate = gated ? GatePlace::after : GatePlace::none,
            .dropout = dropout};
  }
  SoftmaxGatedFeedForwardConfig feature_mixer() const {
    return {.channels = channels,
            .hidden = (Count(expansion) * channels).value(),
            .gate = gated ? GatePlace::after : GatePlace::none,
            .dropout = dropout};
  }

  /// The options of each branch.
  BranchOptions branch() const {
    return {.channels = channels,
            .norm_position = norm_position,
            .norm_eps = norm_eps,
            .layer_scale = layer_scale,
            .drop_path = drop_path};
  }

  template <class C = SeriesMixerBlockConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("patches", &C::patches), setting("series", &C::series),
                  setting("expansion", &C::expansion), setting("gated", &C::gated),
                  setting("mixes_single_patch", &C::mixes_single_patch), setting("norm_eps", &C::norm_eps),
                  setting("dropout", &C::dropout), setting("norm_position", &C::norm_position),
                  setting("layer_scale", &C::layer_scale), setting("drop_path", &C::drop_path));
  }
};

/// An MLP over the M series of an item: each series is one token, with all its patches as channels.
///
/// Shapes: x and y are rows × d. An item is M consecutive series of n patches; a sequence consists of whole items.
template <class T>
struct SeriesMixer : Layer<SeriesMixer<T>> {
  using Config = SeriesMixerBlockConfig;
  static constexpr const char* name = "SeriesMixer";

  Index channels = 0, patches = 0, series = 0;  ///< d, n and M
  SoftmaxGatedTokenMlp<T> tokens;               ///< MLP over M tokens of n · d channels

  SeriesMixer() = default;
  explicit SeriesMixer(const SeriesMixerBlockConfig& c)
      : channels(c.channels), patches(c.patches), series(c.series), tokens(c.series_mixer()) {}

  static constexpr auto fields() { return Fields(field("tokens", &SeriesMixer::tokens)); }

  Contract contract() const {
    return {.in = channels,
            .out = channels,
            .multiple = series * patches,
            .remedy = " Pass whole items, each with series × patches rows.",
            .unstreamable = "Patches are mixed with later ones."};
  }

  auto apply(auto& run, auto x) const {
    auto items = run.with(Sequences::uniform(run.rows(x) / (patches * series), series));
    return reshape(run, items(tokens, reshape(run, std::move(x), patches * channels)), channels);
  }
};

/// h ← h + mixer(norm(h)) with three mixers in turn (arXiv:2306.09364, §3; arXiv:2401.03955, §3). The mixers act on the series
/// of an item (optional), the patches of a series, and the features of a patch. Each mixer is a Branch.
///
/// In the series mixer, the gate precedes the MLP; in the others, it follows the MLP. Norms run over the features of a patch.
/// Shapes: x and y are rows × d; the n patches of a series are consecutive rows. A sequence consists of whole items (M · n
/// rows each) if series are mixed, otherwise of whole series (n rows each).
/// Errors: ArgumentError for invalid options, or if streamed; ShapeError for wrong sizes.
/// Cost: 2·rows·d·(2e + 1)·(d + n + M) flops with all mixers and gates, where e is the expansion. Without gates, 2e replaces
/// 2e + 1; without a series mixer, M = 0.
template <class T>
struct SeriesMixerBlock : Layer<SeriesMixerBlock<T>> {
  using Config = SeriesMixerBlockConfig;
  static constexpr const char* name = "SeriesMixerBlock";
  static constexpr const char* architecture = "gated.SeriesMixerBlock";

  SeriesMixerBlockConfig config;
  std::optional<Branch<SeriesMixer<T>>> series;
  std::optional<Branch<SoftmaxGatedTokenMlp<T>>> patches;
  Branch<SoftmaxGatedFeedForward<T>> features;

  SeriesMixerBlock() = default;
  explicit SeriesMixerBlock(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.patches > 0 && c.series >= 0 && c.expansion > 0, name,
                           ": channels = ", c.channels, ", patches = ", c.patches, " and expansion = ", c.expansion,
                           " must be positive, and series = ", c.series, " must not be negative.");
    if (c.series > 0) {
      series.emplace(c.branch(), c);
    }
    if (c.mixes_patches()) {
      patches.emplace(c.branch(), c.patch_mixer());
    }
    features = {c.branch(), c.feature_mixer()};
  }
  SeriesMixerBlock(const Config& c, Random& random) : SeriesMixerBlock(c) { this->initialize(random); }

  static constexpr auto fields() {
    using B = SeriesMixerBlock;
    return Fields(field("series", &B::series), field("patches", &B::patches), field("features", &B::features));
  }

  Contract contract() const {
    return {.in = config.channels,
            .out = config.channels,
            .multiple = config.patches * std::max<Index>(config.series, 1),
            .remedy =
                config.series > 0 ? " Pass whole items, each with series × patches rows." : " Pass all patches of each series.",
            .unstreamable = "Patches are mixed with later ones."};
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    if (series) {
      x = run(*series, std::move(x));
    }
    if (patches) {
      auto alone = run.with(Sequences::uniform(run.rows(x) / config.patches, config.patches));
      x = alone(*patches, std::move(x));
    }
    return run(features, std::move(x));
  }
};

}  // namespace gated
