#include <gtest/gtest.h>

#include "gated/layers/gated_cross_attention.hpp"
#include "gated/models/gau_presets.hpp"
#include "tests/train/text_models.hpp"

/// Tests of dropout and drop path.

namespace gated::noise_test {
namespace {

using test::expect_gradients;
using test::for_each_text_model;
using test::OnText;
using test::random_matrix;
using test::shaken;
using test::short_text;

const Sequences sequences = Sequences::uniform(4, 6);

Gmlp<double> model_of(Index depth, double drop_path) {
  Gmlp<double> model(
      {.length = 6, .channels = 5, .hidden = 8, .depth = depth, .causal = true, .attention_width = 3, .drop_path = drop_path});
  test::shake(model, 5);
  return model;
}

Matrix<double> output(const Gmlp<double>& model, const TapeOptions& options, std::uint64_t seed) {
  auto gradient = zeros_like(model);
  Tape<double> tape({}, options);
  Random random(seed);
  tape.begin(model, gradient, random);
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  return tape[record(tape, model, tape.input(x), sequences)];
}

Matrix<double> without_noise(const Gmlp<double>& model) {
  Workspace<double> workspace;
  return model.forward(random_matrix<double>(24, 5, 6), sequences, workspace);
}

const std::vector<TapeOptions> every_option{{.attention_dropout = 0.3},
                                            {.residual_dropout = 0.3},
                                            {.scaled_depth = true},
                                            {.scaled_depth = false},
                                            {.recompute = true, .attention_dropout = 0.3, .residual_dropout = 0.3},
                                            {.recompute = true, .scaled_depth = true}};

TEST(Noise, GradientsAreCorrectWithEveryOption) {
  const auto model = model_of(3, 0.4);
  for (const TapeOptions& options : every_option) {
    expect_gradients(
        model, random_matrix<double>(24, 5, 6),
        [](Tape<double>& tape, const Gmlp<double>& m, Variable x) { return record(tape, m, x, sequences); }, 1e-6, options,
        std::uint64_t{7});
  }
}

const TapeOptions every_dropout{.attention_dropout = 0.2, .embedding_dropout = 0.3, .residual_dropout = 0.2};

TEST(Noise, GradientsOfEveryLanguageModelAreCorrect) {
  for_each_text_model<double>(short_text, [](const auto& model, const OnText& run) {
    auto options = every_dropout;
    expect_gradients(model, run.no_input<double>(), run, 1e-6, options, 5);
    options.recompute = true;
    expect_gradients(model, run.no_input<double>(), run, 1e-6, options, 5);
  });
}

const auto on_short_text = [](Tape<double>& tape, const auto& layer, Variable x) {
  return record(tape, layer, x, short_text.sequences, short_text.mask);
};

TEST(Noise, GradientsOfEveryAttentionAreCorrect) {
  const auto x = random_matrix<double>(13, 6, 4);
  for (const auto& [kernel, name] : names_of(ScoreKernel{})) {
    SCOPED_TRACE(name);
    auto config = test::small_encoder(9).trunk.block;
    config.kernel = kernel;
    for (const Residual residual : {Residual::plain, Residual::scaled}) {
      config.residual = residual;
      expect_gradients(shaken<GatedAttentionUnit<double>>(config), x, on_short_text, 1e-6, every_dropout, 5);
    }
  }
  for (const bool causal : {false, true}) {
    expect_gradients(shaken<MixedChunkAttention<double>>(test::small_flash(9, causal).trunk.block), x, on_short_text, 1e-6,
                     every_dropout, 5);
  }
  for (const Index heads : {1, 2, 6}) {
    for (const auto form : {AttentionForm::softmax, AttentionForm::mixed_chunk}) {
      auto config = test::small_transformer(form).trunk.block;
      config.token_mixer.heads = heads;
      config.token_mixer.causal = heads == 2;
      expect_gradients(shaken<TransformerBlock<double>>(config), x, on_short_text, 1e-6, every_dropout, 5);
    }
  }
}

TEST(Noise, GradientsOfCrossAttentionAreCorrect) {
  const Sequences queries = Sequences::of_lengths({4, 1, 0, 6}), others = Sequences::of_lengths({3, 7, 2, 1});
  const auto key = random_matrix<double>(13, 3, 4), value = random_matrix<double>(13, 4, 5);
  using Cross = GatedCrossAttention<double>;
  const auto layer =
      shaken<Cross>({.channels = 5, .key_channels = 3, .value_channels = 4, .value = 6, .query_key = 4, .bias = true});
  expect_gradients(
      layer, random_matrix<double>(11, 5, 6),
      [&](Tape<double>& tape, const auto& model, Variable x) {
        Recording<double> run(tape, queries);
        return run(
            model, x,
            Cross::Others<Recording<double>>{.key = tape.constant(key), .value = tape.constant(value), .sequences = &others});
      },
      1e-6, every_dropout, 7);
}

TEST(Noise, DropoutActsOnlyInStepsWithNoise) {
  for_each_text_model<double>(short_text, [](const auto& model, const OnText& run) {
    const auto nothing = run.no_input<double>();
    const auto plain = test::step_of(model, nothing, run);
    for (const auto rate : {&TapeOptions::attention_dropout, &TapeOptions::embedding_dropout, &TapeOptions::residual_dropout}) {
      TapeOptions options;
      options.*rate = 0.3;
      const auto dropped = test::step_of(model, nothing, run, 1, options);
      EXPECT_GT((dropped.output - plain.output).cwiseAbs().maxCoeff(), 1e-3);
      EXPECT_TRUE(test::same_bits(test::step_of(model, nothing, run, 1, options, {}).output, plain.output));
    }
  });
}

TEST(Noise, InAttentionIsBitEqualForAnyNumberOfThreads) {
  const Sequences longer = Sequences::of_lengths({300, 170});
  const auto expect = [&](const auto& layer) {
    const auto x = random_matrix<float>(470, layer.in(), 4);
    const auto run = [&](auto& tape, const auto& model, Variable input) { return record(tape, model, input, longer); };
    test::expect_same_bits(test::step_of(layer, x, run, 3, every_dropout), test::step_of(layer, x, run, 1, every_dropout));
  };
  for (const ScoreKernel kernel : {ScoreKernel::relu2, ScoreKernel::softmax}) {
    auto config = gau_presets::paper({.channels = 24, .max_length = 300, .query_key = 16});
    config.kernel = kernel;
    expect(shaken<GatedAttentionUnit<float>>(config));
  }
  for (const bool causal : {false, true}) {
    expect(shaken<MixedChunkAttention<float>>(
        flash_presets::lucidrains({.channels = 24, .query_key = 16, .chunk = 64, .causal = causal})));
  }
  for (const auto form : {AttentionForm::softmax, AttentionForm::mixed_chunk}) {
    expect(shaken<TransformerBlock<float>>(
        TransformerBlockConfig{.channels = 48, .token_mixer = {.heads = 2, .form = form, .chunk = 64}}));
  }
}

TEST(Noise, EqualSeedsDrawEqualNoise) {
  const auto model = model_of(3, 0.4);
  for (const TapeOptions& options : every_option) {
    EXPECT_TRUE(test::same_bits(output(model, options, 7), output(model, options, 7)));
    EXPECT_FALSE(test::same_bits(output(model, options, 7), without_noise(model)));
  }
}

TEST(Noise, IsOffWithoutAGenerator) {
  const auto model = model_of(3, 0.4);
  auto gradient = zeros_like(model);
  Tape<double> tape({}, {.attention_dropout = 0.5, .embedding_dropout = 0.5, .residual_dropout = 0.5, .scaled_depth = true});
  tape.begin(model, gradient);
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  EXPECT_TRUE(test::same_bits(Matrix<double>(tape[record(tape, model, tape.input(x), sequences)]), without_noise(model)));
}

TEST(Noise, StochasticDepthRefusesRowsOutsideTheSequences) {
  const auto model = model_of(1, 0);
  auto gradient = zeros_like(model);
  Tape<double> tape({}, {.scaled_depth = true});
  Random random(1);
  tape.begin(model, gradient, random);
  Recording<double> run(tape, Sequences::uniform(4, 500));
  const auto message = test::message_of<ShapeError>([&] { run.drop(tape.input(random_matrix<double>(4, 3, 6)), 0.5); });
  EXPECT_TRUE(message.starts_with("stochastic depth: x has 4 rows, but the sequences cover 4 sequences")) << message;
}

TEST(Noise, DropoutKeepsTheMean) {
  struct None {
    static constexpr auto fields() { return Fields(); }
  } model, gradient;
  Tape<float> tape;
  Random random(1);
  tape.begin(model, gradient, random);
  const Matrix<float> ones = Matrix<float>::Ones(400, 500);
  Recording<float> run(tape, Sequences::single(400));
  const Matrix<float> y = tape[run.dropout(tape.input(ones), 0.2)];
  EXPECT_NEAR(y.mean(), 1, 0.005);
  EXPECT_NEAR(static_cast<double>((y.array() == 0).count()) / static_cast<double>(y.size()), 0.2, 0.005);
  EXPECT_TRUE((y.array() == 0 || y.array() == 1.25f).all());
  const Matrix<float> again = tape[run.dropout(tape.input(ones), 0.2)];
  EXPECT_FALSE(test::same_bits(y, again));  // a different mask
}

TEST(Noise, DropPathDropsBlocksButKeepsAtLeastOne) {
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  Gmlp<double> two = model_of(2, 0.5);
  Gmlp<double> first = model_of(1, 0), second = first;
  first.blocks[0] = two.blocks[0];
  second.blocks[0] = two.blocks[1];
  std::array<int, 3> counts{};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Matrix<double> y = output(two, {}, seed);
    const bool is_first = test::same_bits(y, without_noise(first)), is_second = test::same_bits(y, without_noise(second));
    EXPECT_TRUE(is_first || is_second || test::same_bits(y, without_noise(two)));  // kept blocks are not scaled
    EXPECT_FALSE(test::same_bits(y, x));
    ++counts[is_first ? 0 : (is_second ? 1 : 2)];
  }
  // There are four equally likely draws: keep both blocks, only the first, only the second, or neither. If neither is drawn,
  // drop path still keeps one of the two.
  EXPECT_NEAR(counts[0], 75, 30);
  EXPECT_NEAR(counts[1], 75, 30);
  EXPECT_NEAR(counts[2], 50, 30);
}

TEST(Noise, DropPathDropsSequencesAndScalesTheRest) {
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  const Gmlp<double> model = model_of(1, 0.75);
  const Matrix<double> branch = without_noise(model) - x;
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Matrix<double> y = output(model, {.scaled_depth = true}, seed) - x;
    for (Index b = 0; b < 4; ++b) {
      const auto rows = y.middleRows(b * 6, 6);
      if (!rows.isZero(1e-12)) {
        EXPECT_TRUE(rows.isApprox(4 * branch.middleRows(b * 6, 6), 1e-12));
        ++kept;
      }
    }
  }
  EXPECT_NEAR(kept, 100, 40);
}

TEST(Noise, RefusesRatesOutOfRange) {
  EXPECT_THROW(Tape<float>({}, {.residual_dropout = 1}), ArgumentError);
  EXPECT_THROW(Tape<float>({}, {.attention_dropout = -0.1}), ArgumentError);
}

}  // namespace
}  // namespace gated::noise_test
