#include "gated/layers/relative_attention.hpp"

#include <cmath>

#include "literal.hpp"
#include "literal_attention.hpp"
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

/// P(r), from its sines.
template <class T>
Matrix<double> position_vector(const RelativeAttention<T>& layer, Index r) {
  const Index channels = layer.config.channels;
  Matrix<double> s(1, channels);
  for (Index k = 0; k < channels / 2; ++k) {
    const double angle =
        static_cast<double>(r) * std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(channels));
    s(0, 2 * k) = std::sin(angle);
    s(0, 2 * k + 1) = std::cos(angle);
  }
  return s * wide(layer.position->weight).transpose();
}

/// The layer by its formula, one score at a time.
template <class T>
Matrix<double> literal_attention(const RelativeAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                                 Mask mask = {}) {
  const auto& c = layer.config;
  const Index w = c.channels / c.heads;
  const Matrix<double> q = literal::linear(layer.query, x), k = literal::linear(layer.key, x),
                       v = literal::linear(layer.value, x);
  Matrix<double> mixed = Matrix<double>::Zero(x.rows(), c.channels);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index n = sequences.length(b), offset = sequences.offset(b);
    std::vector<Matrix<double>> p;  // P(-(n - 1)) … P(n - 1)
    for (Index r = 1 - n; r < n && c.position != ScorePosition::none; ++r) {
      p.push_back(position_vector(layer, r));
    }
    for (Index head = 0; head < c.heads; ++head) {
      for (Index i = 0; i < n; ++i) {
        const Index seen = c.causal ? i + 1 : n;
        Vector<double> weights = Vector<double>::Zero(seen);
        for (Index j = 0; j < seen; ++j) {
          double score = 0;
          for (Index d = 0; d < w; ++d) {
            const Index column = head * w + d;
            const double own = q(offset + i, column);
            if (c.position == ScorePosition::none) {
              score += own * k(offset + j, column);
              continue;
            }
            const Index r = c.position == ScorePosition::key ? j : i - j;
            score +=
                (own + static_cast<double>(layer.content_bias(head, d))) * k(offset + j, column) +
                (own + static_cast<double>(layer.position_bias(head, d))) * p[static_cast<std::size_t>(r + n - 1)](0, column);
          }
          const bool visible = mask.empty() || mask[static_cast<std::size_t>(offset + j)] != 0;
          weights(j) = visible ? std::exp(score / std::sqrt(static_cast<double>(w))) : 0;
        }
        mixed.row(offset + i).segment(head * w, w) +=
            (weights / weights.sum()).transpose() * v.block(offset, head * w, seen, w);
      }
    }
  }
  return literal::linear(layer.proj_out, mixed);
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
      EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal_attention(layer, wide(x), sequences)));
      EXPECT_TRUE(near(layer.forward(x, sequences, workspace, mask), literal_attention(layer, wide(x), sequences, mask)))
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

TEST(RelativeAttention, HasGradientsAcrossBlocksOfQueries) {
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

TEST(RelativeAttention, ScoresByOffsetDependOnTheDistanceAlone) {
  RelativeAttention<double> layer(config_of(ScorePosition::offset, false));
  test::shake(layer, 1);
  layer.query.weight.setZero();  // all queries are equal, and all keys
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

TEST(RelativeAttention, CountsItsParameters) {
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

/// A layer that gives the op too few rows of P.
template <class T>
struct ShortOfPositions : Layer<ShortOfPositions<T>> {
  static constexpr const char* name = "ShortOfPositions";
  static constexpr auto fields() { return std::tuple{}; }
  Contract contract() const { return {.in = 4, .out = 4}; }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    const PositionedInputs<Run> in{.q = x, .k = x, .v = x, .p = x, .positions = x};
    return attend_by_position(
        run, in, false, [](const Sequences&, Index) { return Scoring<T>{.kernel = ScoreKernel::softmax}; }, Epilogue<Run>());
  }
};

TEST(RelativeAttention, TheOpRefusesMissingPositions) {
  EXPECT_TRUE(refuses<ShapeError>([] { ShortOfPositions<float>().forward(Matrix<float>::Ones(3, 4)); },
                                  "attend_by_position: positions is 3 × 4, expected 5 × 4."));
}

}  // namespace
}  // namespace gated::relative_attention_test
