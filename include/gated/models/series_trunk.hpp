#pragma once

#include <algorithm>
#include <vector>

#include "gated/models/stack.hpp"
#include "gated/models/tiny_time_mixer_config.hpp"
#include "gated/ops/reread.hpp"

/// @file
/// The trunk of TinyTimeMixer's backbone and decoder.

namespace gated {

/// A trunk of mixer blocks at several levels: from patches cut into small parts to whole ones.
///
/// A level reads the n × d numbers of a series in row-major order as (n · f) × (d / f), so that no number moves.
/// Shapes: x and y are rows × d, the n tokens of a series one after the other; the run's sequences are the items, counted in
/// series.
template <class T>
struct SeriesTrunk {
  using Scalar = T;
  static constexpr const char* name = "SeriesTrunk";

  TinyTimeMixerConfig whole;  ///< of the model
  SeriesTrunkConfig config;
  std::vector<Stack<SeriesMixerBlock<T>>> levels;

  SeriesTrunk() = default;
  SeriesTrunk(const TinyTimeMixerConfig& model, const SeriesTrunkConfig& c, double dropout) : whole(model), config(c) {
    require<ArgumentError>(c.channels > 0 && c.depth >= 0 && c.levels >= 0 && c.levels < 62, name, ": channels = ", c.channels,
                           " must be positive, depth = ", c.depth, " not negative and levels = ", c.levels, " from 0 to 61.");
    for (Index i = 0; i < c.stacks(); ++i) {
      const Index parts = parts_of(c, i);
      require<ArgumentError>(c.channels % parts == 0, name, ": ", c.levels, " levels cut ", c.channels, " features into ",
                             parts, " parts, which leaves a rest. Take features that 2^(levels - 1) divides.");
      levels.emplace_back(StackConfig<SeriesMixerBlockConfig>{c.depth, model.block(c, parts, dropout)});
    }
  }
  static Count value_count(const TinyTimeMixerConfig& model, const SeriesTrunkConfig& c) {
    Count count = 0;
    for (Index i = 0; i < std::min<Index>(c.stacks(), 62); ++i) {
      count = count + c.depth * SeriesMixerBlock<T>::value_count(model.block(c, parts_of(c, i), 0));
    }
    return count;
  }

  static constexpr auto fields() { return std::tuple{field("levels", &SeriesTrunk::levels)}; }

  Index out() const { return config.channels; }
  void initialize(Random& random) { initialize_sublayers(*this, random); }

  template <class Run>
  RowsOf<Run> apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const Index tokens = whole.tokens(), rows = run.count(x), item = tokens * (config.mixes_series ? whole.series : 1);
    auto items = run.with(Sequences::uniform(rows / item, item));
    return items.in_groups(run.copy(x, to), [&](auto& group, auto part) {
      auto h = part;
      for (std::size_t i = 0; i < levels.size(); ++i) {
        const Index parts = parts_of(config, static_cast<Index>(i));
        auto level = group.with(Sequences::uniform(group.count(h) / item, item * parts));
        const auto z = reread(level, h, config.channels / parts);
        h = reread(level, level(levels[i], z, {}, level.over(z)), config.channels, group.over(part));
      }
      return h;
    });
  }

 private:
  static Index parts_of(const SeriesTrunkConfig& c, Index stack) { return c.levels > 0 ? c.parts(c.levels - 1 - stack) : 1; }
};

}  // namespace gated
