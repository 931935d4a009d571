#include "gated/layers/relative_bias.hpp"
#include "gated/layers/spatial_gating_unit.hpp"
#include "gated/ops/attention.hpp"
#include "gated/ops/mixed_chunk.hpp"
#include "gated/train/recording.hpp"
#include "tests/train/gradients.hpp"

/// Gradients of ops with combinations of options. tests/ops tests each option by itself.

namespace gated::op_gradients_test {
namespace {

using test::expect_gradients;
using test::random_matrix;

/// Options of the tested attention. Its inputs q, k and v are columns of one matrix.
struct Options {
  Scoring<double> scoring{};
  RelativeBiasForm relative = RelativeBiasForm::none;
  bool bias = false, keys = false, queries = false;
  Index heads = 1, width = 2, value = 3;
  Sequences sequences = Sequences::of_lengths({5, 0, 1, 7});
};

class Attention {
 public:
  explicit Attention(const Options& options)
      : options_(options), bias_(random_matrix<double>(options.sequences.longest(), options.sequences.longest() + 2, 5)) {
    for (Index i = 0; i < options.sequences.total(); ++i) {
      keys_.push_back(i % 3 == 1 ? 0 : 1);
      queries_.push_back(i % 4 == 2 ? 0 : 1);
    }
  }

  RelativeBias<double> model() const {
    RelativeBias<double> bias(options_.relative, options_.scoring.causal, 0.7, options_.sequences.longest());
    test::shake(bias, 6);
    return bias;
  }
  Matrix<double> input() const {
    return random_matrix<double>(options_.sequences.total(), (2 * options_.width + options_.value) * options_.heads, 7);
  }

  Variable operator()(Tape<double>& tape, const RelativeBias<double>& model, Variable x) const {
    const Index s = options_.width * options_.heads, e = options_.value * options_.heads;
    Recording<double> run(tape, options_.sequences);
    const auto relative = model.terms(run, options_.sequences.longest());
    const AttentionInputs<Recording<double>> inputs{.q = tape.columns(x, 0, s),
                                                    .k = tape.columns(x, s, s),
                                                    .v = tape.columns(x, 2 * s, e),
                                                    .heads = options_.heads,
                                                    .relative_gradient = relative.gradient};
    const auto scoring_of = [this, values = relative.values](const Sequences& sequences, Index b) {
      Scoring<double> scoring = options_.scoring;
      const Index offset = sequences.offset(b);
      scoring.relative = values;
      scoring.bias = options_.bias ? bias_.data() : nullptr;
      scoring.bias_stride = bias_.outerStride();
      scoring.visible_keys = options_.keys ? keys_.data() + offset : nullptr;
      scoring.visible_queries = options_.queries ? queries_.data() + offset : nullptr;
      return scoring;
    };
    return attend(run, inputs, scoring_of, Epilogue<Recording<double>>());
  }

 private:
  Options options_;
  Matrix<double> bias_;
  std::vector<double> keys_, queries_;
};

void expect_attention_gradients(const Options& options, double tolerance = 1e-6) {
  const Attention attention(options);
  expect_gradients(attention.model(), attention.input(), attention, tolerance);
}

TEST(AttentionGradients, AreCorrectForEveryKernelAndOption) {
  for (const auto& [kernel, name] : names_of(ScoreKernel{})) {
    for (int set = 0; set < 64; ++set) {
      const auto option = [&](int bit) { return (set >> bit & 1) != 0; };
      SCOPED_TRACE(testing::Message() << name << ", options " << set);
      expect_attention_gradients({.scoring = {.kernel = kernel,
                                              .scale = 0.4,
                                              .weight_scale = option(0) ? 0.7 : 1,
                                              .bias_inside = option(1),
                                              .causal = option(2)},
                                  .relative = option(3) ? RelativeBiasForm::toeplitz : RelativeBiasForm::t5,
                                  .bias = option(0),
                                  .keys = option(4),
                                  .queries = option(5),
                                  .heads = option(1) ? 2 : 1});
    }
  }
}

TEST(AttentionGradients, AreCorrectAcrossBlocksOfQueries) {
  for (const ScoreKernel kernel : {ScoreKernel::relu2, ScoreKernel::softmax}) {
    for (const bool causal : {false, true}) {
      expect_attention_gradients({.scoring = {.kernel = kernel, .scale = 0.3, .causal = causal},
                                  .relative = RelativeBiasForm::t5,
                                  .keys = true,
                                  .sequences = Sequences::of_lengths({140, 3, 270})});
    }
  }
}

TEST(AttentionGradients, AreCorrectWithDropout) {
  for (const auto& [kernel, name] : names_of(ScoreKernel{})) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(name);
      const Attention attention({.scoring = {.kernel = kernel, .scale = 0.4, .weight_scale = 0.7, .causal = causal},
                                 .relative = RelativeBiasForm::t5,
                                 .keys = true,
                                 .heads = 2});
      expect_gradients(attention.model(), attention.input(), attention, 1e-6, {.attention_dropout = 0.4}, 11);
    }
  }
}

