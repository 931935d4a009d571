#include "gated/ops/rotary.hpp"

#include <gtest/gtest.h>

#include "gated/core/settings.hpp"
#include "gated/ops/series.hpp"
#include "tests/ops/op.hpp"

namespace gated::rotary_test {
namespace {

using test::close;
using test::exact_turn;
using test::message_of;
using test::random_matrix;
using test::same_bits;

template <class T>
class RotaryOf : public ::testing::Test {
 protected:
  static constexpr long double tolerance = sizeof(T) == 4 ? 2e-6L : 1e-12L;

  static Matrix<T> rotated(Matrix<T> x, Index first, Index r, Rotary layout, double base = 10000.0) {
    const Vector<T> frequencies = rotary_frequencies<T>(r, base);
    Matrix<T> table(x.rows(), r);
    rotary_table<T>(frequencies, first, table);
    rotate<T>(x, table, layout);
    return x;
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RotaryOf, Scalars, );

TYPED_TEST(RotaryOf, FrequenciesFallGeometricallyFromOne) {
  const Vector<TypeParam> frequencies = rotary_frequencies<TypeParam>(8);
  ASSERT_EQ(frequencies.size(), 4);
  for (Index k = 0; k < 4; ++k) {
    EXPECT_TRUE(close(frequencies[k], std::pow(10.0L, -static_cast<long double>(k)), 1e-7L)) << k;
  }
  EXPECT_TRUE(close(rotary_frequencies<TypeParam>(4, 100.0)[1], 0.1L, 1e-8L));
}

TYPED_TEST(RotaryOf, RotatesPairsByPositionTimesFrequency) {
  using T = TypeParam;
  const auto x = random_matrix<T>(9, 11, 1);
  for (const Rotary layout : {Rotary::interleaved, Rotary::half}) {
    for (const Index r : {2, 6, 10}) {
      for (const Index first : {0, 5}) {
        const Matrix<T> y = this->rotated(x, first, r, layout, 50.0);
        for (Index t = 0; t < 9; ++t) {
          for (Index k = 0; k < r / 2; ++k) {
            const long double angle = static_cast<long double>(first + t) *
                                      std::pow(50.0L, -2.0L * static_cast<long double>(k) / static_cast<long double>(r));
            const Index one = layout == Rotary::half ? k : 2 * k, other = layout == Rotary::half ? k + r / 2 : 2 * k + 1;
            const long double a = x(t, one), b = x(t, other);
            EXPECT_TRUE(close(y(t, one), a * std::cos(angle) - b * std::sin(angle), this->tolerance));
            EXPECT_TRUE(close(y(t, other), b * std::cos(angle) + a * std::sin(angle), this->tolerance));
          }
        }
        EXPECT_TRUE(same_bits(Matrix<T>(y.rightCols(11 - r)), Matrix<T>(x.rightCols(11 - r))))
            << "other channels pass unchanged";
      }
    }
  }
}

TYPED_TEST(RotaryOf, DoesNotRotateTheFirstPosition) {
  const auto x = random_matrix<TypeParam>(1, 6, 1);
  EXPECT_TRUE(same_bits(this->rotated(x, 0, 6, Rotary::half), x));
  EXPECT_TRUE(same_bits(this->rotated(x, 0, 6, Rotary::interleaved), x));
}

TYPED_TEST(RotaryOf, PreservesNormsAndEncodesRelativePositions) {
  using T = TypeParam;
  const auto q = random_matrix<T>(1, 8, 1), k = random_matrix<T>(1, 8, 2);
  for (const Rotary layout : {Rotary::interleaved, Rotary::half}) {
    const auto product = [&](Index i, Index j) {
      return this->rotated(q, i, 8, layout).row(0).dot(this->rotated(k, j, 8, layout).row(0));
    };
    EXPECT_TRUE(close(product(7, 3), product(104, 100), 10 * this->tolerance));
    EXPECT_TRUE(close(product(1003, 1003), q.row(0).dot(k.row(0)), 10 * this->tolerance));
    EXPECT_TRUE(close(this->rotated(q, 1234, 8, layout).norm(), q.norm(), 10 * this->tolerance));
  }
}

TYPED_TEST(RotaryOf, IsAccurateAtAnyPosition) {
  using T = TypeParam;
  const Vector<T> frequencies = rotary_frequencies<T>(4);
  Matrix<T> table(1, 4);
  for (const Index position : {1000000, 123456789}) {
    rotary_table<T>(frequencies, position, table);
    for (Index k = 0; k < 2; ++k) {
      const double angle = static_cast<double>(position) * static_cast<double>(frequencies[k]);
      EXPECT_TRUE(close(table(0, k), std::cos(angle), 1e-7L));
      EXPECT_TRUE(close(table(0, 2 + k), std::sin(angle), 1e-7L));
    }
  }
}

TYPED_TEST(RotaryOf, ChangesNothingOutsideItsBlock) {
  using T = TypeParam;
  Matrix<T> whole = random_matrix<T>(6, 12, 1);
  const Matrix<T> before = whole, expected = this->rotated(whole.block(1, 2, 4, 7), 3, 6, Rotary::half);
  Matrix<T> table(4, 6);
  rotary_table<T>(rotary_frequencies<T>(6), 3, table);
  rotate<T>(whole.block(1, 2, 4, 7), table, Rotary::half);
  EXPECT_TRUE(same_bits(Matrix<T>(whole.block(1, 2, 4, 7)), expected));
  whole.block(1, 2, 4, 7) = before.block(1, 2, 4, 7);
  EXPECT_TRUE(same_bits(whole, before));
}

/// Rotary frequencies as constant parameters.
template <class T>
struct Frequencies {
  using Scalar = T;
  Vector<T> values;
  explicit Frequencies(Index dimensions) : values(rotary_frequencies<T>(dimensions, 50)) {}
  static constexpr auto fields() { return Fields(field("values", &Frequencies::values, Role::constant)); }
};

TEST(Rotary, CountsPositionsPerSequenceInEveryRun) {
  for (const Rotary layout : {Rotary::none, Rotary::interleaved, Rotary::half}) {
    for (const Index dimensions : {2, 6}) {
      const auto rotated_parts = [layout](auto& run, const auto& p, auto x) {
        auto z = multiply(run, x, x);  // an unshared copy, to be rotated in place
        auto [left, right] = run.split(std::move(z), Index{6}, Index{7});
        const auto parts = rotate(run, layout, p.values, std::array{std::move(left), std::move(right)});
        const auto y = run.make(run.rows(x), 13);
        for (const auto& [part, column] : {std::pair(parts[0], Index{0}), std::pair(parts[1], Index{6})}) {
          const Index rows = run.rows(x), columns = run.columns(part);
          detail::move_numbers(run, part, y, [rows, columns, at = column](const auto& visit) {
            for (Index i = 0; i < rows; ++i) {
              visit(i, 0, i, at, columns);
            }
          });
        }
        return y;
      };
      SCOPED_TRACE(testing::Message() << name_of(layout) << ", " << dimensions);
      test::expect_op<Frequencies>(dimensions, rotated_parts, {.in = 13, .out = 13});
      const Frequencies<double> frequencies(dimensions);
      const auto x = random_matrix<double>(9, 13, 1);
      Matrix<double> expected = x.cwiseProduct(x), table(9, dimensions);
      rotary_table<double>(frequencies.values, 0, table);
      for (const Index b : {0, 4}) {  // sequences of 4 and 5 tokens
        for (const Index column : {0, 6}) {
          if (layout != Rotary::none) {
            rotate<double>(expected.block(b, column, 4 + b / 4, 6 + column / 6), table.topRows(4 + b / 4), layout);
          }
        }
      }
      Workspace<double> workspace;
      const test::Op layer(frequencies, rotated_parts, 13, 13);
      EXPECT_TRUE(same_bits(layer.forward(x, Sequences::of_lengths({4, 5}), workspace), expected));
    }
  }
}

TEST(Rotary, CountsPositionsAcrossBlocksOfRows) {
  const auto rotated_heads = [](auto& run, const auto& p, auto x) {
    return rotate_heads(run, Rotary::half, p.values, 4, std::array{std::move(x)})[0];
  };
  const Frequencies<float> frequencies(4);
  const Sequences sequences = Sequences::of_lengths({70, 0, 1, 33, 150, 2});
  const auto x = random_matrix<float>(sequences.total(), 8, 1);
  Matrix<float> expected = x, table(150, 4);
  rotary_table<float>(frequencies.values, 0, table);
  for (Index b = 0; b < sequences.count(); ++b) {
    for (const Index head : {0, 4}) {
      rotate<float>(expected.block(sequences.offset(b), head, sequences.length(b), 4), table.topRows(sequences.length(b)),
                    Rotary::half);
    }
  }
  const test::Op layer(frequencies, rotated_heads, 8, 8);
  for (const int threads : {1, 2, 3}) {
    Workspace<float> workspace{Threads{threads}};
    EXPECT_TRUE(same_bits(layer.forward(x, sequences, workspace), expected)) << threads;
  }
}

TEST(Rotary, RotatesMovedInputsInPlace) {
  const auto x = random_matrix<double>(9, 6, 1), before = x;
  const Vector<double> frequencies = rotary_frequencies<double>(4, 50);
  Matrix<double> expected = x, table(9, 4);
  rotary_table<double>(frequencies, 0, table);
  rotate<double>(expected, table, Rotary::half);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(9));
  RunMatrix<double> callers(input_view<double>(x)), kept = run.owned(callers), own = run.owned(callers);
  const double* const place = own.data;
  const auto [first, second, third] =
      rotate(run, Rotary::half, frequencies, std::array{std::move(callers), kept, std::move(own)});
  for (const auto& part : {first, second, third}) {
    EXPECT_TRUE(same_bits(run[part], expected));
  }
  EXPECT_TRUE(same_bits(x, before)) << "the caller's x must not change";
  EXPECT_TRUE(same_bits(run[kept], before)) << "not moved";
  EXPECT_EQ(third.data, place);
  const auto same = rotate(run, Rotary::half, frequencies, std::array{kept, kept});
  EXPECT_TRUE(same_bits(run[same[0]], expected) && same_bits(run[same[1]], expected)) << "the same matrix was passed twice";
}

TEST(Rotary, RefusesMismatchedRowsAndTooFewChannels) {
  Matrix<double> x = random_matrix<double>(9, 3, 1);
  const Matrix<double> before = x;
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(8));
  const RunMatrix<double> given{MatrixView<double>(x)};
  EXPECT_EQ(
      message_of<ShapeError>([&] { rotate(run, Rotary::half, rotary_frequencies<double>(2), std::array{given}); }),
      "RotaryEmbedding: x has 9 rows, but the sequences cover 1 sequence × 8 tokens. Every row must belong to exactly one "
      "sequence.");
  EXPECT_EQ(message_of<ShapeError>(
                [&] { rotate(run, Rotary::half, rotary_frequencies<double>(4), std::array{given.sharing(given.rows(0, 8))}); }),
            "RotaryEmbedding: x has 3 columns, expected at least the 4 that are rotated.");
  EXPECT_TRUE(same_bits(x, before));
}

TEST(Rotary, RefusesAnOddOrEmptyNumberOfDimensions) {
  EXPECT_EQ(message_of<ArgumentError>([] { rotary_frequencies<float>(5); }),
            "rotary_frequencies: dimensions = 5, expected a positive even number: channels are rotated in pairs.");
  EXPECT_THROW(rotary_frequencies<float>(0), ArgumentError);
  EXPECT_THROW(rotary_frequencies<float>(-2), ArgumentError);
}

TEST(Angles, DoNotDependOnTheFirstPosition) {
  const Vector<double> frequencies = rotary_frequencies<double>(22);
  for (const Index first : {0, 63, 64, 1000000}) {
    for_each_angle(frequencies, first, 150, [&](Index t, Index k, double cosine, double sine) {
      const Index position = first + t, within = position % 64;
      const std::complex<long double> exact = exact_turn(static_cast<double>(position - within) * frequencies[k]) *
                                              exact_turn(static_cast<double>(within) * frequencies[k]);
      EXPECT_NEAR(cosine, static_cast<double>(exact.real()), 4e-16);
      EXPECT_NEAR(sine, static_cast<double>(exact.imag()), 4e-16);
      for_each_angle(frequencies, position, 1, [&](Index, Index alone, double its_cosine, double its_sine) {
        if (alone == k) {
          EXPECT_TRUE(its_cosine == cosine && its_sine == sine);
        }
      });
    });
  }
}

}  // namespace
}  // namespace gated::rotary_test
