#pragma once

#include <optional>
#include <vector>

#include "gated/models/stack.hpp"
#include "gated/models/tiny_time_mixer_config.hpp"
#include "gated/ops/series.hpp"

/// @file
/// What a TinyTimeMixer does with the forecasts of several series.

namespace gated {

/// A second look at the forecasts of all series, together with the series whose future is known, in windows of 2·c + 1 times:
/// the "exogenous mixer".
template <class T>
struct ForecastMixer {
  using Scalar = T;
  /// What it takes besides x.
  template <class Run>
  struct Options {
    RowsOf<Run> x = {};       ///< the series as they came, (items · M) × L
    RowsOf<Run> future = {};  ///< (items · M) × F
  };
  static constexpr const char* name = "ForecastMixer";

  ForecastMixingConfig config;
  Index series = 0, times = 0;          ///< M and F
  std::vector<Index> predicted, known;  ///< which series
  std::optional<Linear<T>> embedding;   ///< of a window, 2·c + 1 → twice as many
  std::optional<Stack<SeriesMixerBlock<T>>> mixer;
  std::optional<Linear<T>> gate;
  Linear<T> proj;  ///< to the predicted series

  ForecastMixer() = default;
  explicit ForecastMixer(const TinyTimeMixerConfig& c)
      : config(c.forecast_mixing),
        series(c.series),
        times(c.given()),
        predicted(c.sorted_predicted()),
        known(c.sorted_known()) {
    const ForecastMixingConfig& m = c.forecast_mixing;
    require<ArgumentError>(m.context >= 0 && m.depth >= 0 && m.past_offset >= 0, name, ": context = ", m.context,
                           ", depth = ", m.depth, " and past_offset = ", m.past_offset, " must not be negative.");
    require<ArgumentError>(!m.past || m.context <= c.context - m.past_offset, name, ": context = ", m.context,
                           " and past_offset = ", m.past_offset, " reach back further than the ", c.context,
                           " numbers of a series.");
    const Index window = 2 * m.context + 1;
    if (m.depth > 0) {
      embedding.emplace(window, 2 * window);
      mixer.emplace(StackConfig<SeriesMixerBlockConfig>{m.depth, c.forecast_block()});
    }
    const Index width = seen(c);
    if (m.gated) {
      gate.emplace(width, width);
    }
    proj = Linear<T>(width, static_cast<Index>(predicted.size()));
  }
  static Count value_count(const TinyTimeMixerConfig& c) {
    const ForecastMixingConfig& m = c.forecast_mixing;
    const Count window = 2 * Count(m.context) + 1, width = seen(c);
    return (m.depth > 0
                ? Linear<T>::value_count(window, 2 * window) + m.depth * SeriesMixerBlock<T>::value_count(c.forecast_block())
                : Count(0)) +
           (m.gated ? Linear<T>::value_count(width, width) : Count(0)) + Linear<T>::value_count(width, c.predicted_count());
  }

  static constexpr auto fields() {
    using M = ForecastMixer;
    return std::tuple(field("embedding", &M::embedding), field("mixer", &M::mixer), field("gate", &M::gate),
                      field("proj", &M::proj));
  }

  Index out() const { return times; }
  void initialize(Random& random) {
    if (embedding) {
      embedding->initialize_as_pytorch(random);
      mixer->initialize(random);
    }
    if (gate) {
      gate->initialize_as_pytorch(random);
    }
    proj.initialize_as_pytorch(random);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& forecast, const Options<Run>& options, const PlaceOf<Run>& to) const {
    const Index p = static_cast<Index>(predicted.size()), q = p + static_cast<Index>(known.size()), c = config.context;
    const Index items = run.count(forecast) / p;
    // (items · q) × (c + F + c)
    const auto all = surround_forecast(run, forecast, options.x, options.future,
                                       {.series = series,
                                        .predicted = predicted,
                                        .known = known,
                                        .horizon = times,
                                        .context = c,
                                        .past_end = config.past ? run.width(options.x) - config.past_offset : 0});
    // (items · F · q) × (2c + 1), q rows for each time
    auto windows = cut_windows(run, all, {.length = 2 * c + 1, .count = times, .together = q});
    if (embedding) {
      auto each_time = run.with(Sequences::uniform(items * times, q));
      const auto h = run(*embedding, windows);  // (items · F · q) × 2(2c + 1)
      windows = each_time(*mixer, h, {}, run.over(h));
    }
    auto seen = reread(run, windows, q * run.width(windows));  // (items · F) × (q · width), a row for each time
    if (gate) {
      seen = softmax_gate(run, seen, run(*gate, seen), GateAxis::channels);
    }
    return add(run, forecast, transpose_items(run, run(proj, seen), times), nullptr, to);  // (items · p) × F
  }

 private:
  /// The numbers that are seen for each time.
  static Index seen(const TinyTimeMixerConfig& c) {
    const Count window = 2 * Count(c.forecast_mixing.context) + 1;
    return ((c.forecast_mixing.depth > 0 ? 2 * window : window) *
            (Count(c.predicted_count()) + static_cast<Index>(c.known.size())))
        .value();
  }
};

}  // namespace gated