TEST(AttentionGradients, DropoutIsIndependentPerSequenceAndHead) {
  // All weights are equal and each key's value is one-hot, so an output shows which weights were dropped.
  const Index n = 40;
  Tape<double> tape(Threads{1}, {.attention_dropout = 0.25});
  RelativeBias<double> model, gradient;
  Random random(1);
  Matrix<double> x = Matrix<double>::Zero(2 * n, 2 * 2 + 2 * n);
  for (Index i = 0; i < 2 * n; ++i) {
    x(i, 4 + i % n) = x(i, 4 + n + i % n) = static_cast<double>(n);
  }
  const Attention attention(
      {.scoring = {.kernel = ScoreKernel::softmax}, .heads = 2, .width = 1, .value = n, .sequences = Sequences::uniform(2, n)});
  tape.begin(model, gradient, random);
  const Matrix<double> y = tape[attention(tape, model, tape.input(x))];
  for (Index i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(std::abs(y.data()[i]) < 1e-12 || std::abs(y.data()[i] - 4.0 / 3.0) < 1e-12) << y.data()[i];
  }
  const double kept = static_cast<double>((y.array() > 0.5).count()) / static_cast<double>(y.size());
  EXPECT_NEAR(kept, 0.75, 0.02);
  const Matrix<double> masks[]{y.topLeftCorner(n, n), y.topRightCorner(n, n), y.bottomLeftCorner(n, n),
                               y.bottomRightCorner(n, n)};
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < a; ++b) {
      EXPECT_GT((masks[a] - masks[b]).cwiseAbs().sum(), 100) << a << " and " << b;
    }
  }
}

TEST(MixedChunkGradients, EveryChunkHasItsOwnDropoutMask) {
  const DropoutMask<double> mask_of_all(1, 0.5);
  ChunkMixing<double> mixing{.chunk = 4};
  mixing.local.dropout = mask_of_all;
  for (const Index h : {0, 1, 5}) {
    for (Index i = 0; i < 4; ++i) {
      for (Index j = 0; j < 4; ++j) {
        EXPECT_EQ(mixing.local_of(h).dropout.of(i, j), mask_of_all.of(4 * h + i, j));
      }
    }
  }
}

TEST(SpatialGradients, AreCorrectAcrossRowBlocks) {
  // The longer sequence has more than two blocks of 128 rows. Only a few elements of the gradient are compared.
  const Sequences sequences = Sequences::of_lengths({300, 140});
  for (const auto form : {SpatialForm::dense, SpatialForm::scaled_toeplitz}) {
    SpatialGatingUnit<double> unit(
        {.channels = 2, .spatial = {.length = 300, .causal = true, .form = form, .length_policy = LengthPolicy::slice}});
    test::shake(unit, 3);
    expect_gradients(
        unit, random_matrix<double>(440, 2, 4),
        [&](Tape<double>& tape, const auto& model, Variable x) { return record(tape, model, x, sequences); }, 1e-5);
  }
}

}  // namespace
}  // namespace gated::op_gradients_test
