#pragma once

#include <algorithm>
#include <vector>

#include "gated/models/stack.hpp"
#include "gated/models/tiny_time_mixer_config.hpp"
#include "gated/ops/reshape.hpp"

/// @file
/// The trunk of TinyTimeMixer's backbone and decoder.

namespace gated {

/// Adaptive patching: mixer blocks at several levels, from finely cut patches to whole patches.
///
/// A level that cuts patches into f parts reshapes the n × d values of a series to (n · f) × (d / f), without moving data.
/// Shapes: x and y are rows × d; the n tokens of a series are consecutive rows.
template <class T>
struct SeriesTrunk : Layer<SeriesTrunk<T>> {
  static constexpr const char* name = "SeriesTrunk";

  SeriesTrunkConfig config;
  Index item = 0;  ///< number of rows mixed together: the tokens of a series, or of all series of an item
  std::vector<Stack<SeriesMixerBlock<T>>> levels;

  SeriesTrunk() = default;
  SeriesTrunk(const TinyTimeMixerConfig& model, const SeriesTrunkConfig& c, double dropout)
      : config(c), item((Count(model.tokens()) * (c.mixes_series ? model.series : 1)).value()) {
    require<ArgumentError>(c.channels > 0 && c.depth >= 0 && c.levels >= 0 && c.levels < 62, name, ": channels = ", c.channels,
                           ", depth = ", c.depth, " and levels = ", c.levels,
                           ", expected channels > 0, depth ≥ 0 and 0 ≤ levels ≤ 61.");
    for (Index i = 0; i < c.stacks(); ++i) {
      const Index parts = parts_of(c, i);
      require<ArgumentError>(c.channels % parts == 0, name, ": channels = ", c.channels, ", expected a multiple of ", parts,
                             " for levels = ", c.levels, ".");
      levels.emplace_back(StackConfig<SeriesMixerBlockConfig>{c.depth, model.block(c, parts, dropout)});
    }
  }

  static constexpr auto fields() { return Fields(field("levels", &SeriesTrunk::levels)); }

  Contract contract() const {
    return {.in = config.channels, .out = config.channels, .unstreamable = "Patches are mixed with later ones."};
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    expect_whole(run.outermost(), static_cast<Index>(levels.size()) == config.stacks());
    const Index items = run.rows(x) / item;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const Index parts = parts_of(config, static_cast<Index>(i));
      auto level = run.with(Sequences::uniform(items, item * parts));
      x = reshape(run, level(levels[i], reshape(run, std::move(x), config.channels / parts)), config.channels);
    }
    return x;
  }

 private:
  static Index parts_of(const SeriesTrunkConfig& c, Index stack) { return c.levels > 0 ? c.parts(c.levels - 1 - stack) : 1; }
};

}  // namespace gated
