#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "gated/layers/embedding.hpp"
#include "gated/layers/learned_position.hpp"
#include "gated/models/stack.hpp"
#include "gated/models/tiny_time_mixer_config.hpp"
#include "gated/ops/series.hpp"

/// @file
/// Forecasts of time series: TinyTimeMixer and PatchTSMixer.

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

/// A vector for the resolution of a series: W₃ gelu(W₁ E[token] + b₁) + b₃.
template <class T>
struct ResolutionPrefix {
  using Scalar = T;
  static constexpr const char* name = "ResolutionPrefix";

  Embedding<T> embedding;  ///< E: vocabulary × P
  Linear<T> proj_in;       ///< W₁: ⌊(P + d) / 2⌋ × P
  Linear<T> proj_out;      ///< W₃: d × ⌊(P + d) / 2⌋

  ResolutionPrefix() = default;
  ResolutionPrefix(Index vocabulary, Index patch, Index channels)
      : embedding(vocabulary, patch), proj_in(patch, (patch + channels) / 2), proj_out((patch + channels) / 2, channels) {}
  static Count value_count(Count vocabulary, Index patch, Index channels) {
    const Count hidden = (Count(patch) + channels).value() / 2;
    return vocabulary * patch + Linear<T>::value_count(patch, hidden) + Linear<T>::value_count(hidden, channels);
  }

  static constexpr auto fields() {
    using P = ResolutionPrefix;
    return std::tuple(field("embedding", &P::embedding), field("proj_in", &P::proj_in), field("proj_out", &P::proj_out));
  }

  Index out() const { return proj_out.out(); }
  void initialize(Random& random) {
    fill_normal(embedding.weight, 1, random);
    detail::fill_as_pytorch(proj_in.weight, proj_in.bias, proj_in.in(), random);
    detail::fill_as_pytorch(proj_out.weight, proj_out.bias, proj_out.in(), random);
  }

  template <class Run>
  auto apply(Run& run, Tokens tokens, const PlaceOf<Run>& to) const {
    const auto hidden = run(proj_in, run(embedding, tokens), {.activation = Activation::gelu});
    return run(proj_out, hidden, {}, to);
  }
};

/// Positions that are not trained: p[i, 2k] = sin(i · 10000^(-2k/d)), p[i, 2k+1] = cos of the same, then the table minus its
/// mean, divided by 10 times its standard deviation.
template <class T>
struct PatchPositionTable {
  using Scalar = T;
  static constexpr const char* name = "PatchPositionTable";

  Matrix<T> weight;  ///< n × d

  PatchPositionTable() = default;
  PatchPositionTable(Index tokens, Index channels) {
    require<ArgumentError>(channels % 2 == 0 && tokens * channels > 1, name, ": ", channels,
                           " features cannot hold sines and cosines. Take an even number of them.");
    Matrix<double> table(tokens, channels);
    for (Index i = 0; i < tokens; ++i) {
      for (Index k = 0; k < channels; k += 2) {
        const double angle = static_cast<double>(i) * std::pow(1e4, -static_cast<double>(k) / static_cast<double>(channels));
        table(i, k) = std::sin(angle);
        table(i, k + 1) = std::cos(angle);
      }
    }
    table.array() -= table.mean();
    const double deviation = std::sqrt(table.squaredNorm() / static_cast<double>(table.size() - 1));
    weight = (table / (10 * deviation)).template cast<T>();
  }

  static constexpr auto fields() { return std::tuple{field("weight", &PatchPositionTable::weight, Role::constant)}; }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    return add_positions(run, x, weight, to);
  }
};

/// Patches → features → prefix and positions → trunk: what fine-tuning usually freezes.
template <class T>
struct SeriesBackbone {
  using Scalar = T;
  /// What it takes besides x.
  template <class Run>
  struct Options {
    Tokens resolution = {};  ///< one for each item
  };
  static constexpr const char* name = "SeriesBackbone";

  Index tokens = 0;  ///< of a series, the prefix included
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
  static Count value_count(const TinyTimeMixerConfig& c) {
    return Linear<T>::value_count(c.patch, c.backbone.channels) +
           (c.resolutions > 0 ? ResolutionPrefix<T>::value_count(c.resolutions, c.patch, c.backbone.channels) : Count(0)) +
           (c.position != PatchPosition::none ? Count(c.tokens()) * c.backbone.channels : Count(0)) +
           SeriesTrunk<T>::value_count(c, c.backbone);
  }

  static constexpr auto fields() {
    using B = SeriesBackbone;
    return std::tuple(field("patch_embedding", &B::patch_embedding), field("prefix", &B::prefix),
                      field("position", &B::position), field("position_table", &B::position_table), field("trunk", &B::trunk));
  }

