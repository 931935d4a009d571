#pragma once

#include <optional>

#include "gated/models/series_trunk.hpp"
#include "gated/ops/series.hpp"

/// @file
/// The decoder of a TinyTimeMixer: the blocks between its backbone and its head.

namespace gated {

/// y = trunk(adapter(x) + raw(patches)) for the backbone's features x; `adapter` and `raw` are optional.
///
/// Shapes: for N tokens per series, x is (series · N) × (backbone channels) and y is (series · N) × (decoder channels). For n
/// patches of P values per series, `patches` is (series · n) × P. If N = n + 1, `raw` reads a patch of zeros for the prefix.
template <class T>
struct SeriesDecoder : Layer<SeriesDecoder<T>> {
  static constexpr const char* name = "SeriesDecoder";

  Index tokens = 0, prefixes = 0;    ///< tokens per series, and how many of them are prefixes
  std::optional<Linear<T>> adapter;  ///< needed if decoder and backbone differ in width
  std::optional<Linear<T>> raw;      ///< projects the raw patches
  SeriesTrunk<T> trunk;

  SeriesDecoder() = default;
  explicit SeriesDecoder(const TinyTimeMixerConfig& c)
      : tokens(c.tokens()), prefixes(c.tokens() - c.patches()), trunk(c, c.decoder, c.head_dropout) {
    if (c.decoder.channels != c.backbone.channels) {
      adapter.emplace(c.backbone.channels, c.decoder.channels);
    }
    if (c.raw_residual) {
      raw.emplace(c.patch, c.decoder.channels);
    }
  }

  static constexpr auto fields() {
    using D = SeriesDecoder;
    return Fields(field("adapter", &D::adapter), field("raw", &D::raw), field("trunk", &D::trunk));
  }

  void initialize(Random& random) {
    for (auto* linear : {&adapter, &raw}) {
      if (*linear) {
        (*linear)->initialize_as_pytorch(random);
      }
    }
    trunk.initialize(random);
  }

  Contract contract() const { return {.out = trunk.config.channels}; }

  /// `patches` is the backbone's input.
  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, const MatrixOf<Run>& patches) const {
    auto h = adapter ? run(*adapter, std::move(x)) : std::move(x);
    if (raw) {
      const auto rows = prefixes > 0 ? prepend_to_series(run, MatrixOf<Run>(), patches, tokens - 1) : patches;
      h = run(*raw, rows, {.residual = std::move(h)});
    }
    return run(trunk, std::move(h));
  }
};

}  // namespace gated
