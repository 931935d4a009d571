#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "gated/models/forecast_mixer.hpp"
#include "gated/models/series_backbone.hpp"
#include "gated/models/series_decoder.hpp"

/// @file
/// Forecasts of time series: TinyTimeMixer and PatchTSMixer.

namespace gated {

/// Scaling → patches → backbone → decoder → head → forecast mixing → scaling back (arXiv:2401.03955). Without a decoder and
/// levels, the model is PatchTSMixer's forecaster (arXiv:2306.09364).
///
///     const auto model = load_ttm<float>("granite-timeseries-ttm-r2");                    // io/tiny_time_mixer.hpp
///     Matrix<float> y = model.forward(x, Sequences::uniform(8, 3), workspace);            // 8 items of 3 series
///
/// A row is a series, oldest value first. The series of an item form a sequence: they share a frequency token, and are mixed if
/// the model mixes series. Items are independent, and the series of all items share each matmul.
/// Shapes: x is (series of all items) × in(), y is (forecast series of all items, ascending within an item) × out().
/// Errors: ArgumentError from the constructor for invalid options; ShapeError or ArgumentError from forward() for invalid
/// inputs.
/// Cost: 7.8 M multiply-adds per series for ttm_512_96(); no allocation with a warm workspace.
template <class T>
struct TinyTimeMixer {
  using Scalar = T;
  using Config = TinyTimeMixerConfig;
  /// Inputs in addition to the series.
  template <class Run>
  struct Options {
    /// 0 or 1 per value of x, row by row; empty if all are observed. Only scaling and gap filling read the mask. A NaN in x
    /// always marks a gap, as in pandas, and is read as 0, as in the data sets of the original code.
    Mask observed = {};
    Tokens resolution = {};     ///< a frequency token per item, if the model uses them
    MatrixOf<Run> future = {};  ///< rows × out() or wider: row i continues row i of x; only rows of known series are read
  };
  static constexpr const char* name = "TinyTimeMixer";
  static constexpr const char* architecture = "gated.TinyTimeMixer";

  TinyTimeMixerConfig config;
  std::vector<Index> chosen;  ///< series to forecast; empty for all
  SeriesBackbone<T> backbone;
  std::optional<SeriesDecoder<T>> decoder;
  Linear<T> head;  ///< F × (tokens · width)
  std::optional<ForecastMixer<T>> forecast_mixer;

  TinyTimeMixer() = default;
  explicit TinyTimeMixer(const Config& c) : config(c) {
    require<ArgumentError>(c.series > 0 && c.horizon > 0 && c.patch > 0 && c.stride > 0 && c.resolutions >= 0, name,
                           ": series = ", c.series, ", horizon = ", c.horizon, ", patch = ", c.patch,
                           " and stride = ", c.stride, " must be positive, and resolutions = ", c.resolutions,
                           " must not be negative.");
    require<ArgumentError>(c.backbone.channels > 0, name, ": backbone.channels = ", c.backbone.channels, " must be positive.");
    require<ArgumentError>(c.context > c.patch, name, ": context = ", c.context, " must be longer than patch = ", c.patch, ".");
    require<ArgumentError>(c.filter >= 0 && c.filter <= c.horizon, name, ": filter = ", c.filter,
                           ", expected 0 … horizon = ", c.horizon, ".");
    require<ArgumentError>(c.head_dropout >= 0 && c.head_dropout < 1, name, ": head_dropout = ", c.head_dropout,
                           ", expected 0 ≤ head_dropout < 1.");
    expect_series("predicted", c.predicted);
    expect_series("known", c.known);
    chosen = c.sorted_predicted();
    require<ArgumentError>(!chosen.empty() || (c.known.empty() && !c.forecast_mixing.enabled), name, ": all ", c.series,
                           " series are known in the future, so none is left to forecast.");
    backbone = SeriesBackbone<T>(c);
    if (c.has_decoder) {
      decoder.emplace(c);
    }
    head = Linear<T>((Count(c.tokens()) * c.width()).value(), c.horizon);
    if (c.forecast_mixing.enabled) {
      forecast_mixer.emplace(c);
    }
  }
  TinyTimeMixer(const Config& c, Random& random) : TinyTimeMixer(c) { this->initialize(random); }

