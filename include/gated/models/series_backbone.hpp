#pragma once

#include <cmath>
#include <optional>

#include "gated/core/ordered_sum.hpp"
#include "gated/layers/embedding.hpp"
#include "gated/layers/learned_position.hpp"
#include "gated/models/series_trunk.hpp"
#include "gated/ops/position_bias.hpp"
#include "gated/ops/rotary.hpp"
#include "gated/ops/series.hpp"

/// @file
/// The backbone of a TinyTimeMixer, from patches to features. Fine-tuning usually freezes it.

namespace gated {

/// A prefix vector that encodes the resolution of a series: W₂ gelu(W₁ E[token] + b₁) + b₂.
template <class T>
struct ResolutionPrefix : Layer<ResolutionPrefix<T>> {
  static constexpr const char* name = "ResolutionPrefix";

  Embedding<T> embedding;  ///< E: vocabulary × P
  Linear<T> proj_in;       ///< W₁: ⌊(P + d) / 2⌋ × P
  Linear<T> proj_out;      ///< W₂: d × ⌊(P + d) / 2⌋

  ResolutionPrefix() = default;
  ResolutionPrefix(Index vocabulary, Index patch, Index channels)
      : embedding(vocabulary, patch), proj_in(patch, (patch + channels) / 2), proj_out((patch + channels) / 2, channels) {}

  static constexpr auto fields() {
    using P = ResolutionPrefix;
    return Fields(field("embedding", &P::embedding), field("proj_in", &P::proj_in), field("proj_out", &P::proj_out));
  }

  void initialize(Random& random) {
    fill_normal(embedding.weight, 1, random);
    proj_in.initialize_as_pytorch(random);
    proj_out.initialize_as_pytorch(random);
  }

  Contract contract() const { return {.out = proj_out.weight.rows(), .sees = Sees::itself}; }

  auto apply(auto& run, Tokens tokens) const {
    auto hidden = run(proj_in, run(embedding, tokens), {.activation = Activation::gelu});  // items × (P + d) / 2
    return run(proj_out, std::move(hidden));                                               // items × d
  }
};

/// Sinusoidal position embedding: p[i, 2k] = sin(i · 10000^(-2k/d)), p[i, 2k+1] = cos(i · 10000^(-2k/d)). The table p is then
/// centred and divided by 10 times its standard deviation.
template <class T>
struct PatchPositionTable : Layer<PatchPositionTable<T>> {
  static constexpr const char* name = "PatchPositionTable";

  Matrix<T> weight;  ///< n × d

  PatchPositionTable() = default;
  PatchPositionTable(Index tokens, Index channels) {
    require<ArgumentError>(channels % 2 == 0 && (Count(tokens) * channels).value() > 1, name, ": ", channels,
                           " features, expected an even number for pairs of sine and cosine.");
    expect_memory<double>(name, tokens, channels);
    Matrix<double> table = Matrix<double>::Zero(tokens, channels);
    add_interleaved_sinusoid<double>(rotary_frequencies<double>(channels), 0, table);
    table.array() -= ordered_sum(table.size(), [&](Index i) { return table.data()[i]; }) / static_cast<double>(table.size());
    const double squares = ordered_sum(table.size(), [&](Index i) { return rounded(table.data()[i] * table.data()[i]); });
    const double deviation = std::sqrt(squares / static_cast<double>(table.size() - 1));
    weight = (table / (10 * deviation)).template cast<T>();
  }

  static constexpr auto fields() { return Fields(field("weight", &PatchPositionTable::weight, Role::constant)); }

  Contract contract() const {
    return {.in = weight.cols(), .out = weight.cols(), .sees = Sees::itself, .longest = weight.rows()};
  }

  auto apply(auto& run, auto x) const { return add_positions(run, std::move(x), weight); }
};

/// Patches → features → optional prefix and positions → trunk.
template <class T>
struct SeriesBackbone : Layer<SeriesBackbone<T>> {
  static constexpr const char* name = "SeriesBackbone";

  Index tokens = 0;  ///< tokens per series, including the prefix
  Linear<T> patch_embedding;
  std::optional<ResolutionPrefix<T>> prefix;
  std::optional<LearnedPosition<T>> position;
  std::optional<PatchPositionTable<T>> position_table;
  SeriesTrunk<T> trunk;

  SeriesBackbone() = default;
  explicit SeriesBackbone(const TinyTimeMixerConfig& c)
      : tokens(c.tokens()), patch_embedding(c.patch, c.backbone.channels), trunk(c, c.backbone, c.dropout) {
    if (c.resolutions > 0) {
      prefix.emplace(c.resolutions, c.patch, c.backbone.channels);
    }
    if (c.position == PatchPosition::learned) {
      position.emplace(tokens, c.backbone.channels);
    } else if (c.position == PatchPosition::sinusoid) {
      position_table.emplace(tokens, c.backbone.channels);
    }
  }

  static constexpr auto fields() {
    using B = SeriesBackbone;
    return Fields(field("patch_embedding", &B::patch_embedding), field("prefix", &B::prefix), field("position", &B::position),
                  field("position_table", &B::position_table), field("trunk", &B::trunk));
  }

  void initialize(Random& random) {
    patch_embedding.initialize_as_pytorch(random);
    if (prefix) {
      prefix->initialize(random);
    }
    if (position) {
      position->initialize(random);
    }
    trunk.initialize(random);
  }

  Contract contract() const {
    return {.in = patch_embedding.weight.cols(),
            .out = trunk.config.channels,
            .of_rows = prefix ? tokens - 1 : 1,
            .rows = prefix ? tokens : 1};
  }

  /// `resolution` has one frequency token per item.
  template <class Run>
  auto apply(Run& run, MatrixOf<Run> patches, Tokens resolution) const {
    auto h = run(patch_embedding, std::move(patches));  // (series · n) × d
    if (prefix) {
      h = prepend_to_series(run, run(*prefix, resolution), h, tokens - 1);  // (series · tokens) × d
    }
    auto series = run.with(Sequences::uniform(run.rows(h) / tokens, tokens));
    if (position) {
      h = series(*position, std::move(h));
    } else if (position_table) {
      h = series(*position_table, std::move(h));
    }
    return run(trunk, std::move(h));
  }
};

}  // namespace gated
