#include "gated/ops/attention.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/core/settings.hpp"
#include "gated/ops/gather.hpp"
#include "tests/core/allocations.hpp"
#include "tests/ops/op.hpp"

namespace gated::attention_test {
namespace {

using test::expect_op;
using test::NoParameters;
using test::Op;
using test::random_matrix;
using test::same_bits;

constexpr Index width = 4, value = 6;  // widths over all heads: `width` for q and for k, `value` for v

/// Masked attention with an epilogue. The columns of x hold q, k and v.
auto joined_attention(ScoreKernel kernel, bool causal, Index heads) {
  return [=](auto& run, const auto& x, auto epilogue) {
    using R = std::remove_cvref_t<decltype(run)>;
    using T = typename R::Scalar;
    const AttentionInputs<R> inputs{.q = run.columns(x, 0, width),
                                    .k = run.columns(x, width, width),
                                    .v = run.columns(x, 2 * width, value),
                                    .heads = heads};
    const Scoring<T> scoring{.kernel = kernel, .scale = T(0.3), .causal = causal};
    return attend(
        run, inputs,
        [scoring, keys = mask_values<T>(run.mask(), run)](const Sequences& sequences, Index b) {
          Scoring<T> own = scoring;
          own.visible_keys = keys == nullptr ? nullptr : keys + sequences.offset(b);
          return own;
        },
        std::move(epilogue));
  };
}
auto attention(ScoreKernel kernel, bool causal, Index heads) {
  return [joined = joined_attention(kernel, causal, heads)](auto& run, const auto& x) {
    return joined(run, x, Epilogue<std::remove_cvref_t<decltype(run)>>());
  };
}

/// The same attention as a layer.
template <class T>
auto layer_of(ScoreKernel kernel, bool causal, Index heads) {
  const auto f = attention(kernel, causal, heads);
  return Op(
      NoParameters<T>(0), [f](auto& run, const auto&, auto x) { return f(run, std::move(x)); }, 2 * width + value, value);
}

const std::vector<std::uint8_t> mask{1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1};

TEST(Attention, EveryKernelSupportsBatchesTapesAndCausalStreams) {
  for (const auto& [kernel, name] : names_of(ScoreKernel{})) {
    for (const bool causal : {false, true}) {
      for (const Index heads : {1, 2}) {
        SCOPED_TRACE(testing::Message() << name << ", causal " << causal << ", heads " << heads);
        const auto f = attention(kernel, causal, heads);
        expect_op(f, {.in = 2 * width + value, .out = value, .streams = causal});
        expect_op(f, {.in = 2 * width + value, .out = value, .streams = false, .mask = mask});
      }
    }
  }
}

TEST(Attention, BatchesAndStreamsAgreeAcrossBlocksOfQueries) {
  for (const ScoreKernel kernel : {ScoreKernel::relu2, ScoreKernel::softmax}) {
    test::expect_same_in_every_run(layer_of<float>(kernel, true, 2),
                                   {.in = 2 * width + value, .out = value, .lengths = {300, 5, 257, 0, 256}});
  }
}

TEST(Attention, HeadsAreIndependent) {
  const Sequences sequences = Sequences::of_lengths({5, 0, 9});
  const auto x = random_matrix<double>(14, 2 * width + value, 1);
  Workspace<double> workspace;
  const Matrix<double> y = layer_of<double>(ScoreKernel::softmax, true, 2).forward(x, sequences, workspace);
  for (Index b = 0; b < 3; ++b) {
    const auto rows = x.middleRows(sequences.offset(b), sequences.length(b));
    for (Index head = 0; head < 2; ++head) {
      Matrix<double> alone(rows.rows(), value / 2);
      attend<double>(rows.middleCols(head * 2, 2), rows.middleCols(width + head * 2, 2),
                     rows.middleCols(2 * width + head * 3, 3), 0,
                     {.kernel = ScoreKernel::softmax, .scale = 0.3, .causal = true}, alone, workspace);
      EXPECT_TRUE(same_bits(y.block(sequences.offset(b), head * 3, rows.rows(), 3), alone)) << b << ", head " << head;
    }
  }
}

/// A bias of almost -∞ where |i - j| > reach.
Matrix<double> far_hidden(Index length, Index reach) {
  Matrix<double> bias = Matrix<double>::Zero(length, length);
  for (Index i = 0; i < length; ++i) {
    for (Index j = 0; j < length; ++j) {
      bias(i, j) = std::abs(i - j) > reach ? -1e30 : 0;
    }
  }
  return bias;
}

TEST(Attention, AReachHidesDistantKeysInEveryBlock) {
  constexpr Index length = 300;
  const auto q = random_matrix<double>(length, 3, 1), k = random_matrix<double>(length, 3, 2),
             v = random_matrix<double>(length, 5, 3), dy = random_matrix<double>(length, 5, 4);
  Workspace<double> workspace;
  for (const Index reach : {Index{0}, Index{1}, Index{7}, Index{64}, Index{100}, Index{299}, Index{1000}}) {
    const Matrix<double> bias = far_hidden(length, reach);
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(testing::Message() << "reach " << reach << ", causal " << causal);
      const Scoring<double> near{.kernel = ScoreKernel::softmax, .causal = causal, .reach = reach};
      Scoring<double> all{.kernel = ScoreKernel::softmax, .causal = causal, .bias = bias.data(), .bias_stride = length};
      Matrix<double> y(length, 5), expected(length, 5);
      attend<double>(q, k, v, 0, near, y, workspace);
      attend<double>(q, k, v, 0, all, expected, workspace);
      EXPECT_LE((y - expected).cwiseAbs().maxCoeff(), 1e-13);
      Matrix<double> got[3], wanted[3];
      for (auto* const set : {got, wanted}) {
        set[0] = set[1] = Matrix<double>::Zero(length, 3);
        set[2] = Matrix<double>::Zero(length, 5);
        attend_backward<double>(q, k, v, dy, 0, set == got ? near : all, {set[0], set[1], set[2]}, workspace);
      }
      for (int i = 0; i < 3; ++i) {
        EXPECT_LE((got[i] - wanted[i]).cwiseAbs().maxCoeff(), 1e-12) << i;
      }
    }
  }
}

TEST(Attention, NeighbouringHeadsShareKeysAndValues) {
  const auto shared = [](auto& run, const auto& x) {
    using R = std::remove_cvref_t<decltype(run)>;
    using T = typename R::Scalar;
    const AttentionInputs<R> inputs{.q = run.columns(x, 0, 12),
                                    .k = run.columns(x, 12, 4),
                                    .v = run.columns(x, 16, 6),
                                    .heads = 6,
                                    .key_heads = 2,
                                    .reach = 4};
    return attend(
        run, inputs, [](const Sequences&, Index) { return Scoring<T>{.kernel = ScoreKernel::softmax, .causal = true}; },
        Epilogue<R>());
  };
  expect_op(shared, {.in = 22, .out = 18});
  const auto x = random_matrix<double>(9, 22, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(9));
  const Matrix<double> y = run[shared(run, RunMatrix<double>(input_view<double>(x)))];
  for (Index head = 0; head < 6; ++head) {
    Matrix<double> alone(9, 3);
    attend<double>(x.middleCols(2 * head, 2), x.middleCols(12 + head / 3 * 2, 2), x.middleCols(16 + head / 3 * 3, 3), 0,
                   {.kernel = ScoreKernel::softmax, .causal = true, .reach = 4}, alone, workspace);
    EXPECT_TRUE(same_bits(Matrix<double>(y.middleCols(3 * head, 3)), alone)) << head;
  }
}

TEST(RepeatColumns, RepeatsEachColumnConsecutively) {
  const auto repeated = [](auto& run, const auto& x) { return repeat_columns(run, x, 3); };
  expect_op(repeated, {.in = 2, .out = 6});
  Matrix<double> x(1, 2), expected(1, 6);
  x << 1, 2;
  expected << 1, 1, 1, 2, 2, 2;
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(1));
  EXPECT_EQ(Matrix<double>(run[repeated(run, RunMatrix<double>(input_view<double>(x)))]), expected);
}

