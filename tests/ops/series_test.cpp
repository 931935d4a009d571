#include "gated/ops/series.hpp"

#include <gtest/gtest.h>

#include "gated/ops/elementwise.hpp"
#include "gated/ops/reshape.hpp"
#include "tests/ops/op.hpp"

// Indexing ops on time series, and reshape().

namespace gated::series_test {
namespace {

using test::random_matrix;

/// A model without parameters.
struct Nothing {
  static constexpr auto fields() { return Fields(); }
};

/// Expects that f(run, x) is y in a batch and on a tape, with correct gradients, even if two calls add to that of x.
template <class F>
void expect_moved(const Sequences& items, const Matrix<double>& x, const Matrix<double>& y, const F& f) {
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, items);
  EXPECT_TRUE(test::same_bits(Matrix<double>(run[f(run, RunMatrix<double>(input_view<double>(x)))]), y));
  Tape<double> tape;
  Nothing model, gradient;
  tape.begin(model, gradient);
  Recording<double> recording(tape, items);
  EXPECT_TRUE(test::same_bits(Matrix<double>(tape[f(recording, tape.input(x))]), y));
  for (const bool twice : {false, true}) {
    test::expect_gradients(model, x, [&](Tape<double>& step, const Nothing&, Variable input) {
      Recording<double> again(step, items);
      const Variable once = f(again, input);
      return twice ? multiply(again, once, f(again, input)) : once;
    });
  }
}

TEST(Unfold, CutsEachSeriesIntoPatches) {
  const auto x = random_matrix<double>(3, 11, 1);
  Matrix<double> y(9, 4);
  for (Index r = 0; r < 3; ++r) {
    for (Index t = 0; t < 3; ++t) {
      y.row(3 * r + t) = x.row(r).segment(1 + 3 * t, 4);  // overlapping windows that start at 1, 4 and 7
    }
  }
  expect_moved(Sequences::single(3), x, y, [](auto& run, const auto& rows) {
    return unfold(run, rows, {.first = 1, .length = 4, .stride = 3, .count = 3});
  });
}

TEST(Unfold, InterleavesTheSeriesOfAGroup) {
  const auto x = random_matrix<double>(6, 5, 1);
  Matrix<double> y(18, 3);
  for (Index item = 0, row = 0; item < 3; ++item) {
    for (Index t = 0; t < 3; ++t) {
      for (Index k = 0; k < 2; ++k) {
        y.row(row++) = x.row(2 * item + k).segment(t, 3);
      }
    }
  }
  expect_moved(Sequences::uniform(3, 2), x, y,
               [](auto& run, const auto& rows) { return unfold(run, rows, {.length = 3, .count = 3, .together = 2}); });
}

TEST(Unfold, RefusesWindowsPastTheEnd) {
  const auto x = random_matrix<double>(3, 11, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(3));
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              unfold(run, RunMatrix<double>(input_view<double>(x)), {.first = 2, .length = 4, .stride = 3, .count = 3});
            }),
            "unfold: 3 windows of 4 values (first = 2, stride = 3) do not fit in x, which is 3 × 11.");
}

const std::vector<Index> chosen{2, 0}, predicted{0, 2}, known{1};

TEST(Gather, SelectsRowsOfEachItem) {
  const auto x = random_matrix<double>(6, 5, 1);
  Matrix<double> y(4, 3);
  y << x.row(2).head(3), x.row(0).head(3), x.row(5).head(3), x.row(3).head(3);
  expect_moved(Sequences::uniform(2, 3), x, y, [](auto& run, const auto& rows) { return gather(run, rows, chosen, 3, 3); });

  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(6));
  const RunMatrix<double> rows(input_view<double>(x));
  EXPECT_EQ(test::message_of<ShapeError>([&] { gather(run, rows, chosen, 3, 6); }),
            "gather: expected at least 6 columns and groups of 3 rows, but x is 6 × 5.");
  EXPECT_THROW(gather(run, rows, chosen, 4, 5), ShapeError) << "6 rows do not divide into items of 4";
}

TEST(TransposeItems, TransposesEachItem) {
  const auto x = random_matrix<double>(6, 2, 1);
  Matrix<double> y(4, 3);
  y << x.topRows(3).transpose(), x.bottomRows(3).transpose();
  expect_moved(Sequences::uniform(2, 3), x, y, [](auto& run, const auto& rows) { return transpose_items(run, rows, 3); });
}

/// `matrix` as a constant, without a gradient.
const auto fixed = [](auto& run, const Matrix<double>& matrix) {
  if constexpr (std::remove_cvref_t<decltype(run)>::records) {
    return run.tape().constant(matrix);
  } else {
    return RunMatrix<double>(input_view<double>(matrix));
  }
};

