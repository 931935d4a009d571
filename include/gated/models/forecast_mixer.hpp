#pragma once

#include <optional>
#include <vector>

#include "gated/models/stack.hpp"
#include "gated/models/tiny_time_mixer_config.hpp"
#include "gated/ops/series.hpp"

/// @file
/// TinyTimeMixer's exogenous mixer.

namespace gated {

/// Exogenous mixer: refines the forecasts by mixing all series and known future covariates in windows of 2·c + 1 time steps.
template <class T>
struct ForecastMixer : Layer<ForecastMixer<T>> {
  static constexpr const char* name = "ForecastMixer";

  ForecastMixingConfig config;
  Index series = 0, times = 0;          ///< M, series per item; F, time steps of the forecast
  std::vector<Index> predicted, known;  ///< indices of the predicted and of the known series, ascending
  std::optional<Linear<T>> embedding;   ///< maps each window of 2·c + 1 values to 2·(2·c + 1) values
  std::optional<Stack<SeriesMixerBlock<T>>> mixer;
  std::optional<Linear<T>> gate;
  Linear<T> proj;  ///< one output per predicted series

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
                           " and past_offset = ", m.past_offset, " reach back beyond the ", c.context, " values of a series.");
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

  static constexpr auto fields() {
    using M = ForecastMixer;
    return Fields(field("embedding", &M::embedding), field("mixer", &M::mixer), field("gate", &M::gate),
                  field("proj", &M::proj));
  }

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

  Contract contract() const { return {.in = times, .out = times}; }

  /// Shapes: `forecast` and the result are (items · predicted) × F; `x`, the unscaled series, is (items · M) × L; `future` is
  /// (items · M) × F or wider, and only its rows of known series are read.
  template <class Run>
  auto apply(Run& run, MatrixOf<Run> forecast, const MatrixOf<Run>& x, const MatrixOf<Run>& future) const {
    const Index p = static_cast<Index>(predicted.size()), q = p + static_cast<Index>(known.size()), c = config.context;
    const Index items = run.rows(forecast) / p;
    // (items · q) × (c + F + c)
    const auto all = surround_forecast(run, forecast, x, future,
                                       {.series = series,
                                        .predicted = predicted,
                                        .known = known,
                                        .horizon = times,
                                        .context = c,
                                        .past_end = config.past ? run.columns(x) - config.past_offset : 0});
    // (items · F · q) × (2c + 1), q rows per time step
    auto windows = unfold(run, all, {.length = 2 * c + 1, .count = times, .together = q});
    if (embedding) {
      auto each_time = run.with(Sequences::uniform(items * times, q));
      windows = each_time(*mixer, run(*embedding, std::move(windows)));  // (items · F · q) × 2(2c + 1)
    }
    const Index width = run.columns(windows);
    auto seen = reshape(run, std::move(windows), q * width);  // (items · F) × (q · width), a row per time step
    if (gate) {
      auto z = run(*gate, seen);
      seen = softmax_gate(run, std::move(seen), std::move(z), GateAxis::channels);
    }
    return add(run, std::move(forecast), transpose_items(run, run(proj, std::move(seen)), times));  // (items · p) × F
  }

 private:
  /// Input features of the gate and of the projection, per time step.
  static Index seen(const TinyTimeMixerConfig& c) {
    const Count window = 2 * Count(c.forecast_mixing.context) + 1;
    return ((c.forecast_mixing.depth > 0 ? 2 * window : window) *
            (Count(c.predicted_count()) + static_cast<Index>(c.known.size())))
        .value();
  }
};

}  // namespace gated
