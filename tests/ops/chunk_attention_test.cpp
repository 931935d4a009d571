#include "gated/ops/chunk_attention.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/core/settings.hpp"
#include "tests/ops/op.hpp"

namespace gated::chunk_attention_test {
namespace {

using test::expect_op;
using test::NoParameters;
using test::Op;
using test::random_matrix;
using test::same_bits;

constexpr Index width = 4, value = 6, columns = 4 * width + value, chunk = 3;

struct Form {
  bool causal;
  LinearReduction reduction;
  Index heads = 1;
};

const std::vector<Form> forms{{true, LinearReduction::sum},          {true, LinearReduction::mean},
                              {false, LinearReduction::sum},         {false, LinearReduction::mean},
                              {false, LinearReduction::own_chunk},   {true, LinearReduction::sum, 2},
                              {false, LinearReduction::own_chunk, 2}};

/// Chunk attention with an epilogue. The columns of x hold local q and k, global q and k, and the values.
auto joined_mixing_of(const Form& form) {
  return [=](auto& run, const auto& x, auto epilogue) {
    using R = std::remove_cvref_t<decltype(run)>;
    using T = typename R::Scalar;
    const ChunkInputs<R> inputs{.local_q = run.columns(x, 0, width),
                                .local_k = run.columns(x, width, width),
                                .global_q = run.columns(x, 2 * width, width),
                                .global_k = run.columns(x, 3 * width, width),
                                .values = run.columns(x, 4 * width, value),
                                .heads = form.heads};
    const ChunkMixing<T> mixing{.chunk = chunk, .reduction = form.reduction, .local = {.scale = T(0.5), .causal = form.causal}};
    return mix_chunks(run, inputs, mixing, std::move(epilogue));
  };
}
/// Chunk attention. If `joined`, further columns of x hold the operands of an epilogue.
auto mixing_of(const Form& form, bool joined = false) {
  return [joined, mixing = joined_mixing_of(form)](auto& run, const auto& x) {
    Epilogue<std::remove_cvref_t<decltype(run)>> epilogue;
    if (joined) {
      epilogue = {.activation = Activation::tanh,
                  .gate = run.columns(x, columns, value),
                  .residual = run.columns(x, columns + value, value)};
    }
    return mixing(run, x, std::move(epilogue));
  };
}

template <class T>
auto layer_of(const Form& form) {
  const auto f = mixing_of(form);
  return Op(
      NoParameters<T>(0), [f](auto& run, const auto&, auto x) { return f(run, std::move(x)); }, columns, value);
}

std::string describe(const Form& f) { return text(name_of(f.reduction), f.causal ? ", causal" : "", ", heads ", f.heads); }

const std::vector<std::uint8_t> mask{1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1};

TEST(ChunkAttention, EveryFormWorksInBatchesOnTapesAndInCausalStreams) {
  for (const Form& form : forms) {
    SCOPED_TRACE(describe(form));
    expect_op(mixing_of(form), {.in = columns, .out = value, .streams = form.causal});
    expect_op(mixing_of(form), {.in = columns, .out = value, .streams = false, .mask = mask});
    expect_op(mixing_of(form, true), {.in = columns + 2 * value, .out = value, .streams = form.causal});
  }
}

TEST(ChunkAttention, FusedEpiloguesAreBitEqualToSeparateOnes) {
  for (const Form& form : forms) {
    SCOPED_TRACE(describe(form));
    test::expect_bits_of_join(joined_mixing_of(form), {.in = columns, .out = value, .streams = form.causal});
  }
}

TEST(ChunkAttention, NeverReadsLaterTokensIfCausal) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr Index length = 14;
  const auto x = random_matrix<float>(length, columns, 1);
  for (const Form& form : forms) {
    if (!form.causal) {
      continue;
    }
    const auto layer = layer_of<float>(form);
    Workspace<float> workspace, several(Threads{2});
    const Matrix<float> y = layer.forward(x, Sequences::single(length), workspace);
    for (Index t = 0; t < length; ++t) {
      Matrix<float> spoilt = x, streamed(length, value);
      spoilt.row(t).setConstant(t % 3 == 0 ? infinity : t % 3 == 1 ? -infinity : infinity - infinity);
      for (Workspace<float>* used : {&workspace, &several}) {
        const Matrix<float> got = layer.forward(spoilt, Sequences::single(length), *used);
        ASSERT_TRUE(same_bits(got.topRows(t), y.topRows(t))) << describe(form) << ", token " << t;
        ASSERT_FALSE(got.row(t).allFinite());
      }
      State<float> state = layer.start();
      layer.extend(spoilt, state, streamed, workspace);
      ASSERT_TRUE(same_bits(streamed.topRows(t), y.topRows(t))) << describe(form) << ", token " << t << " of a stream";
    }
  }
}

TEST(ChunkAttention, AStreamUsesConstantMemory) {
  const auto layer = layer_of<double>(forms[5]);  // two heads
  State<double> state = layer.start();
  EXPECT_EQ(state.capacity(), State<double>::unlimited);
  EXPECT_EQ(state.bytes(), sizeof(double) * (width * value / 2 + chunk * (2 * width + value)));
  Workspace<double> workspace;
  Matrix<double> y(50, value);
  layer.extend(random_matrix<double>(50, columns, 1), state, y, workspace);
  EXPECT_EQ(state.position(), 50);
  EXPECT_EQ(state.bytes(), sizeof(double) * (width * value / 2 + chunk * (2 * width + value)));
  EXPECT_THROW(state.rewind(49), ArgumentError) << "it keeps sums";
}

TEST(ChunkAttention, ShowsTheWeightsOfEachChunk) {
  const auto x = random_matrix<double>(5, columns, 1);
  const auto paths = [&](const Form& form, bool streams) {
    std::vector<std::string> seen;
    Workspace<double> workspace;
    workspace.set_hook([&](const std::string& path, ConstView<double>) { seen.push_back(path); });
    const auto layer = layer_of<double>(form);
    if (streams) {
      State<double> state = layer.start();
      Matrix<double> y(5, value);
      layer.extend(x, state, y, workspace);
    } else {
      layer.forward(x, Sequences::of_lengths({4, 1}), workspace);
    }
    return seen;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(paths(forms[0], false), (Names{"weights.0.0", "weights.0.1", "weights.1.0", ""}));
  EXPECT_EQ(paths(forms[5], false),
            (Names{"weights.0.0.0", "weights.0.0.1", "weights.0.1.0", "weights.0.1.1", "weights.1.0.0", "weights.1.1.0", ""}));
  EXPECT_EQ(paths(forms[0], true), (Names{"weights.0.0", "weights.0.1", ""}));
  EXPECT_EQ(paths(forms[5], true), (Names{"weights.0.0.0", "weights.0.1.0", "weights.0.0.1", "weights.0.1.1", ""}));
}

}  // namespace
}  // namespace gated::chunk_attention_test
