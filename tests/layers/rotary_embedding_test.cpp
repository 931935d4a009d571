#include "gated/layers/rotary_embedding.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::rotary_embedding_test {
namespace {

using test::near;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::wide;

template <class T>
class RotaryEmbeddingOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RotaryEmbeddingOf, Scalars, );

/// Two projections, both turned.
template <class T>
struct Turning : SequenceLayer<Turning<T>, T> {
  using Scalar = T;
  static constexpr const char* name = "Turning";

  Linear<T> q, k;
  RotaryEmbedding<T> rotary;

  explicit Turning(Rotary layout) : q(7, 7), k(7, 7), rotary(layout, layout == Rotary::none ? 0 : 6, 100.0) {}
  static constexpr auto fields() {
    return std::tuple{field("q", &Turning::q), field("k", &Turning::k), field("rotary", &Turning::rotary)};
  }
  Index in() const { return 7; }
  Index out() const { return 7; }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const auto a = run(q, x), b = run(k, x);
    rotary.rotate(run, a, b);
    return multiply(run, a, b, to);
  }
};

TEST(RotaryEmbedding, KeepsItsPromisesInALayer) {
  for (const Rotary layout : {Rotary::none, Rotary::interleaved, Rotary::half}) {
    SCOPED_TRACE(name_of(layout));
    test::expect_promises([&](auto zero) { return Turning<decltype(zero)>(layout); }, {.causal = true});
  }
}

/// x and z in place, from position 0 of each sequence on.
template <class T, class... Parts>
void turn(const RotaryEmbedding<T>& rotary, const Sequences& sequences, Parts&... parts) {
  Workspace<T> workspace;
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences);
  rotary.rotate(run, Rows<T>(parts)...);
}

TYPED_TEST(RotaryEmbeddingOf, TurnsEachPairByItsPositionInTheSequence) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({3, 0, 5});
  const auto x = random_matrix<T>(8, 7, 1);
  for (const Rotary layout : {Rotary::interleaved, Rotary::half}) {
    Matrix<double> expected = wide(x);
    for (Index b = 0; b < 3; ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        for (Index k = 0; k < 3; ++k) {
          const double angle = static_cast<double>(t) * std::pow(100.0, -2.0 * static_cast<double>(k) / 6.0);
          const Index row = sequences.offset(b) + t;
          const Index first = layout == Rotary::half ? k : 2 * k, second = layout == Rotary::half ? k + 3 : 2 * k + 1;
          const auto a = static_cast<double>(x(row, first)), c = static_cast<double>(x(row, second));
          expected(row, first) = a * std::cos(angle) - c * std::sin(angle);
          expected(row, second) = c * std::cos(angle) + a * std::sin(angle);
        }
      }
    }
    Matrix<T> y = x, z = x;
    turn(RotaryEmbedding<T>(layout, 6, 100.0), sequences, y, z);
    EXPECT_TRUE(near(y, expected)) << name_of(layout);
    EXPECT_TRUE(same_bits(z, y)) << name_of(layout);
  }
}

TYPED_TEST(RotaryEmbeddingOf, TurnsGradientsBack) {
  using T = TypeParam;
  Linear<T> identity(8, 8);
  identity.weight.setIdentity();
  const RotaryEmbedding<T> rotary(Rotary::half, 8, 10000.0);
  const auto sequences = Sequences::of_lengths({4, 9});
  const auto x = random_matrix<T>(13, 8, 2);
  Tape<T> tape;
  auto gradient = zeros_like(identity);
  tape.begin(identity, gradient);
  Recording<T> run(tape, sequences);
  const Variable input = tape.input(x), output = run(identity, input);
  rotary.rotate(run, output);
  const Matrix<T> y = tape[output];
  EXPECT_FALSE(near(y, wide(x)));
  tape.backward(output, y);
  EXPECT_TRUE(near(Matrix<T>(tape.gradient(input)), wide(x)));
}

TYPED_TEST(RotaryEmbeddingOf, LeavesAllAsItIsInTheFormNone) {
  using T = TypeParam;
  const auto x = random_matrix<T>(4, 5, 1);
  Matrix<T> y = x;
  turn(RotaryEmbedding<T>(Rotary::none, 0, 0.0), Sequences::single(4), y);
  EXPECT_TRUE(same_bits(y, x));
}

TEST(RotaryEmbedding, HoldsHalfAsManyFrequenciesAsItTurnsChannels) {
  EXPECT_EQ(RotaryEmbedding<float>(Rotary::half, 6, 100.0).frequencies.size(), 3);
  EXPECT_EQ(RotaryEmbedding<float>::value_count(Rotary::half, 6), Count(3));
  EXPECT_EQ(RotaryEmbedding<float>::value_count(Rotary::none, 6), Count(0));
  EXPECT_EQ(parameter_count(RotaryEmbedding<float>(Rotary::half, 6, 100.0)), 0) << "constants";
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(refuses<ArgumentError>([] { RotaryEmbedding<float>(Rotary::half, 5, 10000.0); },
                                     "5 dimensions, expected a positive even number"));
  EXPECT_TRUE(refuses<ArgumentError>([] { RotaryEmbedding<float>(Rotary::half, 4, 0.0); }, "base = 0"));
  const RotaryEmbedding<float> rotary(Rotary::half, 4, 10000.0);
  const Matrix<float> before = random_matrix<float>(6, 4, 1);
  Matrix<float> x = before, narrow = random_matrix<float>(6, 3, 1);
  EXPECT_TRUE(refuses<ShapeError>([&] { turn(rotary, Sequences::single(7), x); },
                                  "x has 6 rows, but the sequences cover 1 sequence × 7 tokens"));
  EXPECT_TRUE(refuses<ShapeError>([&] { turn(rotary, Sequences::single(6), x, narrow); },
                                  "x has 3 columns, expected at least the 4 that are rotated"));
  EXPECT_TRUE(same_bits(x, before)) << "nothing is turned where a part does not fit";
}

}  // namespace
}  // namespace gated::rotary_embedding_test
