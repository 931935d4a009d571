#pragma once

#include <optional>

#include "gated/layers/norm.hpp"
#include "gated/layers/softmax_gated_mlp.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/ops/reread.hpp"

/// @file
/// The block of PatchTSMixer and TinyTimeMixer.

namespace gated {

/// The options of a block that mixes time series.
struct SeriesMixerBlockConfig {
  Index channels = 0;              ///< d, features of a patch
  Index patches = 0;               ///< n, of a series
  Index series = 0;                ///< M series of an item that are mixed too; 0 for none
  Index expansion = 2;             ///< the MLPs' hidden numbers, as a multiple of their inputs
  bool gated = true;               ///< a softmax gate in each mixer
  bool mixes_single_patch = true;  ///< patches are mixed even where there is only one
  double norm_eps = 1e-5;          ///< ε of the norms
  double dropout = 0;              ///< of each MLP, in training

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

  template <class C = SeriesMixerBlockConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("patches", &C::patches), setting("series", &C::series),
                      setting("expansion", &C::expansion), setting("gated", &C::gated),
                      setting("mixes_single_patch", &C::mixes_single_patch), setting("norm_eps", &C::norm_eps),
                      setting("dropout", &C::dropout));
  }
};

/// h ← h + mixer(norm(h)) with three mixers in turn (arXiv:2306.09364, §3; arXiv:2401.03955, §3): over the series of an item,
/// where they are mixed, over the patches of a series, and over the features of a patch.
///
/// The gate of the series mixer stands before its MLP, the others after theirs. A norm is over the features of a patch.
/// Shapes: x and y are rows × d, the n patches of a series one after the other; with `series` each sequence is an item of M · n
/// rows, without it any number of whole series. y may be x.
/// Errors: ArgumentError when built and for a stream; ShapeError when run.
/// Cost: 2·rows·(2e + 1)·(d + n + M) flops for an expansion of e.
template <class T>
struct SeriesMixerBlock : SequenceLayer<SeriesMixerBlock<T>, T> {
  using Scalar = T;
  using Config = SeriesMixerBlockConfig;
  static constexpr const char* name = "SeriesMixerBlock";
  static constexpr const char* architecture = "gated.SeriesMixerBlock";

  SeriesMixerBlockConfig config;
  std::optional<Norm<T>> series_norm;
  std::optional<SoftmaxGatedTokenMlp<T>> series_mixer;
  std::optional<Norm<T>> patch_norm;
  std::optional<SoftmaxGatedTokenMlp<T>> patch_mixer;
  Norm<T> feature_norm;
  SoftmaxGatedFeedForward<T> feature_mixer;

  SeriesMixerBlock() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit SeriesMixerBlock(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.patches > 0 && c.series >= 0 && c.expansion > 0, name,
                           ": channels = ", c.channels, ", patches = ", c.patches, " and expansion = ", c.expansion,
                           " must be positive, and series = ", c.series, " not negative.");
    if (c.series > 0) {
      series_norm.emplace(c.channels, c.norm_eps);
      series_mixer.emplace(c.series_mixer());
    }
    if (c.mixes_patches()) {
      patch_norm.emplace(c.channels, c.norm_eps);
      patch_mixer.emplace(c.patch_mixer());
    }
    feature_norm = Norm<T>(c.channels, c.norm_eps);
    feature_mixer = SoftmaxGatedFeedForward<T>(c.feature_mixer());
  }
  /// With initial parameters, as initialize() draws them.
  SeriesMixerBlock(const Config& c, Random& random) : SeriesMixerBlock(c) { this->initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const Config& c) {
    const GatePlace gate = c.gated ? GatePlace::after : GatePlace::none;
    const auto mixer = [&](Count width) {
      return Norm<T>::value_count(c.channels) + detail::softmax_gated_values<T>(width, Count(c.expansion) * width, gate);
    };
    return mixer(c.channels) + (c.mixes_patches() ? mixer(c.patches) : Count(0)) + (c.series > 0 ? mixer(c.series) : Count(0));
  }

  static constexpr auto fields() {
    using B = SeriesMixerBlock;
    return std::tuple(field("series_norm", &B::series_norm), field("series_mixer", &B::series_mixer),
                      field("patch_norm", &B::patch_norm), field("patch_mixer", &B::patch_mixer),
                      field("feature_norm", &B::feature_norm), field("feature_mixer", &B::feature_mixer));
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  void check(Where where, const Sequences& sequences, Mask) const {
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index rows = sequences.length(b), item = config.series * config.patches;
      if (item > 0 ? rows != item && rows != 0 : rows % config.patches != 0) {  // and not require(), because text() allocates
        raise<ShapeError>(where, ": sequence ", b, " has ", rows, " rows, expected ",
                          item > 0 ? text("series × patches = ", item) : text("a multiple of patches = ", config.patches), ".");
      }
    }
  }

  template <class Run>
  RowsOf<Run> apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    if constexpr (Run::streams) {
      raise<ArgumentError>(run.where(), ": patches are mixed with later ones, so that a series cannot be streamed.");
    } else {
      const Index rows = run.count(x), n = config.patches, d = config.channels;
      auto h = run.copy(x, to);
      if (series_mixer) {
        auto items = run.with(Sequences::uniform(rows / (n * config.series), config.series));
        const auto z = reread(items, run(*series_norm, h), n * d);  // series as tokens
        h = add(run, h, reread(items, items(*series_mixer, z), d), nullptr, run.over(h));
      }
      if (patch_mixer) {
        auto alone = run.with(Sequences::uniform(rows / n, n));
        h = alone(*patch_mixer, run(*patch_norm, h), {.residual = h}, run.over(h));
      }
      return run(feature_mixer, run(feature_norm, h), {.residual = h}, run.over(h));
    }
  }
};

}  // namespace gated
