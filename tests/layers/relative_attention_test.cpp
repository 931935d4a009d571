#include "gated/layers/relative_attention.hpp"

#include "literal_attention.hpp"
#include "literal_branchformer.hpp"
#include "tests/promises.hpp"

namespace gated::relative_attention_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::refuses;
using test::wide;

constexpr ScorePosition forms[] = {ScorePosition::none, ScorePosition::offset, ScorePosition::key};

RelativeAttentionConfig config_of(ScorePosition position, bool causal) {
  return {.channels = 12, .heads = 3, .position = position, .causal = causal};
}

template <class T>
void expect_formula(const std::vector<Index>& lengths) {
  const auto sequences = Sequences::of_lengths(lengths);
  const auto x = random_matrix<T>(sequences.total(), 12, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (const ScorePosition position : forms) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(text(name_of(position), causal ? ", causal" : ""));
      RelativeAttention<T> layer(config_of(position, causal));
      test::shake(layer, 1);
      Workspace<T> workspace;
      EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal::relative_attention(layer, wide(x), sequences)));
      EXPECT_TRUE(
          near(layer.forward(x, sequences, workspace, mask), literal::relative_attention(layer, wide(x), sequences, mask)))
          << "masked";
    }
  }
}

TEST(RelativeAttention, EqualsItsFormulaInEveryForm) {
  expect_formula<float>({7, 1, 0, 11});
  expect_formula<double>({7, 1, 0, 11});
}

TEST(RelativeAttention, EqualsItsFormulaInSeveralBlocksOfQueries) { expect_formula<double>({3, 530, 256}); }

TEST(RelativeAttention, KeepsItsPromisesInEveryForm) {
  for (const ScorePosition position : forms) {
    for (const bool causal : {false, true}) {
      test::expect_promises<RelativeAttention>(config_of(position, causal), {.causal = causal});
    }
    test::expect_promises<RelativeAttention>({.channels = 10, .heads = 5, .position = position},
                                             {.lengths = {3, 130, 0, 1}, .trains = false});
    test::expect_promises<RelativeAttention>({.channels = 6, .heads = 1, .position = position, .causal = true},
                                             {.lengths = {300, 2}, .causal = true, .trains = false});
  }
}

TEST(RelativeAttention, HasCorrectGradientsAcrossBlocksOfQueries) {
  const auto sequences = Sequences::of_lengths({270, 3});
  for (const bool causal : {false, true}) {
    for (const ScorePosition position : {ScorePosition::offset, ScorePosition::key}) {
      RelativeAttention<double> layer({.channels = 4, .heads = 2, .position = position, .causal = causal});
      test::shake(layer, 1);
      test::expect_gradients(layer, random_matrix<double>(sequences.total(), 4, 2),
                             [&](auto& tape, const auto& model, Variable x) { return record(tape, model, x, sequences); });
    }
  }
}

TEST(RelativeAttention, OffsetScoresDependOnlyOnTheOffset) {
  RelativeAttention<double> layer(config_of(ScorePosition::offset, false));
  test::shake(layer, 1);
  layer.query.weight.setZero();  // all queries and keys are equal, so scores depend only on positions
  layer.key.weight.setZero();
  const Matrix<double> x = random_matrix<double>(6, 12, 2);
  Workspace<double> workspace;
  Matrix<double> weights;
  workspace.set_hook([&](const std::string& path, ConstView<double> output) {
    if (path == "weights.0.1") {
      weights = output;
    }
  });
  layer.forward(x, workspace);
  ASSERT_EQ(weights.rows(), 6);
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 4; ++j) {
      EXPECT_NEAR(weights(i, j) / weights(i, j + 1), weights(i + 1, j + 1) / weights(i + 1, j + 2), 1e-12);
    }
  }
}

TEST(RelativeAttention, HasTheExpectedParameterCount) {
  const Index d = 512;
  EXPECT_EQ(parameter_count(RelativeAttention<float>({.channels = d})), 5 * d * d + 6 * d);
  EXPECT_EQ(parameter_count(RelativeAttention<float>({.channels = d, .position = ScorePosition::none})), 4 * d * d + 4 * d);
}

TEST(RelativeAttention, AStateHoldsKeysValuesAndPositions) {
  const auto bytes = [](ScorePosition position) {
    return RelativeAttention<float>(config_of(position, true)).start(20).bytes();
  };
  EXPECT_EQ(bytes(ScorePosition::none), sizeof(float) * 20 * 2 * 12);
  EXPECT_EQ(bytes(ScorePosition::offset), sizeof(float) * 20 * 3 * 12);
  EXPECT_EQ(bytes(ScorePosition::key), sizeof(float) * 20 * 3 * 12);
}

TEST(RelativeAttention, RefusesInvalidConfigurations) {
  EXPECT_TRUE(refuses<ArgumentError>([] { RelativeAttention<float>({.channels = 10, .heads = 3}); },
                                     "RelativeAttention: heads = 3 does not divide channels = 10."));
  EXPECT_TRUE(refuses<ArgumentError>([] { RelativeAttention<float>({.channels = -4, .heads = 2}); },
                                     "RelativeAttention: channels = -4 and heads = 2 must be positive."));
  EXPECT_TRUE(refuses<ArgumentError>([] { RelativeAttention<float>({.channels = 9, .heads = 3}); },
                                     "expected an even number for pairs of sine and cosine"));
  EXPECT_NO_THROW(RelativeAttention<float>({.channels = 9, .heads = 3, .position = ScorePosition::none}));
  const RelativeAttention<float> full({.channels = 4, .heads = 2}), causal({.channels = 4, .heads = 2, .causal = true});
  EXPECT_TRUE(refuses<ArgumentError>([&] { full.start(4); }, "causal = true"));
  EXPECT_TRUE(refuses<ArgumentError>([&] { causal.start(); }, "start(capacity)"));
}

/// attend_by_position() with x as every input.
template <class T>
struct OfItself : Layer<OfItself<T>> {
  static constexpr const char* name = "OfItself";

  bool by_offset;

  explicit OfItself(bool by_offset_) : by_offset(by_offset_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 4, .out = 4}; }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    const PositionedInputs<Run> in{.q = x, .k = x, .v = x, .p = x, .positions = x, .by_offset = by_offset, .heads = 2};
    return attend_by_position(
        run, in, false, [](const Sequences&, Index) { return Scoring<T>{.kernel = ScoreKernel::softmax}; }, Epilogue<Run>());
  }
};

TEST(AttendByPosition, SumsTheGradientsOfASharedInput) {
  test::expect_gradients(OfItself<double>(false), random_matrix<double>(7, 4, 2, 0.5),
                         [](auto& tape, const auto& model, Variable x) { return record(tape, model, x); });
}

TEST(AttendByPosition, RefusesMissingPositions) {
  EXPECT_TRUE(refuses<ShapeError>([] { OfItself<float>(true).forward(Matrix<float>::Ones(3, 4)); },
                                  "attend_by_position: positions is 3 × 4, expected 5 × 4."));
}

}  // namespace
}  // namespace gated::relative_attention_test