TEST(Attention, AttendsToKeysOfOtherSequences) {
  const Sequences queries = Sequences::of_lengths({5, 2, 3}), others = Sequences::of_lengths({4, 7, 1});
  const auto q = random_matrix<double>(10, 2, 1), k = random_matrix<double>(12, 2, 2), v = random_matrix<double>(12, 3, 3);
  const Scoring<double> scoring{.kernel = ScoreKernel::softmax};
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, queries);
  std::vector<Index> asked;
  const auto scoring_of = [&](const Sequences& sequences, Index b) {
    EXPECT_EQ(sequences.length(b), others.length(b)) << "the keys have the wrong lengths";
    asked.push_back(b);
    return scoring;
  };
  using R = RunMatrix<double>;
  const R y = attend(
      run, {.q = R(input_view<double>(q)), .k = R(input_view<double>(k)), .v = R(input_view<double>(v)), .others = &others},
      scoring_of, Epilogue<Batch<double>>());
  EXPECT_EQ(asked, (std::vector<Index>{0, 1, 2}));
  for (Index b = 0; b < 3; ++b) {
    Matrix<double> alone(queries.length(b), 3);
    attend<double>(q.middleRows(queries.offset(b), queries.length(b)), k.middleRows(others.offset(b), others.length(b)),
                   v.middleRows(others.offset(b), others.length(b)), 0, scoring, alone, workspace);
    EXPECT_TRUE(same_bits(run[y].middleRows(queries.offset(b), queries.length(b)), alone)) << b;
  }
}