  Index out() const { return trunk.out(); }
  Index output_rows(Index patches) const { return prefix ? patches / (tokens - 1) * tokens : patches; }
  void initialize(Random& random) {
    detail::fill_as_pytorch(patch_embedding.weight, patch_embedding.bias, patch_embedding.in(), random);
    if (prefix) {
      prefix->initialize(random);
    }
    if (position) {
      position->initialize(random);
    }
    trunk.initialize(random);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& patches, const Options<Run>& options, const PlaceOf<Run>& to) const {
    auto h = run(patch_embedding, patches);
    if (prefix) {
      h = prepend_to_series(run, run(*prefix, options.resolution), h, tokens - 1);
    }
    auto series = run.with(Sequences::uniform(run.count(h) / tokens, tokens));
    if (position) {
      h = series(*position, h, {}, run.over(h));
    } else if (position_table) {
      h = series(*position_table, h, {}, run.over(h));
    }
    return run(trunk, h, {}, to);
  }
};

/// The second trunk.
template <class T>
struct SeriesDecoder {
  using Scalar = T;
  /// What it takes besides x.
  template <class Run>
  struct Options {
    RowsOf<Run> patches = {};  ///< as the backbone had them
  };
  static constexpr const char* name = "SeriesDecoder";

  Index tokens = 0, prefixes = 0;    ///< of a series
  std::optional<Linear<T>> adapter;  ///< where the trunk is of another width
  std::optional<Linear<T>> raw;      ///< of the patches themselves
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
  static Count value_count(const TinyTimeMixerConfig& c) {
    const Count channels = c.decoder.channels;
    return (c.decoder.channels != c.backbone.channels ? Linear<T>::value_count(c.backbone.channels, channels) : Count(0)) +
           (c.raw_residual ? Linear<T>::value_count(c.patch, channels) : Count(0)) + SeriesTrunk<T>::value_count(c, c.decoder);
  }

  static constexpr auto fields() {
    using D = SeriesDecoder;
    return std::tuple(field("adapter", &D::adapter), field("raw", &D::raw), field("trunk", &D::trunk));
  }

