#include "gated/layers/rotary_embedding.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "literal_attention.hpp"

namespace gated {
namespace {

using test::near;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::wide;

template <class T>
class RotaryEmbeddingOf : public ::testing::Test {
 protected:
  Workspace<T> workspace;
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RotaryEmbeddingOf, Scalars, );

TYPED_TEST(RotaryEmbeddingOf, TurnsEachPairByItsPositionInTheSequence) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({3, 0, 5});
  const auto x = random_matrix<T>(8, 7, 1);
  for (const Rotary layout : {Rotary::interleaved, Rotary::half}) {
    Matrix<double> expected = wide(x);
    for (Index b = 0; b < 3; ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        for (Index k = 0; k < 3; ++k) {
          const double angle = static_cast<double>(4 + t) * std::pow(100.0, -2.0 * static_cast<double>(k) / 6.0);
          const Index row = sequences.offset(b) + t;
          const Index first = layout == Rotary::half ? k : 2 * k, second = layout == Rotary::half ? k + 3 : 2 * k + 1;
          const auto a = static_cast<double>(x(row, first)), c = static_cast<double>(x(row, second));
          expected(row, first) = a * std::cos(angle) - c * std::sin(angle);
          expected(row, second) = c * std::cos(angle) + a * std::sin(angle);
        }
      }
    }
    const RotaryEmbedding<T> rotary(layout, 6, 100.0);
    Matrix<T> y = x, z = x;
    rotary.forward(sequences, 4, this->workspace, y, z);
    EXPECT_TRUE(near(y, expected)) << name_of(layout);
    EXPECT_TRUE(same_bits(z, y)) << name_of(layout);
  }
}

TYPED_TEST(RotaryEmbeddingOf, TurnsBackWhatItTurned) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({4, 9});
  const auto x = random_matrix<T>(13, 8, 2);
  const RotaryEmbedding<T> rotary(Rotary::half, 8, 10000.0);
  Matrix<T> y = x;
  rotary.forward(sequences, 0, this->workspace, y);
  EXPECT_FALSE(near(y, wide(x)));
  rotary.backward(sequences, this->workspace, y);
  EXPECT_TRUE(near(y, wide(x)));
}

TYPED_TEST(RotaryEmbeddingOf, LeavesAllAsItIsInTheFormNone) {
  using T = TypeParam;
  const auto x = random_matrix<T>(4, 5, 1);
  Matrix<T> y = x;
  RotaryEmbedding<T>(Rotary::none, 0, 0.0).forward(Sequences::single(4), 0, this->workspace, y);
  EXPECT_TRUE(same_bits(y, x));
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(refuses<ArgumentError>([] { RotaryEmbedding<float>(Rotary::half, 5, 10000.0); },
                                     "5 dimensions, expected a positive even number"));
  EXPECT_TRUE(refuses<ArgumentError>([] { RotaryEmbedding<float>(Rotary::half, 4, 0.0); }, "base = 0"));
  const RotaryEmbedding<float> rotary(Rotary::half, 4, 10000.0);
  Workspace<float> workspace;
  const Matrix<float> before = random_matrix<float>(6, 4, 1);
  Matrix<float> x = before, narrow = random_matrix<float>(6, 3, 1);
  EXPECT_TRUE(refuses<ShapeError>([&] { rotary.forward(Sequences::single(7), 0, workspace, x); },
                                  "x has 6 rows, but the sequences cover 1 sequence × 7 tokens"));
  EXPECT_TRUE(refuses<ShapeError>([&] { rotary.forward(Sequences::single(6), 0, workspace, x, narrow); },
                                  "x has 3 columns, expected at least the 4 that are rotated"));
  EXPECT_TRUE(same_bits(x, before)) << "nothing is turned where a part does not fit";
}

}  // namespace
}  // namespace gated