TEST(Attention, FusesAnEpilogue) {
  for (const bool causal : {false, true}) {
    const auto plain = attention(ScoreKernel::relu2, causal, 2);
    const auto joined = [=](auto& run, const auto& x) {
      using R = std::remove_cvref_t<decltype(run)>;
      const Index first = 2 * width + value;
      return joined_attention(ScoreKernel::relu2, causal, 2)(run, x,
                                                             Epilogue<R>{.added = run.columns(x, first, value),
                                                                         .activation = Activation::tanh,
                                                                         .gate = run.columns(x, first + value, value),
                                                                         .residual = run.columns(x, first + 2 * value, value)});
    };
    expect_op(joined, {.in = 2 * width + 4 * value, .out = value, .streams = causal});
    const auto x = random_matrix<double>(9, 2 * width + 4 * value, 1);
    Workspace<double> workspace;
    const auto frame = workspace.frame();
    Batch<double> run(workspace, Sequences::single(9));
    const RunMatrix<double> input(input_view<double>(x));
    const Matrix<double> sum = run[plain(run, input)] + x.middleCols(2 * width + value, value);
    const Matrix<double> expected =
        (sum.array().tanh() * x.middleCols(2 * width + 2 * value, value).array() + x.rightCols(value).array()).matrix();
    EXPECT_LE((run[joined(run, input)] - expected).cwiseAbs().maxCoeff(), 1e-13);
  }
}

TEST(Attention, FusedEpiloguesAreBitEqualToSeparateOnes) {
  for (const auto& [kernel, name] : names_of(ScoreKernel{})) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(testing::Message() << name << ", causal " << causal);
      test::expect_bits_of_join(joined_attention(kernel, causal, 2), {.in = 2 * width + value,
                                                                      .out = value,
                                                                      .lengths = {300, 0, 7},  // several blocks of queries
                                                                      .streams = causal});
    }
  }
}