  Index out() const { return trunk.out(); }
  void initialize(Random& random) {
    for (auto* linear : {&adapter, &raw}) {
      if (*linear) {
        detail::fill_as_pytorch((*linear)->weight, (*linear)->bias, (*linear)->in(), random);
      }
    }
    trunk.initialize(random);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Options<Run>& options, const PlaceOf<Run>& to) const {
    auto h = adapter ? run(*adapter, x) : x;
    if (raw) {
      const auto patches = prefixes > 0 ? prepend_to_series(run, {}, options.patches, tokens - 1) : options.patches;
      h = run(*raw, patches, {.residual = h});
    }
    return run(trunk, h, {}, to);
  }
};

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
    const auto start = [&](Linear<T>& linear) { detail::fill_as_pytorch(linear.weight, linear.bias, linear.in(), random); };
    if (embedding) {
      start(*embedding);
      mixer->initialize(random);
    }
    if (gate) {
      start(*gate);
    }
    start(proj);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& forecast, const Options<Run>& options, const PlaceOf<Run>& to) const {
    const Index p = static_cast<Index>(predicted.size()), q = p + static_cast<Index>(known.size()), c = config.context;
    const Index items = run.count(forecast) / p;
    const auto all = surround_forecast(run, forecast, options.x, options.future,
                                       {.series = series,
                                        .predicted = predicted,
                                        .known = known,
                                        .horizon = times,
                                        .context = c,
                                        .past_end = config.past ? run.width(options.x) - config.past_offset : 0});
    auto windows = cut_windows(run, all, {.length = 2 * c + 1, .count = times, .together = q});  // q rows for each time
    if (embedding) {
      auto each_time = run.with(Sequences::uniform(items * times, q));
      const auto h = run(*embedding, windows);
      windows = each_time(*mixer, h, {}, run.over(h));
    }
    auto seen = reread(run, windows, q * run.width(windows));  // a row for each time
    if (gate) {
      seen = softmax_gate(run, seen, run(*gate, seen), GateAxis::channels);
    }
    return add(run, forecast, transpose_items(run, run(proj, seen), times), nullptr, to);
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

/// Scaling → patches → backbone → decoder → head → forecast mixing → scaling back (arXiv:2401.03955); without a decoder and
/// levels it is PatchTSMixer's forecaster (arXiv:2306.09364).
///
///     const auto model = load_ttm<float>("granite-timeseries-ttm-r2");                    // io/tiny_time_mixer.hpp
///     Matrix<float> y = model.forward(x, Sequences::uniform(8, 3), workspace);            // 8 items of 3 series
///
/// A row is a series, oldest number first. The series of an item are a sequence: they share a frequency token, and are mixed
/// where the model mixes series. All others see each other nowhere, so that any number of series is one product.
/// Shapes: x is (series of all items) × L, y is (those that are forecast, item by item in ascending order) × the numbers given.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: 7.8 M multiply-adds a series for ttm_512_96(); no allocation when warm.
template <class T>
struct TinyTimeMixer {
  using Scalar = T;
  using Config = TinyTimeMixerConfig;
  /// What the model is told besides the series.
  /// What it takes besides x.
  template <class Run>
  struct Options {
    Mask observed = {};  ///< 0 or 1 for each number of x, row by row; empty where all are observed. Only scaling looks at it
    Tokens resolution = {};   ///< a frequency token for each item, of a model that has them
    RowsOf<Run> future = {};  ///< of series known in the future, at the rows of x: rows × F or more; other rows are not read
  };
  static constexpr const char* name = "TinyTimeMixer";
  static constexpr const char* architecture = "gated.TinyTimeMixer";

  TinyTimeMixerConfig config;
  std::vector<Index> chosen;  ///< series that are forecast; empty for all
  SeriesBackbone<T> backbone;
  std::optional<SeriesDecoder<T>> decoder;
  Linear<T> head;  ///< F × (tokens · width)
  std::optional<ForecastMixer<T>> forecast_mixer;

  TinyTimeMixer() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit TinyTimeMixer(const Config& c) : config(c) {
    require<ArgumentError>(c.series > 0 && c.horizon > 0 && c.patch > 0 && c.stride > 0 && c.resolutions >= 0, name,
                           ": series = ", c.series, ", horizon = ", c.horizon, ", patch = ", c.patch,
                           " and stride = ", c.stride, " must be positive, and resolutions = ", c.resolutions,
                           " not negative.");
    require<ArgumentError>(c.context > c.patch, name, ": context = ", c.context, " must be longer than patch = ", c.patch, ".");
    require<ArgumentError>(c.filter >= 0 && c.filter <= c.horizon, name, ": filter = ", c.filter,
                           ", expected 0 … horizon = ", c.horizon, ".");
    require<ArgumentError>(c.head_dropout >= 0 && c.head_dropout < 1, name, ": head_dropout = ", c.head_dropout,
                           ", expected 0 ≤ head_dropout < 1.");
    expect_series("predicted", c.predicted);
    expect_series("known", c.known);
    chosen = c.sorted_predicted();
    require<ArgumentError>(!chosen.empty() || (c.known.empty() && !c.forecast_mixing.enabled), name, ": all ", c.series,
                           " series are known in the future, so that none is left to be forecast.");
    backbone = SeriesBackbone<T>(c);
    if (c.has_decoder) {
      decoder.emplace(c);
    }
    head = Linear<T>(c.tokens() * c.width(), c.horizon);
    if (c.forecast_mixing.enabled) {
      forecast_mixer.emplace(c);
    }
  }
  /// With the parameters that a training starts from.
  TinyTimeMixer(const Config& c, Random& random) : TinyTimeMixer(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const Config& c) {
    return SeriesBackbone<T>::value_count(c) + (c.has_decoder ? SeriesDecoder<T>::value_count(c) : Count(0)) +
           Linear<T>::value_count(Count(c.tokens()) * c.width(), c.horizon) +
           (c.forecast_mixing.enabled ? ForecastMixer<T>::value_count(c) : Count(0));
  }

  static constexpr auto fields() {
    using M = TinyTimeMixer;
    return std::tuple(field("backbone", &M::backbone), field("decoder", &M::decoder), field("head", &M::head),
                      field("forecast_mixer", &M::forecast_mixer));
  }

  /// PyTorch's start of each part.
  void initialize(Random& random) {
    backbone.initialize(random);
    if (decoder) {
      decoder->initialize(random);
    }
    detail::fill_as_pytorch(head.weight, head.bias, head.in(), random);
    if (forecast_mixer) {
      forecast_mixer->initialize(random);
    }
  }

  /// Columns of the input: the numbers of a series.
  Index in() const { return config.context; }
  /// Columns of the output.
  Index out() const { return config.given(); }
  /// Rows of the output for `series` series.
  Index output_rows(Index series) const {
    const Index items = (series + config.series - 1) / config.series;
    return chosen.empty() ? series : items * static_cast<Index>(chosen.size());
  }

  /// The forecasts of all series at once. `items` splits the rows of x into items.
  void forward(ConstView<T> x, const Sequences& items, View<T> y, Workspace<T>& workspace,
               const Options<Batch<T>>& options = {}) const {
    constexpr Where where(name, "forward");
    expect_input(where, x, items, Mask());
    expect_shape<T>(where, "y", y, output_rows(x.rows()), out());
    expect_apart<T>(where, x, y);
    const auto frame = workspace.frame();
    Batch<T> run(workspace, items);
    run(*this, input_rows<T>(x), options, Rows<T>(y));
  }
  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& items, Workspace<T>& workspace,
                    const Options<Batch<T>>& options = {}) const {
    Matrix<T> y(output_rows(x.rows()), out());
    forward(x, items, y, workspace, options);
    return y;
  }

  /// The last numbers of longer series, as many as the model sees.
  /// Errors: ShapeError for series that are too short.
  ConstView<T> last_context(const ConstView<T>& x) const {
    require<ShapeError>(x.cols() >= config.context, name, "::last_context: the series have ", x.cols(),
                        " numbers, which is shorter than context = ", config.context,
                        ". Give more of the past, or take a model with a shorter context.");
    return x.rightCols(config.context);
  }

  /// Raises ShapeError unless forward() takes x with these items.
  void expect_input(Where where, const ConstView<T>& x, const Sequences& items, Mask) const {
    require<ShapeError>(x.cols() == config.context, where, ": the series have ", x.cols(),
                        " numbers, expected context = ", config.context,
                        x.cols() < config.context ? ". Give more of the past, or take a model with a shorter context."
                                                  : ". last_context() takes the last of longer series.");
    items.expect_total(where, x.rows());
    for (Index b = 0; config.fixes_series() && b < items.count(); ++b) {
      require<ShapeError>(items.length(b) == config.series, where, ": item ", b, " has ", items.length(b),
                          " series, but the model mixes or chooses among series = ", config.series, ".");
    }
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Options<Run>& options, const PlaceOf<Run>& to) const {
    expect_options(run, x, options);
    const auto scaled = scale_series(run, x, config.scaling, options.observed);
    const Index n = config.patches();
    const auto patches = cut_windows(run, scaled.x,
                                     {.first = config.context - config.patch - config.stride * (n - 1),
                                      .length = config.patch,
                                      .stride = config.stride,
                                      .count = n});
    auto h = run(backbone, patches, {.resolution = options.resolution});
    if (decoder) {
      h = run(*decoder, h, {.patches = patches});
    }
    const auto seen = run.dropout(reread(run, h, config.tokens() * config.width()), config.head_dropout);
    auto y = run(head, seen);
    auto location = scaled.location, scale = scaled.scale;
    if (!chosen.empty()) {
      y = choose_series(run, y, config.series, chosen, out());
      location = choose_series(run, location, config.series, chosen, 1);
      scale = choose_series(run, scale, config.series, chosen, 1);
    } else if (out() != config.horizon) {
      y = choose_series(run, y, 1, each, out());
    }
    if (forecast_mixer) {
      y = run(*forecast_mixer, y, {.x = x, .future = options.future});
    }
    return unscale_series(run, y, location, scale, to);
  }

 private:
  static constexpr Index each[]{0};  // of items of one series

  void expect_series(const char* what, const std::vector<Index>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      require<ArgumentError>(list[i] >= 0 && list[i] < config.series, name, ": ", what, "[", i, "] = ", list[i],
                             ", expected 0 … ", config.series - 1, ".");
      require<ArgumentError>(std::count(list.begin(), list.end(), list[i]) == 1, name, ": ", what, " lists series ", list[i],
                             " twice.");
    }
  }

  template <class Run>
  void expect_options(Run& run, const RowsOf<Run>& x, const Options<Run>& options) const {
    const Index rows = run.count(x), items = run.sequences().count();
    require<ShapeError>(options.observed.empty() || static_cast<Index>(options.observed.size()) == rows * config.context, name,
                        ": the mask has ", options.observed.size(), " entries, expected ", rows,
                        " × context = ", rows * config.context, ", one for each number of x.");
    const auto tokens = static_cast<Index>(options.resolution.size());
    if (config.resolutions > 0) {
      require<ShapeError>(tokens == items, name, ": ", tokens, " frequency tokens, expected ", items,
                          ", one for each item, because the model was trained with them.");
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
                             ": the model mixes in series that are known in the future. Give their future.");
      require<ShapeError>(run.count(options.future) == rows && run.width(options.future) >= out(), name, ": the future is ",
                          run.count(options.future), " × ", run.width(options.future), ", expected ", rows, " × ", out(),
                          " or more columns, its rows those of x.");
    }
  }
};

}  // namespace gated