TEST(PrependToSeries, PrependsTheItemsRowToEachSeries) {
  const Sequences items = Sequences::of_lengths({2, 0, 1});
  const auto x = random_matrix<double>(6, 4, 1), first = random_matrix<double>(3, 4, 2);  // three series of two rows
  const Matrix<double> none = Matrix<double>::Zero(1, 4);
  Matrix<double> y(9, 4), with_zeros(9, 4);
  y << first.row(0), x.topRows(2), first.row(0), x.middleRows(2, 2), first.row(2), x.bottomRows(2);
  with_zeros << none, x.topRows(2), none, x.middleRows(2, 2), none, x.bottomRows(2);
  expect_moved(items, x, y, [&](auto& run, const auto& rows) { return prepend_to_series(run, fixed(run, first), rows, 2); });
  expect_moved(items, first, y, [&](auto& run, const auto& rows) { return prepend_to_series(run, rows, fixed(run, x), 2); });
  expect_moved(items, x, with_zeros, [&](auto& run, const auto& rows) { return prepend_to_series(run, {}, rows, 2); });
}

TEST(SurroundForecast, ConcatenatesPastForecastAndFuture) {
  // Each item has 3 series. The future of series 1 is known; series 0 and 2 are forecast.
  const auto x = random_matrix<double>(6, 7, 1), future = random_matrix<double>(6, 5, 2),
             forecast = random_matrix<double>(4, 4, 3);
  for (const Index past_end : {0, 7, 6}) {
    Matrix<double> y = Matrix<double>::Zero(6, 8);
    for (Index b = 0; b < 2; ++b) {
      for (Index k = 0; k < 3; ++k) {
        const Index series = 3 * b + (k == 2 ? 1 : 2 * k);
        if (past_end > 0) {
          y.row(3 * b + k).head(2) = x.row(series).segment(past_end - 2, 2);
        }
        y.row(3 * b + k).segment(2, 4) = k == 2 ? future.row(series).head(4) : forecast.row(2 * b + k).head(4);
      }
    }
    const ForecastSurroundings surroundings{
        .series = 3, .predicted = predicted, .known = known, .horizon = 4, .context = 2, .past_end = past_end};
    const Sequences items = Sequences::uniform(2, 3);
    expect_moved(items, x, y, [&](auto& run, const auto& rows) {
      return surround_forecast(run, fixed(run, forecast), rows, fixed(run, future), surroundings);
    });
    expect_moved(items, forecast, y, [&](auto& run, const auto& rows) {
      return surround_forecast(run, rows, fixed(run, x), fixed(run, future), surroundings);
    });
    expect_moved(items, future, y, [&](auto& run, const auto& rows) {
      return surround_forecast(run, fixed(run, forecast), fixed(run, x), rows, surroundings);
    });
  }
}

TEST(Reshape, KeepsTheOrderOfElements) {
  const auto x = random_matrix<double>(6, 4, 1);
  for (const Index columns : {1, 2, 3, 4, 6, 8, 12, 24}) {
    const Matrix<double> y = Eigen::Map<const Matrix<double>>(x.data(), 24 / columns, columns);
    expect_moved(Sequences::single(6), x, y, [columns](auto& run, const auto& rows) { return reshape(run, rows, columns); });
  }
}

TEST(Reshape, CopiesOnlyIfRowsAreNotContiguous) {
  const auto around = random_matrix<double>(6, 9, 1);
  const Matrix<double> x = around.block(0, 2, 6, 4);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(6));
  const ConstView<double> part = around.block(0, 2, 6, 4);
  EXPECT_TRUE(test::same_bits(Matrix<double>(run[reshape(run, RunMatrix<double>(input_view<double>(part)), 8)]),
                              Eigen::Map<const Matrix<double>>(x.data(), 3, 8)));
  EXPECT_EQ(reshape(run, RunMatrix<double>(input_view<double>(x)), 8).data, x.data()) << "contiguous rows are not copied";
  RunMatrix<double> own = run.make_contiguous(6, 4);
  const double* const place = own.data;
  const RunMatrix<double> wide = reshape(run, std::move(own), 8);
  EXPECT_EQ(wide.data, place);
  EXPECT_TRUE(wide.is_owned()) << "still owned";
  EXPECT_EQ(test::message_of<ShapeError>([&] { reshape(run, RunMatrix<double>(input_view<double>(x)), 5); }),
            "reshape: x is 6 × 4, which cannot be reshaped to 5 columns. Choose a number that divides 24.");
}

}  // namespace
}  // namespace gated::series_test