  static constexpr auto fields() {
    using M = TinyTimeMixer;
    return Fields(field("backbone", &M::backbone), field("decoder", &M::decoder), field("head", &M::head),
                  field("forecast_mixer", &M::forecast_mixer));
  }

  /// PyTorch's initialization of each part.
  void initialize(Random& random) {
    backbone.initialize(random);
    if (decoder) {
      decoder->initialize(random);
    }
    head.initialize_as_pytorch(random);
    if (forecast_mixer) {
      forecast_mixer->initialize(random);
    }
  }

  /// Columns of the input: the number of values per series.
  Index in() const { return config.context; }
  /// Columns of the output.
  Index out() const { return config.given(); }
  /// Rows of the output for `series` series.
  Index output_rows(Index series) const {
    const Index items = (series + config.series - 1) / config.series;
    return chosen.empty() ? series : items * static_cast<Index>(chosen.size());
  }
  Contract contract() const {
    const Index count = static_cast<Index>(chosen.size());
    return {.in = config.context,
            .out = config.given(),
            .of_rows = count > 0 ? config.series : 1,
            .rows = count > 0 ? count : 1,
            .shortest = config.fixes_series() ? config.series : 0,
            .longest = config.fixes_series() ? config.series : Contract::unlimited,
            .remedy = " Pass all series of each item: the model mixes or selects them.",
            .unstreamable = "Patches are mixed with later ones."};
  }

  /// Writes the forecasts to y. `items` splits the rows of x into items.
  void forward(ConstView<T> x, const Sequences& items, View<T> y, Workspace<T>& workspace,
               const Options<Batch<T>>& options = {}) const;
  /// Overload for memory that is not an Eigen matrix.
  void forward(const MatrixSpan<const T>& x, const Sequences& items, const MatrixSpan<T>& y, Workspace<T>& workspace,
               const Options<Batch<T>>& options = {}) const {
    forward(ConstView<T>(x), items, View<T>(y), workspace, options);
  }
  /// Overload that returns a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& items, Workspace<T>& workspace,
                    const Options<Batch<T>>& options = {}) const {
    Matrix<T> y(output_rows(x.rows()), out());
    forward(x, items, y, workspace, options);
    return y;
  }
  /// Overload that uses a temporary workspace.
  Matrix<T> forward(ConstView<T> x, const Sequences& items) const {
    Workspace<T> workspace;
    return forward(x, items, workspace);
  }
  /// Overload for the series of one item, with a temporary workspace.
  Matrix<T> forward(ConstView<T> x) const { return forward(x, Sequences::single(x.rows())); }

  /// The last config.context values of each row of x.
  /// Errors: ShapeError for series that are too short.
  ConstView<T> last_context(const ConstView<T>& x) const {
    require<ShapeError>(x.cols() >= config.context, name, "::last_context: the series have ", x.cols(),
                        " values, expected at least context = ", config.context,
                        ". Pass more of the past, or use a model with a shorter context.");
    return x.rightCols(config.context);
  }

  /// Raises ShapeError unless forward() accepts x split into `items`.
  void expect_input(Where where, const ConstView<T>& x, const Sequences& items, Mask) const {
    require<ShapeError>(x.cols() == config.context, where, ": the series have ", x.cols(),
                        " values, expected context = ", config.context,
                        x.cols() < config.context ? ". Pass more of the past, or use a model with a shorter context."
                                                  : ". Use last_context().");
    items.expect_total(where, x.rows());
    for (Index b = 0; config.fixes_series() && b < items.count(); ++b) {
      require<ShapeError>(items.length(b) == config.series, where, ": item ", b, " has ", items.length(b),
                          " series, expected series = ", config.series, ".", contract().remedy);
    }
  }

