#include "gated/models/tiny_time_mixer.hpp"

#include <limits>

#include "gated/train/regression_loss.hpp"
#include "tests/layers/literal.hpp"
#include "tests/promises.hpp"

namespace gated::tiny_time_mixer_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::same_bits;

using Model = TinyTimeMixer<double>;

/// A model with two levels, a narrower decoder, and overlapping patches that do not cover the whole series.
TinyTimeMixerConfig small() {
  return {.series = 3,
          .context = 21,
          .patch = 6,
          .stride = 4,
          .horizon = 5,
          .backbone = {.channels = 12, .depth = 1, .levels = 2},
          .decoder = {.channels = 6, .depth = 1},
          .dropout = 0.1,
          .head_dropout = 0.1};
}

/// small() with a decoder that mixes series, an exogenous mixer, and further options.
TinyTimeMixerConfig mixing() {
  TinyTimeMixerConfig c = small();
  c.decoder.mixes_series = true;
  c.raw_residual = true;
  c.position = PatchPosition::learned;
  c.filter = 4;
  c.predicted = {2, 0};
  c.forecast_mixing = {.enabled = true, .context = 2, .depth = 1, .past_offset = 1};
  return c;
}

template <class M>
M random_model(const typename M::Config& config) {
  M model(config);
  test::randomize(model, 5);
  return model;
}

TEST(TinyTimeMixer, KeepsItsPromises) {
  test::expect_promises<TinyTimeMixer>(small(), {.lengths = {7, 0, 3}, .tolerance = 1e-5});
  test::expect_promises<TinyTimeMixer>(mixing(), {.lengths = {3, 3}, .tolerance = 1e-5});
}

TEST(TinyTimeMixer, KeepsItsPromisesWithoutDecoderAndScaling) {
  TinyTimeMixerConfig c = small();
  c.has_decoder = false;
  c.scaling = SeriesScaling::none;
  c.position = PatchPosition::sinusoid;
  c.backbone.mixes_series = true;
  c.gated = false;
  test::expect_promises<TinyTimeMixer>(c, {.lengths = {3, 3}, .tolerance = 1e-5});
  c = small();
  c.scaling = SeriesScaling::mean;
  c.horizon = c.context;  // y may be x
  test::expect_promises<TinyTimeMixer>(c, {.lengths = {7, 0, 3}, .tolerance = 1e-5});
}

