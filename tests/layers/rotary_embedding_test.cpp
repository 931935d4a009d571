#include "gated/layers/rotary_embedding.hpp"

#include <tuple>

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

/// The elementwise product of two rotated projections of x, one of which is added before its rotation, too.
template <class T>
struct Turning : Layer<Turning<T>> {
  static constexpr const char* name = "Turning";

  Linear<T> q, k;
  RotaryEmbedding<T> rotary;

  explicit Turning(Rotary layout) : q(7, 7), k(7, 7), rotary(layout, layout == Rotary::none ? 0 : 6, 100.0) {}
  static constexpr auto fields() {
    return Fields(field("q", &Turning::q), field("k", &Turning::k), field("rotary", &Turning::rotary));
  }
  Contract contract() const { return {.in = 7, .out = 7, .sees = Sees::past}; }

  auto apply(auto& run, auto x) const {
    const auto query = run(q, x);
    auto [a, b] = rotary.rotate(run, query, run(k, x));
    return add(run, multiply(run, std::move(a), std::move(b)), query);
  }
};

TEST(RotaryEmbedding, KeepsItsPromisesInALayer) {
  for (const Rotary layout : {Rotary::none, Rotary::interleaved, Rotary::half}) {
    SCOPED_TRACE(name_of(layout));
    test::expect_promises([&](auto zero) { return Turning<decltype(zero)>(layout); }, {.causal = true});
  }
}

/// Returns `parts`, rotated by position; positions start at 0 in each sequence.
template <class T, std::same_as<Matrix<T>>... Parts>
std::array<Matrix<T>, sizeof...(Parts)> turned(const RotaryEmbedding<T>& rotary, const Sequences& sequences,
                                               const Parts&... parts) {
  Workspace<T> workspace;
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences);
  return std::apply([&](const auto&... part) { return std::array{Matrix<T>(run[part])...}; },
                    rotary.rotate(run, RunMatrix<T>(input_view<T>(parts))...));
}

TYPED_TEST(RotaryEmbeddingOf, RotatesPairsByPositionInTheSequence) {
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
    const auto [y, z] = turned(RotaryEmbedding<T>(layout, 6, 100.0), sequences, x, x);
    EXPECT_TRUE(near(y, expected)) << name_of(layout);
    EXPECT_TRUE(same_bits(z, y)) << name_of(layout);
  }
}

TYPED_TEST(RotaryEmbeddingOf, RotatesMovedInputsInPlace) {
  using T = TypeParam;
  const auto before = random_matrix<T>(8, 7, 1);
  const Matrix<T> x = before;
  const RotaryEmbedding<T> rotary(Rotary::half, 6, 100.0);
  Workspace<T> workspace;
  const auto frame = workspace.frame();
  Batch<T> run(workspace, Sequences::single(8));
  auto own = run.owned(RunMatrix<T>(input_view<T>(x)));
  const auto shared = run.owned(RunMatrix<T>(input_view<T>(x)));
  const T* const memory = own.data;
  const auto [y, z, w] = rotary.rotate(run, std::move(own), shared, RunMatrix<T>(input_view<T>(x)));
  EXPECT_EQ(y.data, memory);
  EXPECT_TRUE(same_bits(run[z], run[y]));
  EXPECT_TRUE(same_bits(run[w], run[y]));
  EXPECT_FALSE(same_bits(run[y], before));
  EXPECT_TRUE(same_bits(run[shared], before)) << "still shared";
  EXPECT_TRUE(same_bits(x, before)) << "belongs to the caller";
}

TYPED_TEST(RotaryEmbeddingOf, RotatesGradientsBack) {
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
  const Variable input = tape.input(x);
  const auto [output] = rotary.rotate(run, run(identity, input));
  const Matrix<T> y = tape[output];
  EXPECT_FALSE(near(y, wide(x)));
  tape.backward(output, y);
  EXPECT_TRUE(near(Matrix<T>(tape.gradient(input)), wide(x)));
}

TYPED_TEST(RotaryEmbeddingOf, IsTheIdentityIfItsFormIsNone) {
  using T = TypeParam;
  const auto x = random_matrix<T>(4, 5, 1);
  EXPECT_TRUE(same_bits(turned(RotaryEmbedding<T>(Rotary::none, 0, 0.0), Sequences::single(4), x)[0], x));
}

TEST(RotaryEmbedding, HasAFrequencyPerPairOfChannels) {
  EXPECT_EQ(RotaryEmbedding<float>(Rotary::half, 6, 100.0).frequencies.size(), 3);
  EXPECT_EQ(RotaryEmbedding<float>(Rotary::none, 6, 100.0).frequencies.size(), 0);
  EXPECT_EQ(parameter_count(RotaryEmbedding<float>(Rotary::half, 6, 100.0)), 0) << "constants";
}

TEST(RotaryEmbedding, RefusesMismatchedSizes) {
  EXPECT_TRUE(refuses<ArgumentError>([] { RotaryEmbedding<float>(Rotary::half, 5, 10000.0); },
                                     "5 dimensions, expected a positive even number"));
  EXPECT_TRUE(refuses<ArgumentError>([] { RotaryEmbedding<float>(Rotary::half, 4, 0.0); }, "base = 0"));
  const RotaryEmbedding<float> rotary(Rotary::half, 4, 10000.0);
  const Matrix<float> x = random_matrix<float>(6, 4, 1), narrow = random_matrix<float>(6, 3, 1);
  EXPECT_TRUE(refuses<ShapeError>([&] { turned(rotary, Sequences::single(7), x); },
                                  "x has 6 rows, but the sequences cover 1 sequence × 7 tokens"));
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  Batch<float> run(workspace, Sequences::single(6));
  auto own = run.owned(RunMatrix<float>(input_view<float>(x)));
  const MatrixView<float> memory = own;
  EXPECT_TRUE(refuses<ShapeError>([&] { rotary.rotate(run, std::move(own), RunMatrix<float>(input_view<float>(narrow))); },
                                  "x has 3 columns, expected at least the 4 that are rotated"));
  EXPECT_TRUE(same_bits(View<float>(memory), x)) << "nothing is rotated if a part does not fit";
}

}  // namespace
}  // namespace gated::rotary_embedding_test