TEST(Attention, NeverReadsLaterTokensIfCausal) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr Index length = 60;
  const auto x = random_matrix<float>(length, 2 * width + value, 1);
  for (const auto& [kernel, name] : names_of(ScoreKernel{})) {
    const auto layer = layer_of<float>(kernel, true, 2);
    Workspace<float> workspace;
    const Matrix<float> y = layer.forward(x, Sequences::single(length), workspace);
    for (Index t = 0; t < length; ++t) {
      Matrix<float> spoilt = x, streamed(length, value);
      spoilt.row(t).setConstant(t % 3 == 0 ? infinity : t % 3 == 1 ? -infinity : infinity - infinity);
      const Matrix<float> got = layer.forward(spoilt, Sequences::single(length), workspace);
      ASSERT_TRUE(same_bits(got.topRows(t), y.topRows(t))) << name << ", token " << t;
      ASSERT_FALSE(got.row(t).allFinite());
      State<float> state = layer.start(length);
      layer.extend(spoilt, state, streamed, workspace);
      ASSERT_TRUE(same_bits(streamed.topRows(t), y.topRows(t))) << name << ", token " << t << " of a stream";
      const auto layers = zeros_like(layer);
      auto gradient = layers;
      Tape<float> tape;
      tape.begin(layers, gradient);
      const Variable recorded = record(tape, layer, tape.input(spoilt), Sequences::single(length));
      ASSERT_TRUE(same_bits(tape[recorded].topRows(t), y.topRows(t))) << name << ", token " << t << " on a tape";
    }
  }
}

TEST(Attention, IsBitEqualWhetherOrNotThreadsShareHeads) {
  const Sequences sequences = Sequences::of_lengths({300, 0, 7, 129});
  const auto x = random_matrix<float>(sequences.total(), 2 * width + value, 1);
  for (const bool causal : {false, true}) {
    const auto layer = layer_of<float>(ScoreKernel::softmax, causal, 2);
    Workspace<float> alone;
    const Matrix<float> expected = layer.forward(x, sequences, alone);
    for (const int threads : {2, 3, 5}) {  // 4 sequences × 2 heads: 2 threads run whole heads, 3 or 5 threads share heads
      Workspace<float> workspace{Threads{threads}};
      Matrix<float> y(sequences.total(), value);
      layer.forward(x, sequences, y, workspace);
      EXPECT_TRUE(same_bits(y, expected)) << threads << ", causal " << causal;
      EXPECT_EQ(test::allocations_during([&] { layer.forward(x, sequences, y, workspace); }), 0) << threads;
      if (causal) {
        Matrix<float> streamed(300, value);
        State<float> state = layer.start(300);
        layer.extend(x.topRows(7), state, streamed.topRows(7), workspace);
        layer.extend(x.middleRows(7, 293), state, streamed.bottomRows(293), workspace);
        EXPECT_TRUE(same_bits(streamed, expected.topRows(300))) << threads;
      }
    }
  }
}

TEST(Attention, HooksSeeTheWeightsPerSequenceAndHead) {
  const auto x = random_matrix<double>(5, 2 * width + value, 1);
  const auto paths = [&](Index heads, bool streams) {
    const auto layer = layer_of<double>(ScoreKernel::relu2, true, heads);
    std::vector<std::string> seen;
    Workspace<double> workspace;
    workspace.set_hook([&](const std::string& path, ConstView<double> output) {
      seen.push_back(path);
      EXPECT_TRUE(path.empty() || output.rows() == (streams ? 1 : path.substr(0, 9) == "weights.0" ? 2 : 3)) << path;
    });
    if (streams) {
      State<double> state = layer.start(5);
      Matrix<double> y(1, value);
      layer.extend(x.topRows(1), state, y, workspace);
    } else {
      layer.forward(x, Sequences::of_lengths({2, 3}), workspace);
    }
    return seen;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(paths(1, false), (Names{"weights.0", "weights.1", ""}));
  EXPECT_EQ(paths(2, false), (Names{"weights.0.0", "weights.0.1", "weights.1.0", "weights.1.1", ""}));
  EXPECT_EQ(paths(1, true), (Names{"weights.0", ""}));
  EXPECT_EQ(paths(2, true), (Names{"weights.0.0", "weights.0.1", ""}));
}

}  // namespace
}  // namespace gated::attention_test