TEST(TinyTimeMixer, HasThePublishedParameterCounts) {
  const auto expect = [](const TinyTimeMixerConfig& config, Index expected) {
    EXPECT_EQ(parameter_count(TinyTimeMixer<float>(config)), expected);
  };
  expect(ttm_512_96(), 805'280);
  expect(ttm_1024_96_r1(), 946'336);
  expect(ttm_1024_96_r2(), 2'964'960);
  expect(ttm_1536_96_r2(), 3'081'120);
  expect(ttm_512_96_ft_r2(), 854'972);
  expect(ttm_1024_96_ft_r2(), 3'126'076);
  expect(ttm_1536_96_ft_r2(), 3'243'996);
  TinyTimeMixerConfig mixed = ttm_512_96();
  mixed.series = 14;
  mixed.decoder.mixes_series = true;
  expect(mixed, 807'864);
  mixed.known = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  mixed.forecast_mixing = {.enabled = true, .context = 1, .depth = 2};
  expect(mixed, 817'811);
}

TEST(TinyTimeMixer, Has289696ParametersOutsideTheBackbone) {
  const TinyTimeMixer<float> model(ttm_512_96());
  Index rest = 0;
  for_each_parameter([&](const ParameterInfo& info,
                         auto values) { rest += info.path().starts_with("backbone.") ? 0 : static_cast<Index>(values.size()); },
                     model);
  EXPECT_EQ(rest, 289'696);
}

TEST(TinyTimeMixer, ForecastsEachSeriesIndependently) {
  const auto model = random_model<Model>(small());
  const auto x = random_matrix<double>(12, 21, 1);
  Workspace<double> workspace;
  const Matrix<double> y = model.forward(x, Sequences::single(12), workspace);
  EXPECT_TRUE(same_bits(model.forward(x, Sequences::uniform(4, 3), workspace), y)) << "for any grouping into items";
  EXPECT_TRUE(same_bits(model.forward(x), y)) << "in a temporary workspace";
  for (Index i = 0; i < 12; ++i) {
    EXPECT_TRUE(same_bits(model.forward(x.row(i), Sequences::single(1), workspace), y.row(i))) << i;
  }
}

TEST(TinyTimeMixer, ForecastsInTheUnitsOfTheSeries) {
  const auto model = random_model<Model>(small());
  const auto x = random_matrix<double>(3, 21, 1);
  Workspace<double> workspace;
  const Matrix<double> y = model.forward(x, Sequences::single(3), workspace);
  const Matrix<double> larger = (x.array() * 1000 + 5e4).matrix();
  const Matrix<double> expected = (y.array() * 1000 + 5e4).matrix();
  EXPECT_TRUE(near(model.forward(larger, Sequences::single(3), workspace), expected, 1e-5)) << "up to ε";
}

TEST(TinyTimeMixer, UsesTheMaskForScalingOnly) {
  const auto model = random_model<Model>(small());
  auto x = random_matrix<double>(2, 21, 1);
  Workspace<double> workspace;
  const std::vector<std::uint8_t> all(42, 1);
  std::vector<std::uint8_t> some = all;
  some[5] = some[30] = 0;
  const auto forecast = [&](const std::vector<std::uint8_t>& observed) {
    return model.forward(x, Sequences::single(2), workspace, {.observed = observed});
  };
  EXPECT_TRUE(same_bits(forecast(all), model.forward(x, Sequences::single(2), workspace)));
  EXPECT_FALSE(same_bits(forecast(some), forecast(all)));
  const Matrix<double> before = forecast(some);
  x(0, 5) += 1;
  EXPECT_FALSE(same_bits(forecast(some).row(0), before.row(0))) << "masked elements are still read";
}

/// Records on `tape` the forecasts of two items of three series each.
Variable record_with(Tape<double>& tape, const Model& model, Variable x, const Model::Options<Recording<double>>& options) {
  Recording<double> run(tape, Sequences::uniform(2, 3));
  return run(model, x, options);
}

/// Forecasts, and the gradients of a loss with respect to x and the parameters.
struct Learnt {
  Matrix<double> y, dx;
  Model gradient;
};
Learnt learn(const Model& model, const Matrix<double>& x, const std::vector<std::uint8_t>& observed) {
  Learnt out{{}, {}, zeros_like(model)};
  Tape<double> tape;
  tape.begin(model, out.gradient);
  const Variable input = tape.input(x);
  const Variable y = record_with(tape, model, input, {.observed = observed});
  out.y = tape[y];
  const Matrix<double> target = Matrix<double>::Zero(out.y.rows(), out.y.cols());
  tape.backward(regression_loss<double>(tape, y, target));
  out.dx = tape.gradient(input);
  return out;
}

TEST(TinyTimeMixer, TreatsNaNAsAGap) {
  for (const SeriesScaling scaling : {SeriesScaling::standard, SeriesScaling::mean, SeriesScaling::none}) {
    TinyTimeMixerConfig c = mixing();
    c.scaling = scaling;
    const auto model = random_model<Model>(c);
    Matrix<double> zeros = random_matrix<double>(6, 21, 1);
    std::vector<std::uint8_t> observed(126, 1);
    for (const std::size_t gap : {0u, 19u, 20u, 30u, 62u, 125u}) {  // gaps at the end of a series also reach the forecast mixer
      observed[gap] = 0;
      zeros.data()[gap] = 0;
    }
    std::fill_n(observed.begin() + 63, 21, std::uint8_t{0});  // a whole series
    zeros.row(3).setZero();
    Matrix<double> gaps = zeros;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      gaps.data()[i] = observed[i] != 0 ? gaps.data()[i] : std::numeric_limits<double>::quiet_NaN();
    }
    const Learnt expected = learn(model, zeros, observed);
    ASSERT_TRUE(expected.y.allFinite());
    for (const auto& mask : {observed, std::vector<std::uint8_t>()}) {
      const Learnt got = learn(model, gaps, mask);
      EXPECT_TRUE(same_bits(got.y, expected.y));
      for_each_parameter([](const ParameterInfo& info, auto a,
                            auto b) { EXPECT_TRUE(std::ranges::equal(std::as_bytes(a), std::as_bytes(b))) << info.path(); },
                         got.gradient, expected.gradient);
      for (std::size_t i = 0; i < observed.size(); ++i) {
        EXPECT_EQ(got.dx.data()[i], observed[i] != 0 ? expected.dx.data()[i] : 0) << i;
      }
    }
  }
}

TinyTimeMixerConfig with_resolution() {
  TinyTimeMixerConfig c = small();
  c.resolutions = 4;
  c.raw_residual = true;
  c.position = PatchPosition::sinusoid;
  return c;
}

TEST(TinyTimeMixer, DependsOnTheFrequencyTokenOfEachItem) {
  const auto model = random_model<Model>(with_resolution());
  const auto x = random_matrix<double>(5, 21, 1);
  const auto items = Sequences::of_lengths({2, 3});
  Workspace<double> workspace;
  const auto forecast = [&](std::vector<Index> tokens) { return model.forward(x, items, workspace, {.resolution = tokens}); };
  const Matrix<double> y = forecast({1, 3}), other = forecast({1, 0});
  EXPECT_TRUE(same_bits(other.topRows(2), y.topRows(2)));
  EXPECT_FALSE(same_bits(other.row(2), y.row(2)));
  EXPECT_EQ(message_of<ArgumentError>([&] {
              forecast({1, 4});
            }),
            "TinyTimeMixer: the frequency token of item 1 is 4, expected 0 … 3.");
  EXPECT_EQ(message_of<ShapeError>([&] { forecast({}); }),
            "TinyTimeMixer: 0 frequency tokens, expected 2, one per item: the model was trained with them.");
}

TEST(TinyTimeMixer, GradientsAreCorrectWithAllOptionalInputs) {
  TinyTimeMixerConfig c = with_resolution();
  c.scaling = SeriesScaling::mean;
  c.known = {1};
  c.forecast_mixing = {.enabled = true, .depth = 1};
  const auto x = random_matrix<double>(6, 21, 1), future = random_matrix<double>(6, 7, 2);
  const std::vector<Index> tokens{1, 3};
  std::vector<std::uint8_t> observed(126, 1);
  std::fill_n(observed.begin(), 30, std::uint8_t{0});
  test::expect_gradients(
      random_model<Model>(c), x,
      [&](Tape<double>& tape, const Model& model, Variable input) {
        return record_with(tape, model, input, {.observed = observed, .resolution = tokens, .future = tape.constant(future)});
      },
      1e-5);
}

TEST(TinyTimeMixer, AllocatesNothingWhenWarm) {
  TinyTimeMixerConfig c = with_resolution();
  c.known = {1};
  c.forecast_mixing = {.enabled = true, .depth = 1};
  const auto model = random_model<TinyTimeMixer<float>>(c);
  const auto x = random_matrix<float>(6, 21, 1), future = random_matrix<float>(6, 5, 2);
  const std::vector<Index> tokens{1, 3};
  const std::vector<std::uint8_t> observed(126, 1);
  Matrix<float> y(4, 5);
  for (const int threads : {1, 2}) {
    Workspace<float> workspace(Threads{threads});
    const auto run = [&] {
      model.forward(x, Sequences::uniform(2, 3), y, workspace,
                    {.observed = observed, .resolution = tokens, .future = RunMatrix<float>(input_view<float>(future))});
    };
    run();
    EXPECT_EQ(test::allocations_during(run), 0) << threads << " threads";
  }
}

TEST(TinyTimeMixer, ForecastsDependOnTheKnownFuture) {
  TinyTimeMixerConfig c = small();
  c.known = {1};
  c.forecast_mixing = {.enabled = true};
  const auto model = random_model<Model>(c);
  const auto x = random_matrix<double>(6, 21, 1), future = random_matrix<double>(6, 5, 2);
  Workspace<double> workspace;
  const auto forecast = [&](const Matrix<double>& known) {
    return model.forward(x, Sequences::uniform(2, 3), workspace, {.future = RunMatrix<double>(input_view<double>(known))});
  };
  const Matrix<double> y = forecast(future);
  EXPECT_EQ(y.rows(), 4);
  Matrix<double> other = future;
  other.row(0).setConstant(9);  // a forecast series, whose future is not read
  EXPECT_TRUE(same_bits(forecast(other), y));
  other(4, 3) += 1;  // the known series of the second item
  EXPECT_TRUE(same_bits(forecast(other).topRows(2), y.topRows(2)));
  EXPECT_FALSE(same_bits(forecast(other).bottomRows(2), y.bottomRows(2)));
  EXPECT_TRUE(same_bits(Matrix<double>(forecast(other).col(1)), Matrix<double>(y.col(1)))) << "two steps away";
  EXPECT_EQ(message_of<ArgumentError>([&] { model.forward(x, Sequences::uniform(2, 3), workspace); }),
            "TinyTimeMixer: the model needs the future of its known series. Pass Options::future.");
  EXPECT_EQ(message_of<ShapeError>([&] { forecast(Matrix<double>(future.leftCols(4))); }),
            "TinyTimeMixer: the future is 6 × 4, expected 6 × 5 or more columns, one row per row of x.");
}

TEST(TinyTimeMixer, SelectsSeriesInAscendingOrder) {
  TinyTimeMixerConfig c = small();
  const auto all = random_model<Model>(c);
  c.predicted = {2, 0};
  c.filter = 3;
  const auto some = random_model<Model>(c);
  const auto x = random_matrix<double>(6, 21, 1);
  Workspace<double> workspace;
  const Matrix<double> y = all.forward(x, Sequences::uniform(2, 3), workspace);
  const Matrix<double> chosen = some.forward(x, Sequences::uniform(2, 3), workspace);
  Matrix<double> expected(4, 3);
  expected << y.row(0).head(3), y.row(2).head(3), y.row(3).head(3), y.row(5).head(3);
  EXPECT_TRUE(same_bits(chosen, expected));
  EXPECT_EQ(
      message_of<ShapeError>([&] { some.forward(x, Sequences::uniform(3, 2), workspace); }),
      "TinyTimeMixer::forward: item 0 has 2 series, expected series = 3. Pass all series of each item: the model mixes or "
      "selects them.");
}

TEST(TinyTimeMixer, UsesTheEndOfLongSeriesAndRefusesShortOnes) {
  const auto model = random_model<Model>(small());
  const auto x = random_matrix<double>(2, 30, 1);
  EXPECT_TRUE(same_bits(model.last_context(x), x.rightCols(21)));
  EXPECT_EQ(message_of<ShapeError>([&] { model.last_context(x.leftCols(20)); }),
            "TinyTimeMixer::last_context: the series have 20 values, expected at least context = 21. Pass more of the past, or "
            "use a model with a shorter context.");
  Workspace<double> workspace;
  EXPECT_EQ(message_of<ShapeError>([&] { model.forward(x.leftCols(20), Sequences::single(2), workspace); }),
            "TinyTimeMixer::forward: the series have 20 values, expected context = 21. Pass more of the past, or use a model "
            "with a shorter context.");
  const std::vector<std::uint8_t> mask(41, 1);
  EXPECT_EQ(message_of<ShapeError>([&] { model.forward(x.leftCols(21), Sequences::single(2), workspace, {.observed = mask}); }),
            "TinyTimeMixer: the mask has 41 entries, expected 2 × context = 42, one per value of x.");
}

TEST(TinyTimeMixer, RefusesInvalidConfigurations) {
  const auto message = [](const auto& change) {
    TinyTimeMixerConfig c = small();
    change(c);
    return message_of<ArgumentError>([&] { Model model(c); });
  };
  EXPECT_EQ(message([](auto& c) { c.context = 6; }), "TinyTimeMixer: context = 6 must be longer than patch = 6.");
  EXPECT_EQ(message([](auto& c) { c.backbone.channels = 0; }), "TinyTimeMixer: backbone.channels = 0 must be positive.");
  EXPECT_EQ(message([](auto& c) { c.filter = 6; }), "TinyTimeMixer: filter = 6, expected 0 … horizon = 5.");
  EXPECT_EQ(message([](auto& c) { c.predicted = {0, 3}; }), "TinyTimeMixer: predicted[1] = 3, expected 0 … 2.");
  EXPECT_EQ(message([](auto& c) { c.known = {1, 1}; }), "TinyTimeMixer: known lists series 1 twice.");
  EXPECT_EQ(message([](auto& c) { c.predicted = {2, 0, 2}; }), "TinyTimeMixer: predicted lists series 2 twice.");
  EXPECT_EQ(message([](auto& c) {
              c.known = {0, 1, 2};
            }),
            "TinyTimeMixer: all 3 series are known in the future, so none is left to forecast.");
  EXPECT_EQ(message([](auto& c) { c.backbone = {.channels = 30, .depth = 1, .levels = 3}; }),
            "SeriesTrunk: channels = 30, expected a multiple of 4 for levels = 3.");
  EXPECT_EQ(message([](auto& c) {
              c.position = PatchPosition::sinusoid;
              c.backbone = {.channels = 5, .depth = 1};
            }),
            "PatchPositionTable: 5 features, expected an even number for pairs of sine and cosine.");
}

}  // namespace
}  // namespace gated::tiny_time_mixer_test