  /// The body of forward().
  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, const Options<Run>& options = {}) const {
    expect_options(run, x, options);
    auto scaled = scale_series(run, x, config.scaling, options.observed);
    const Index n = config.patches();
    const auto patches = unfold(run, scaled.x,
                                {.first = config.context - config.patch - config.stride * (n - 1),
                                 .length = config.patch,
                                 .stride = config.stride,
                                 .count = n});            // (series · n) × P
    auto h = run(backbone, patches, options.resolution);  // (series · tokens) × d
    if (decoder) {
      h = run(*decoder, std::move(h), patches);  // (series · tokens) × width
    }
    // series × (tokens · width)
    auto seen = run.dropout(reshape(run, std::move(h), config.tokens() * config.width()), config.head_dropout);
    auto y = run(head, std::move(seen));  // series × F
    if (!chosen.empty()) {
      y = gather(run, y, chosen, config.series, out());  // (items · chosen) × out()
      scaled.location = gather(run, scaled.location, chosen, config.series, 1);
      scaled.scale = gather(run, scaled.scale, chosen, config.series, 1);
    } else if (out() != config.horizon) {
      y = gather(run, y, each, 1, out());
    }
    if (forecast_mixer) {
      y = run(*forecast_mixer, std::move(y), fill_gaps(run, x, options.observed), options.future);
    }
    return unscale_series(run, std::move(y), scaled.location, scaled.scale);
  }

 private:
  static constexpr Index each[]{0};  // with items of one series, selects every row

  void expect_series(const char* what, const std::vector<Index>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      require<ArgumentError>(list[i] >= 0 && list[i] < config.series, name, ": ", what, "[", i, "] = ", list[i],
                             ", expected 0 … ", config.series - 1, ".");
    }
    std::vector<Index> sorted = list;
    std::sort(sorted.begin(), sorted.end());
    const auto same = std::adjacent_find(sorted.begin(), sorted.end());
    require<ArgumentError>(same == sorted.end(), name, ": ", what, " lists series ", same == sorted.end() ? 0 : *same,
                           " twice.");
  }

  template <class Run>
  void expect_options(Run& run, const MatrixOf<Run>& x, const Options<Run>& options) const {
    const Index rows = run.rows(x), items = run.sequences().count();
    require<ShapeError>(options.observed.empty() || static_cast<Index>(options.observed.size()) == rows * config.context, name,
                        ": the mask has ", options.observed.size(), " entries, expected ", rows,
                        " × context = ", rows * config.context, ", one per value of x.");
    const auto tokens = static_cast<Index>(options.resolution.size());
    if (config.resolutions > 0) {
      require<ShapeError>(tokens == items, name, ": ", tokens, " frequency tokens, expected ", items,
                          ", one per item: the model was trained with them.");
      for (Index b = 0; b < items; ++b) {
        const Index token = options.resolution[static_cast<std::size_t>(b)];
        require<ArgumentError>(token >= 0 && token < config.resolutions, name, ": the frequency token of item ", b, " is ",
                               token, ", expected 0 … ", config.resolutions - 1, ".");
      }
    } else {
      require<ArgumentError>(tokens == 0, name, ": ", tokens, " frequency tokens, but this model takes none.");
    }
    if (forecast_mixer && !config.known.empty()) {
      require<ArgumentError>(static_cast<bool>(options.future), name,
                             ": the model needs the future of its known series. Pass Options::future.");
      require<ShapeError>(run.rows(options.future) == rows && run.columns(options.future) >= out(), name, ": the future is ",
                          run.rows(options.future), " × ", run.columns(options.future), ", expected ", rows, " × ", out(),
                          " or more columns, one row per row of x.");
    }
  }
};

// Defined outside the class, so not implicitly `inline`: see layers/layer.hpp.
template <class T>
void TinyTimeMixer<T>::forward(ConstView<T> x, const Sequences& items, View<T> y, Workspace<T>& workspace,
                               const Options<Batch<T>>& options) const {
  constexpr Where where(name, "forward");
  expect_input(where, x, items, Mask());
  expect_shape<T>(where, "y", y, output_rows(x.rows()), out());
  expect_apart<T>(where, x, y);
  require<ArgumentError>(!overlap<T>(MatrixView<const T>(options.future), y), where,
                         ": y overlaps the future and would overwrite unread input. Use separate memory.");
  const auto frame = workspace.frame();
  Batch<T> run(workspace, items);
  run.into(MatrixView<T>(y), *this, input_view<T>(x), options);
}

}  // namespace gated
