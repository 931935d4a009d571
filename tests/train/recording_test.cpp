#include "gated/train/recording.hpp"

#include <tuple>

#include "gated/layers/gated_cross_attention.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/series_scaling.hpp"
#include "gated/train/loss.hpp"
#include "tests/core/allocations.hpp"
#include "tests/models/gmlps.hpp"
#include "tests/train/text_models.hpp"

/// Tests of recording whole models. tests/promises.hpp tests single layers.

namespace gated::recording_test {
namespace {

using test::expect_gradients;
using test::for_each_text_model;
using test::for_each_value;
using test::long_text;
using test::OnText;
using test::random_matrix;
using test::shaken;
using test::short_text;
using test::small_encoder;
using test::small_flash;

/// A layer with a false contract.
struct Liar : Layer<Liar, double> {
  static constexpr const char* name = "Liar";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 3, .out = 2}; }
  auto apply(auto&, auto x) const { return x; }
};

TEST(Recording, RefusesResultsOutsideTheContract) {
  Tape<double> tape;
  const Liar liar;
  Liar gradient;
  tape.begin(liar, gradient);
  EXPECT_EQ(
      test::message_of<ShapeError>(
          [&] { record(tape, liar, tape.input(random_matrix<double>(5, 3, 1)), Sequences::single(5)); }),
      "Liar: its body returned 5 × 3, but its contract says 5 × 2. Correct `in`, `out`, `rows` or `of_rows` in contract().");
}

// --- Gradients against central differences ---

template <class Model>
void expect_text_gradients(const typename Model::Config& config, const OnText& run, const TapeOptions& options = {}) {
  expect_gradients(shaken<Model>(config), run.no_input<double>(), run, 1e-6, options, 5);
}

TEST(Recording, GradientsOfEveryLanguageModelAreCorrect) {
  for_each_text_model<double>(short_text, [](const auto& model, const OnText& run) {
    expect_gradients(model, run.no_input<double>(), run);
    expect_gradients(model, run.no_input<double>(), run, 1e-6, {.recompute = true});
  });
}

TEST(Recording, GradientsOfEveryHeadAreCorrect) {
  const auto expect = [](const LanguageModelHeadConfig& head) {
    auto config = small_flash(9);
    config.head = head;
    expect_text_gradients<FlashLanguageModel<double>>(config, {&short_text});
  };
  for (const auto& [form, name] : names_of(HeadForm{})) {
    for (const bool bias : {false, true}) {
      for (const bool dense : {false, true}) {
        SCOPED_TRACE(testing::Message() << name << (bias ? ", bias" : "") << (dense ? ", dense" : ""));
        expect({.form = form, .dense = dense, .bias = bias});
      }
    }
  }
  for_each_value(LanguageModelHeadConfig{}, &LanguageModelHeadConfig::norm, expect);
  for_each_value(LanguageModelHeadConfig{.dense = true}, &LanguageModelHeadConfig::activation, expect);
}

TEST(Recording, GradientsOfPooledVectorsAreCorrect) {
  const Sequences sequences = Sequences::of_lengths({7, 1, 5});
  const test::Text text(sequences);
  const auto expect = [&](const EncoderSizes& sizes) {
    expect_gradients(shaken<TextTransformer<double>>(transformer_encoder(sizes)), Matrix<double>(sequences.total(), 0),
                     [&](Tape<double>& tape, const auto& model, Variable) {
                       Recording<double> run(tape, sequences);
                       return model.apply_pooled(run, text.tokens, {});
                     });
  };
  for (const TextPooling pooling : {TextPooling::first, TextPooling::mean}) {
    for (const bool unit_length : {false, true}) {
      SCOPED_TRACE(testing::Message() << name_of(pooling) << (unit_length ? ", unit length" : ""));
      EncoderSizes sizes{.vocabulary = test::vocabulary,
                         .channels = 4,
                         .hidden = 5,
                         .depth = 2,
                         .heads = 2,
                         .window = 2,
                         .pooling = pooling,
                         .unit_length = unit_length};
      expect(sizes);
      sizes.head = EncoderHead::classifier;  // with a pooler and its norm
      sizes.head_bias = sizes.norm_bias = true;
      sizes.classes = 3;
      expect(sizes);
    }
  }
}

TEST(Recording, PooledVectorsHaveTheErrorsOfPooled) {
  const TextTransformer<double> model = shaken<TextTransformer<double>>(
      transformer_encoder({.vocabulary = test::vocabulary, .channels = 4, .hidden = 5, .depth = 1, .heads = 2}));
  TextTransformer<double> gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const std::vector<Index> ids{1, 2, 3};
  const auto refuse = [&](const Sequences& sequences, Tokens types, const std::string& part) {
    Recording<double> run(tape, sequences);
    const std::string message = test::message_of<ShapeError>([&] { model.apply_pooled(run, ids, {.types = types}); });
    EXPECT_TRUE(message.starts_with("LanguageModel::apply_pooled: " + part)) << message;
  };
  refuse(Sequences::single(4), {}, "x has 3 rows, but the sequences cover 1 sequence × 4 tokens");
  refuse(Sequences::of_lengths({3, 0}), {}, "sequence 1 is empty");
  refuse(Sequences::single(3), ids, "types has 3 ids, expected 0");
}

TEST(Recording, RefusesSequencesAndMasksThatDoNotCoverX) {
  const auto layer = shaken<SelfAttention<double>>({.channels = 4, .heads = 2});
  auto gradient = zeros_like(layer);
  Tape<double> tape;
  tape.begin(layer, gradient);
  const Variable x = tape.input(random_matrix<double>(3, 4, 1));
  for (const Index rows : {2, 4}) {
    Recording<double> run(tape, Sequences::single(rows));
    const std::string message = test::message_of<ShapeError>([&] { run(layer, x); });
    EXPECT_NE(message.find("x has 3 rows, but the sequences cover"), std::string::npos) << message;
  }
  const std::vector<std::uint8_t> mask{1, 1};
  EXPECT_THROW(Recording<double>(tape, Sequences::single(3), mask), ShapeError);
}

TEST(Recording, GradientsOfEveryEmbeddingAreCorrect) {
  for (const bool causal : {false, true}) {
    for_each_value(small_flash(9, causal), &FlashLanguageModelConfig::position, [](const FlashLanguageModelConfig& config) {
      expect_text_gradients<FlashLanguageModel<double>>(config, {&short_text, true});
    });
  }
  for_each_value(small_encoder(9), &GauEncoderConfig::position, [](const GauEncoderConfig& config) {
    expect_text_gradients<GauEncoder<double>>(config, {&short_text, false, true});
  });
  for_each_value(small_encoder(9), &GauEncoderConfig::embedding_norm, [](const GauEncoderConfig& config) {
    expect_text_gradients<GauEncoder<double>>(config, {&short_text, true});
  });
  auto plain = small_encoder(9);
  plain.head.form = HeadForm::none;
  plain.token_types = 0;
  plain.pad_token = -1;
  expect_text_gradients<GauEncoder<double>>(plain, {&short_text});
}

/// Returns a function that records a trunk on these sequences.
const auto on_sequences = [](const Sequences& sequences) {
  return [sequences](auto& tape, const auto& model, Variable x) { return record(tape, model, x, sequences); };
};

TEST(Recording, GradientsOfEveryGmlpAreCorrect) {
  const Sequences ragged = Sequences::of_lengths({test::small_length, 5});
  const auto x = random_matrix<double>(ragged.total(), test::small_channels, 6);
  for (const bool causal : {false, true}) {
    for (GmlpConfig config : test::small_gmlps(causal)) {
      SCOPED_TRACE(test::describe(config));
      config.length_policy = LengthPolicy::slice;
      expect_gradients(shaken<Gmlp<double>>(config), x, on_sequences(ragged));
    }
  }
}

const Sequences two_sequences = Sequences::of_lengths({6, 4});

GmlpConfig gmlp(bool causal, Index attention, Index token_shift) {
  return {.length = 6,
          .channels = 7,
          .hidden = 8,
          .depth = 2,
          .length_policy = LengthPolicy::slice,
          .causal = causal,
          .heads = 2,
          .attention_width = attention,
          .token_shift = token_shift};
}

TEST(Recording, GradientsOfAnAmlpWithAllOptionsAreCorrect) {
  for (const bool causal : {false, true}) {
    for (const auto position : {NormPosition::pre, NormPosition::post, NormPosition::res_post}) {
      SCOPED_TRACE(testing::Message() << "causal " << causal << ", norm " << name_of(position));
      auto config = gmlp(causal, 3, 2);
      config.attention_bias = true;
      config.norm_position = position;
      expect_gradients(shaken<Gmlp<double>>(config), random_matrix<double>(10, 7, 6), on_sequences(two_sequences));
    }
  }
}

TEST(Recording, GradientsOfEveryActivationAreCorrect) {
  for_each_value(gmlp(true, 0, 0), &GmlpConfig::activation, [](GmlpConfig config) {
    config.depth = 1;
    config.gate_activation = config.activation;
    expect_gradients(shaken<Gmlp<double>>(config), random_matrix<double>(10, 7, 6), on_sequences(two_sequences));
  });
}

GmlpImageClassifierConfig classifier(Pooling pooling) {
  return {.image = {6, 4},
          .patch = {3, 2},
          .image_channels = 2,
          .classes = 3,
          .pooling = pooling,
          .trunk = {.channels = 6, .hidden = 8, .depth = 2}};
}

const auto on_images = [](auto& tape, const auto& model, Variable images) { return record(tape, model, images); };

TEST(Recording, GradientsOfEveryImageClassifierAreCorrect) {
  const auto images = random_matrix<double>(2, 48, 6);
  for_each_value(classifier(Pooling::mean), &GmlpImageClassifierConfig::pooling, [&](GmlpImageClassifierConfig config) {
    expect_gradients(shaken<GmlpImageClassifier<double>>(config), images, on_images);
    config.stem_norm = config.pre_logits = true;
    config.position_grid = {3, 2};
    expect_gradients(shaken<GmlpImageClassifier<double>>(config), images, on_images);
    config.classes = 0;
    expect_gradients(shaken<GmlpImageClassifier<double>>(config), images, on_images);
  });
}

TEST(Recording, GradientsOfAFlashClassifierAreCorrect) {
  ImageClassifierConfig<FlashConfig> config{.image = {6, 4}, .patch = {3, 2}, .image_channels = 2, .classes = 3};
  config.trunk = small_flash(9, false).trunk;
  expect_gradients(shaken<ImageClassifier<Flash<double>>>(config), random_matrix<double>(2, 48, 6), on_images);
}

TEST(Recording, GradientsWithFullyMaskedSequencesAreCorrect) {
  const std::vector<std::uint8_t> hides_two{1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0};  // sequences of 7, 0, 1 and 5 tokens
  const auto expect = [&](const auto& layer) {
    expect_gradients(layer, random_matrix<double>(13, 6, 4), [&](Tape<double>& tape, const auto& model, Variable x) {
      return record(tape, model, x, short_text.sequences, hides_two);
    });
  };
  for (const auto kernel : {ScoreKernel::relu2, ScoreKernel::laplace, ScoreKernel::laplace_legacy}) {
    auto unit = small_encoder(9).trunk.block;
    unit.kernel = kernel;
    for_each_value(unit, &GatedAttentionUnitConfig::mask_mode,
                   [&](const GatedAttentionUnitConfig& config) { expect(shaken<GatedAttentionUnit<double>>(config)); });
    for (const bool causal : {false, true}) {
      auto layer = small_flash(9, causal).trunk.block;
      layer.kernel = kernel;
      expect(shaken<MixedChunkAttention<double>>(layer));
    }
  }
  expect(shaken<TransformerBlock<double>>(test::small_transformer(AttentionForm::mixed_chunk).trunk.block));
}

// --- Gradients of further inputs ---

/// Records layer(x, more...).
template <class L, class... More>
Variable record_with(Tape<double>& tape, const L& layer, Variable x, const Sequences& sequences, Mask mask,
                     const More&... more) {
  Recording<double> run(tape, sequences, mask);
  return run(layer, x, more...);
}

TEST(Recording, GradientsOfAnAdditionToAGateAreCorrect) {
  const SpatialGatingUnitConfig dense{.channels = 12, .spatial = {.length = 7, .length_policy = LengthPolicy::slice}};
  const Sequences sequences = Sequences::of_lengths({7, 3});
  for_each_value(dense, &SpatialGatingUnitConfig::activation, [&](const SpatialGatingUnitConfig& config) {
    expect_gradients(shaken<SpatialGatingUnit<double>>(config), random_matrix<double>(10, 18, 4),
                     [&](Tape<double>& tape, const SpatialGatingUnit<double>& layer, Variable x) {
                       Recording<double> run(tape, sequences);
                       const Variable input = activate(run, tape.columns(x, 6, 12), Activation::tanh);
                       return run(layer, input, tape.columns(x, 0, 6));
                     });
  });
}

GatedAttentionUnitConfig unit() {
  return {.channels = 5, .value = 6, .query_key = 4, .max_length = 9, .relative_bias = RelativeBiasForm::toeplitz};
}

TEST(Recording, GradientsWithAScoreBiasAreCorrect) {
  const Matrix<double> bias = random_matrix<double>(7, 9, 6);
  for (const bool inside : {false, true}) {
    auto config = unit();
    config.bias_inside_scale = inside;
    expect_gradients(shaken<GatedAttentionUnit<double>>(config), random_matrix<double>(13, 5, 4),
                     [&](Tape<double>& tape, const auto& layer, Variable x) {
                       return record_with(tape, layer, x, short_text.sequences, short_text.mask,
                                          MatrixView<const double>(bias));
                     });
  }
}

using Cross = GatedCrossAttention<double>;
using Others = Cross::Others<Recording<double>>;

/// 11 query tokens, 13 key tokens.
const Sequences queries = Sequences::of_lengths({4, 1, 0, 6}), others = Sequences::of_lengths({3, 7, 2, 1});

GatedCrossAttentionConfig cross() {
  return {.channels = 5, .key_channels = 3, .value_channels = 4, .value = 6, .query_key = 4, .bias = true};
}

/// Checks gradients with respect to the queries x, for constant keys and values.
void expect_query_gradients(const GatedCrossAttentionConfig& config, const Sequences& split = others, Mask mask = {}) {
  const auto key = random_matrix<double>(split.total(), 3, 4), value = random_matrix<double>(split.total(), 4, 5);
  expect_gradients(
      shaken<Cross>(config), random_matrix<double>(11, 5, 6), [&](Tape<double>& tape, const Cross& layer, Variable x) {
        return record_with(tape, layer, x, queries, {},
                           Others{.key = tape.constant(key), .value = tape.constant(value), .sequences = &split, .mask = mask});
      });
}

/// Checks gradients with respect to keys and values, which are columns of one input.
void expect_key_value_gradients(const GatedCrossAttentionConfig& config) {
  const auto x = random_matrix<double>(11, 5, 6);
  expect_gradients(shaken<Cross>(config), random_matrix<double>(13, 7, 4),
                   [&](Tape<double>& tape, const Cross& layer, Variable input) {
                     const Variable key = tape.columns(input, 0, 3), value = tape.columns(input, 3, 4);
                     return record_with(tape, layer, tape.constant(x), queries, {},
                                        Others{.key = key, .value = value, .sequences = &others});
                   });
}

TEST(Recording, GradientsOfEveryCrossAttentionAreCorrect) {
  const std::vector<std::uint8_t> mask{1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1};
  const auto expect = [&](const GatedCrossAttentionConfig& config) {
    expect_query_gradients(config, others, mask);
    expect_key_value_gradients(config);
  };
  for_each_value(cross(), &GatedCrossAttentionConfig::activation, expect);
  for_each_value(cross(), &GatedCrossAttentionConfig::key_value_activation, expect);
  for_each_value(cross(), &GatedCrossAttentionConfig::norm, expect);
  for_each_value(cross(), &GatedCrossAttentionConfig::kernel, expect);
  for_each_value(cross(), &GatedCrossAttentionConfig::residual, expect);
  auto config = cross();
  config.bias = false;
  expect(config);
}

TEST(Recording, GradientsWithoutKeysAreCorrect) {
  for_each_value(cross(), &GatedCrossAttentionConfig::kernel, [](const GatedCrossAttentionConfig& config) {
    expect_query_gradients(config, Sequences::of_lengths({3, 0, 2, 1}));
  });
}

TEST(Recording, GradientsAreCorrectIfQueryKeyAndValueAreEqual) {
  auto config = cross();
  config.key_channels = config.value_channels = 5;
  expect_gradients(shaken<Cross>(config), random_matrix<double>(13, 5, 6),
                   [](Tape<double>& tape, const Cross& layer, Variable x) {
                     return record_with(tape, layer, x, others, {}, Others{.key = x, .value = x, .sequences = &others});
                   });
}

// --- The recorded forward pass ---

/// Expects that the output of the recorded model is bit-equal to `forward(model)`.
template <class Model, class Run, class Forward>
void expect_inference(const Model& model, const Matrix<float>& x, const Run& run, const Forward& forward) {
  Workspace<float> workspace;
  Tape<float> tape;
  Model gradient = zeros_like(model);
  tape.begin(model, gradient);
  const Variable output = run(tape, model, tape.input(x));
  EXPECT_TRUE(test::same_bits(tape[output], forward(model, workspace)));
}

TEST(Recording, EqualsInference) {
  for_each_text_model<float>(short_text, [](const auto& model, const OnText& run) {
    expect_inference(model, run.no_input<float>(), run,
                     [&](const auto& m, auto& workspace) { return run.forward(m, workspace); });
  });
  const Sequences two = Sequences::uniform(2, test::small_length);
  const auto x = random_matrix<float>(two.total(), test::small_channels, 6);
  for (const bool causal : {false, true}) {
    for (const GmlpConfig& config : test::small_gmlps(causal)) {
      SCOPED_TRACE(test::describe(config));
      expect_inference(shaken<Gmlp<float>>(config), x, on_sequences(two),
                       [&](const auto& model, auto& workspace) { return model.forward(x, two, workspace); });
    }
  }
  const auto images = random_matrix<float>(3, 48, 6);
  for_each_value(classifier(Pooling::mean), &GmlpImageClassifierConfig::pooling, [&](GmlpImageClassifierConfig config) {
    for (const bool more : {false, true}) {
      config.stem_norm = config.pre_logits = more;
      expect_inference(shaken<GmlpImageClassifier<float>>(config), images, on_images,
                       [&](const auto& model, auto& workspace) { return model.forward(images, workspace); });
    }
  });
}

TEST(Recording, NamesUnsetWeightsByTheirPath) {
  auto model = shaken<Gmlp<float>>(gmlp(true, 3, 1));
  Matrix<float>& weight = model.blocks[1].gate.proj.weight;
  weight = unset_weight<float>(weight.rows(), weight.cols());
  auto gradient = zeros_like(model);
  for (const bool recompute : {false, true}) {
    Tape<float> tape(Threads{1}, {.recompute = recompute});
    tape.begin(model, gradient);
    const std::string message = test::message_of<ArgumentError>(
        [&] { record(tape, model, tape.constant(random_matrix<float>(10, 7, 6)), two_sequences); });
    EXPECT_TRUE(message.starts_with("Stack: the parameter blocks.1.gate.proj.weight was never set.")) << message;
    EXPECT_EQ(tape.path(), "");
  }
}

TEST(Recording, NaNReachesNoEarlierTokenIfCausal) {
  const Index n = 200, last = 150;
  const auto expect = [&](const auto& model) {
    auto gradient = zeros_like(model);
    Matrix<float> x = random_matrix<float>(n, 6, 4);
    Tape<float> tape;
    const auto output = [&] {
      tape.begin(model, gradient);
      return Matrix<float>(tape[record(tape, model, tape.input(x), Sequences::single(n))].topRows(last));
    };
    const Matrix<float> clean = output();
    x.row(last).setConstant(std::numeric_limits<float>::quiet_NaN());
    x.row(last + 1).setConstant(std::numeric_limits<float>::infinity());
    EXPECT_TRUE(test::same_bits(output(), clean)) << model.name;
  };
  expect(shaken<Gmlp<float>>(test::small_gmlp(n).trunk));
  expect(shaken<Flash<float>>(small_flash(n).trunk));
  expect(shaken<Stack<TransformerBlock<float>>>(test::small_transformer(AttentionForm::softmax).trunk));
  auto causal = small_encoder(n).trunk;
  causal.block.causal = true;
  expect(shaken<Stack<GatedAttentionUnit<float>>>(causal));
}

// --- Bits and memory ---

template <class Model, class Run>
void expect_same_steps(const Model& model, const Matrix<float>& x, const Run& run) {
  for (const double rate : {0.0, 0.2}) {
    TapeOptions options{.attention_dropout = rate, .embedding_dropout = rate, .residual_dropout = rate};
    const auto kept = test::step_of(model, x, run, 1, options);
    test::expect_same_bits(test::step_of(model, x, run, 3, options), kept);
    options.recompute = true;
    test::expect_same_bits(test::step_of(model, x, run, 1, options), kept);
    test::expect_same_bits(test::step_of(model, x, run, 2, options), kept);
  }
}

TEST(Recording, BitsDoNotDependOnThreadsOrRecomputation) {
  for (const auto* text : {&short_text, &long_text}) {
    for_each_text_model<float>(
        *text, [](const auto& model, const OnText& run) { expect_same_steps(model, run.no_input<float>(), run); });
  }
  const GmlpConfig wide{.length = 300, .channels = 64, .hidden = 256, .depth = 1, .causal = true};
  auto uneven = wide;
  uneven.length_policy = LengthPolicy::slice;
  expect_same_steps(shaken<Gmlp<float>>(uneven), random_matrix<float>(480, 64, 6),
                    on_sequences(Sequences::of_lengths({300, 180})));
  expect_same_steps(shaken<GmlpImageClassifier<float>>(classifier(Pooling::mean)), random_matrix<float>(9, 48, 6), on_images);
}

TEST(Recording, AWarmStepAllocatesNothing) {
  for_each_text_model<double>(short_text, [](const auto& model, const OnText& run) {
    auto gradient = zeros_like(model);
    const auto cotangent = random_matrix<double>(run.text->sequences.total(), model.out(), 5);
    for (const bool recompute : {false, true}) {
      Tape<double> tape(Threads{2}, {.recompute = recompute, .attention_dropout = 0.1});
      Random random(1);
      const auto step = [&] {
        tape.begin(model, gradient, random);
        tape.backward(run(tape, model, Variable{}), cotangent);
      };
      step();
      step();  // begin() merges the tape's memory into one chunk
      EXPECT_EQ(test::allocations_during(step), 0) << recompute;
    }
  });
}

/// Runs training steps with `options` and drop path. Returns the number of allocations in the last step.
long allocations_of_last_step(const TapeOptions& options) {
  auto config = classifier(Pooling::mean);
  config.trunk.attention_width = 4;
  config.trunk.drop_path = 0.3;
  const auto model = shaken<GmlpImageClassifier<float>>(config);
  auto gradient = zeros_like(model);
  const auto images = random_matrix<float>(5, 48, 6);
  const std::vector<Index> labels{0, 1, 2, 1, 0};
  Tape<float> tape({}, options);
  Random random(1);
  const auto step = [&] {
    tape.begin(model, gradient, random);
    tape.backward(cross_entropy(tape, record(tape, model, tape.constant(images)), labels));
  };
  for (int i = 0; i < 20; ++i) {  // until drop path has kept every block at least once
    step();
  }
  return test::allocations_during(step);
}

TEST(Recording, AWarmStepWithNoiseAllocatesNothing) {
  EXPECT_EQ(allocations_of_last_step({}), 0);
  EXPECT_EQ(allocations_of_last_step({.recompute = true}), 0);
  EXPECT_EQ(
      allocations_of_last_step({.recompute = true, .attention_dropout = 0.1, .residual_dropout = 0.1, .scaled_depth = true}),
      0);
}

TEST(Recording, RecomputationKeepsTwoMatricesPerBlock) {
  // Ten more blocks cost ten outputs and ten gradients, not ten times the activations of a block.
  const Sequences long_one = Sequences::single(200);
  const auto bytes = [&](Index depth, bool recompute) {
    const auto model = shaken<Gmlp<float>>(GmlpConfig{.length = 200, .channels = 16, .hidden = 96, .depth = depth});
    auto gradient = zeros_like(model);
    Tape<float> tape({}, {.recompute = recompute});
    const auto x = random_matrix<float>(200, 16, 1);
    for (int i = 0; i < 2; ++i) {
      tape.begin(model, gradient);
      tape.backward(record(tape, model, tape.input(x), long_one), x);
    }
    return static_cast<double>(tape.bytes()) / (200 * 16 * sizeof(float));
  };
  EXPECT_NEAR(bytes(12, true) - bytes(2, true), 20, 1.0);
  const double kept_a_block = (bytes(12, false) - bytes(2, false)) / 10;
  // Terms in order: norm, z, σ(z), norm, gate, product, sum, gradient of the sum, and the moments of both norms.
  EXPECT_NEAR(kept_a_block, 1 + 6 + 6 + 3 + 3 + 3 + 1 + 1 + 2 * 3.0 / 16, 0.25);
  EXPECT_NEAR(bytes(12, false), 6 * bytes(2, false), 0.7 * bytes(12, false));
}

TEST(Recording, MemoryDoesNotDependOnTheChunkSize) {
  const auto bytes_of = [](Index chunk) {
    auto config = small_flash(9).trunk.block;
    config.chunk = chunk;
    config.relative_bias = RelativeBiasForm::t5;
    const auto layer = shaken<MixedChunkAttention<float>>(config);
    auto gradient = zeros_like(layer);
    const auto x = random_matrix<float>(7, config.channels, 1);
    Tape<float> tape;
    tape.begin(layer, gradient);
    tape.backward(record(tape, layer, tape.input(x), Sequences::single(7)), x);
    return tape.bytes();
  };
  EXPECT_EQ(bytes_of(Index{1} << 30), bytes_of(7));
}

TEST(Recording, AccumulatesGradients) {
  const auto model = shaken<Gmlp<double>>(gmlp(true, 3, 0));
  const auto x = random_matrix<double>(10, 7, 6), cotangent = random_matrix<double>(10, 7, 7);
  auto once = zeros_like(model), twice = zeros_like(model);
  Tape<double> tape;
  for (int i = 0; i < 3; ++i) {
    auto& gradient = i == 0 ? once : twice;
    tape.begin(model, gradient);
    tape.backward(record(tape, model, tape.input(x), two_sequences), cotangent);
  }
  for_each_parameter(
      [](const ParameterInfo& info, auto a, auto b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          EXPECT_NEAR(2 * a[i], b[i], 1e-12) << info.path();
        }
      },
      once, twice);
}

// --- Refusals ---

/// The message that record() of `layer` throws.
template <class E = ShapeError, class L, class... Arguments>
std::string refusal(const L& layer, const Matrix<double>& x, const Arguments&... arguments) {
  auto gradient = zeros_like(layer);
  Tape<double> tape;
  tape.begin(layer, gradient);
  return test::message_of<E>([&] { record(tape, layer, tape.input(x), arguments...); });
}

const auto good = random_matrix<double>(13, 6, 1), narrow = random_matrix<double>(13, 5, 1);
const std::vector<std::uint8_t> short_mask(4, 1), empty_mask(13, 0);

TEST(Recording, RefusesWhatALayersForwardRefuses) {
  const auto expect = [](const auto& layer) {
    const std::string where = std::string(layer.name) + "::record: ";
    EXPECT_EQ(refusal(layer, narrow, short_text.sequences),
              where + "x has 5 columns, expected in = 6 (a matrix is tokens × channels, one row per token).");
    EXPECT_TRUE(refusal(layer, good, Sequences::single(12)).starts_with(where));
    if (layer.contract().takes_mask) {
      EXPECT_EQ(refusal(layer, good, short_text.sequences, Mask(short_mask)),
                where + "the mask has 4 entries, expected 13, one per token.");
    } else {
      EXPECT_EQ(refusal<ArgumentError>(layer, good, short_text.sequences, Mask(short_text.mask)),
                where + "got a mask, but this layer takes none. Omit the mask.");
    }
  };
  expect(shaken<TinyAttention<double>>(TinyAttentionConfig{.channels = 6, .width = 4, .out = 6}));
  expect(shaken<SpatialGatingUnit<double>>(
      SpatialGatingUnitConfig{.channels = 6, .spatial = {.length = 9, .length_policy = LengthPolicy::slice}}));
  expect(shaken<Gmlp<double>>(test::small_gmlp(9).trunk).blocks[0]);
  expect(shaken<Gmlp<double>>(test::small_gmlp(9).trunk));
  expect(shaken<MixedChunkAttention<double>>(small_flash(9).trunk.block));
  expect(shaken<GatedAttentionUnit<double>>(small_encoder(9).trunk.block));
  expect(shaken<Stack<GatedAttentionUnit<double>>>(small_encoder(9).trunk));
  expect(shaken<TransformerBlock<double>>(test::small_transformer(AttentionForm::softmax).trunk.block));
  expect(shaken<TransformerBlock<double>>(test::small_transformer(AttentionForm::mixed_chunk).trunk.block));

  auto softmax = small_encoder(9).trunk.block;
  softmax.kernel = ScoreKernel::softmax;
  EXPECT_TRUE(refusal(shaken<GatedAttentionUnit<double>>(softmax), good, short_text.sequences, Mask(empty_mask))
                  .starts_with("GatedAttentionUnit::record: the mask leaves no token of sequence 0"));
  const std::string past =
      refusal(shaken<GatedAttentionUnit<double>>(small_encoder(9).trunk.block), good, Sequences::single(13));
  EXPECT_EQ(past,
            "GatedAttentionUnit::record: sequence 0 of 1 has 13 tokens, expected 9 at most. Build the Toeplitz bias with "
            "a larger max_length, or choose relative_bias = t5 or none.");
  const std::string long_one = refusal(shaken<Gmlp<double>>(test::small_gmlp(9).trunk), good, Sequences::single(13));
  EXPECT_EQ(long_one,
            "Stack::record: sequence 0 of 1 has 13 tokens, expected 9 at most. Resize the spatial weight with resize_length(); "
            "for shorter "
            "sequences, length_policy = slice uses its corner.");
  EXPECT_EQ(refusal(Linear<double>(7, 2), good),
            "Linear::record: x has 6 columns, expected in = 7 (a matrix is tokens × channels, one row per token).");
}

TEST(Recording, RefusesMismatchedOptions) {
  const auto gate = shaken<SpatialGatingUnit<double>>(
      SpatialGatingUnitConfig{.channels = 6, .spatial = {.length = 9, .length_policy = LengthPolicy::slice}});
  auto gate_gradient = gate;
  Tape<double> tape;
  tape.begin(gate, gate_gradient);
  EXPECT_THROW(record_with(tape, gate, tape.input(good), short_text.sequences, {}, tape.input(good)), ShapeError);

  const auto unit = shaken<GatedAttentionUnit<double>>(small_encoder(9).trunk.block);
  auto unit_gradient = zeros_like(unit);
  tape.begin(unit, unit_gradient);
  const auto low = random_matrix<double>(6, 9, 1);
  EXPECT_THROW(record_with(tape, unit, tape.input(good), short_text.sequences, {}, MatrixView<const double>(low)), ShapeError);
}

TEST(Recording, RefusesWhatCrossAttentionRefuses) {
  const auto layer = shaken<Cross>(cross());
  auto gradient = zeros_like(layer);
  Tape<double> tape;
  tape.begin(layer, gradient);
  const auto x = random_matrix<double>(11, 5, 1), key = random_matrix<double>(13, 3, 1),
             value = random_matrix<double>(13, 4, 1);
  const auto expect_refusal = [&](const Matrix<double>& a, const Sequences& of_a, const Matrix<double>& k,
                                  const Matrix<double>& v, const Sequences& of_k, Mask mask = {}) {
    EXPECT_THROW(record_with(tape, layer, tape.input(a), of_a, {},
                             Others{.key = tape.input(k), .value = tape.input(v), .sequences = &of_k, .mask = mask}),
                 ShapeError);
  };
  expect_refusal(key, queries, key, value, others);
  expect_refusal(x, Sequences::single(12), key, value, others);
  expect_refusal(x, Sequences::of_lengths({4, 1, 0, 7}), key, value, others);
  expect_refusal(x, queries, key.topRows(12), value, others);
  expect_refusal(x, queries, key, value.topRows(12), others);
  expect_refusal(x, queries, value, value, others);
  expect_refusal(x, queries, key, value, Sequences::of_lengths({6, 7}));
  expect_refusal(x, queries, key, value, others, short_mask);
  EXPECT_THROW(record_with(tape, layer, tape.input(x), queries, {}, Others{.sequences = &others}), ArgumentError) << "no key";
}

TEST(Recording, RefusesWhatAModelsForwardRefuses) {
  const std::vector<Index> unknown(13, 6);
  for_each_text_model<double>(short_text, [&](const auto& model, const OnText&) {
    auto gradient = zeros_like(model);
    Tape<double> tape;
    tape.begin(model, gradient);
    const auto& [sequences, tokens, types, mask] = short_text;
    EXPECT_THROW(record(tape, model, tokens, Sequences::single(12)), ShapeError);
    EXPECT_THROW(record(tape, model, unknown, sequences), ArgumentError);
    EXPECT_THROW(record(tape, model, tokens, sequences, Mask(), Tokens(types).first(4)), ShapeError);
    if (model.type_embedding) {
      EXPECT_THROW(record(tape, model, tokens, sequences, Mask(), unknown), ArgumentError);
    }
    if (model.contract().takes_mask) {
      EXPECT_THROW(record(tape, model, tokens, sequences, short_mask), ShapeError);
    } else {
      EXPECT_THROW(record(tape, model, tokens, sequences, mask), ArgumentError);
    }
  });
  const auto model = shaken<GauEncoder<double>>(small_encoder(9));
  auto gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  EXPECT_EQ(test::message_of<ShapeError>([&] { record(tape, model, short_text.tokens, Sequences::single(13)); }),
            "LanguageModel::record: sequence 0 of 1 has 13 tokens, expected 9 at most. Build the Toeplitz bias with a "
            "larger max_length, or choose relative_bias = t5 or none.");
}

TEST(Recording, RefusesImagesOfOtherSizes) {
  const auto model = shaken<GmlpImageClassifier<float>>(classifier(Pooling::mean));
  auto gradient = zeros_like(model);
  Tape<float> tape;
  const auto images = random_matrix<float>(2, 47, 6);
  EXPECT_THROW(tape.constant(images), ArgumentError);  // before begin()
  tape.begin(model, gradient);
  EXPECT_THROW(record(tape, model, tape.constant(images)), ShapeError);
  auto other = classifier(Pooling::mean);
  other.trunk.depth = 1;
  GmlpImageClassifier<float> shallow(other);
  EXPECT_THROW(tape.begin(model, shallow), ArgumentError);
}

/// The gradient of a text model. If `changes`, its inputs are overwritten between record() and backward().
template <class Model>
Model gradient_of_text(const Model& model, bool changes, bool masks, bool recompute) {
  test::Text text = short_text;
  std::vector<Index> rows{3, 1, 8}, targets{1, 2, 0};
  Model gradient = zeros_like(model);
  Tape<double> tape({}, {.recompute = recompute});
  tape.begin(model, gradient);
  const Variable logits = record_rows(tape, model, text.tokens, text.sequences, rows, masks ? Mask(text.mask) : Mask(),
                                      model.type_embedding ? Tokens(text.types) : Tokens());
  const Variable loss = cross_entropy(tape, logits, targets);
  if (changes) {
    std::reverse(text.tokens.begin(), text.tokens.end());
    std::reverse(text.types.begin(), text.types.end());
    std::fill(text.mask.begin(), text.mask.end(), std::uint8_t{0});
    std::fill(rows.begin(), rows.end(), 0);
    std::fill(targets.begin(), targets.end(), 4);
  }
  tape.backward(loss);
  return gradient;
}

TEST(Recording, CopiesTokensTypesMasksRowsAndTargets) {
  for_each_text_model<double>(short_text, [](const auto& model, const OnText&) {
    for (const bool masks : {false, true}) {
      for (const bool recompute : {false, true}) {
        if (!masks || model.contract().takes_mask) {
          const auto kept = gradient_of_text(model, false, masks, recompute);
          const auto changed = gradient_of_text(model, true, masks, recompute);
          for_each_parameter(
              [&](const ParameterInfo& info, auto a, auto b) {
                EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << info.path() << masks << recompute;
              },
              kept, changed);
        }
      }
    }
  });
}

TEST(Recording, CopiesBiasesAndMasksPassedByReference) {
  const auto unit = shaken<GatedAttentionUnit<double>>(small_encoder(9).trunk.block);
  auto config = cross();
  config.kernel = ScoreKernel::softmax_plus;  // its score scale depends on the number of visible keys
  const auto attention = shaken<Cross>(config);
  const auto gradients = [&](bool changes) {
    auto of_unit = zeros_like(unit);
    auto of_attention = zeros_like(attention);
    Matrix<double> bias = random_matrix<double>(9, 9, 1);
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(others.total()), 1);
    mask[1] = 0;
    Tape<double> tape;
    tape.begin(unit, of_unit);
    const Matrix<double> x = random_matrix<double>(13, 6, 2);
    Variable y = record_with(tape, unit, tape.constant(x), short_text.sequences, {}, MatrixView<const double>(bias));
    if (changes) {
      bias.setRandom();
    }
    tape.backward(y, random_matrix<double>(13, unit.out(), 3));
    tape.begin(attention, of_attention);
    y = record_with(tape, attention, tape.constant(random_matrix<double>(11, 5, 1)), queries, {},
                    Others{.key = tape.constant(random_matrix<double>(13, 3, 1)),
                           .value = tape.constant(random_matrix<double>(13, 4, 1)),
                           .sequences = &others,
                           .mask = mask});
    if (changes) {
      std::fill(mask.begin(), mask.end(), std::uint8_t{1});
    }
    tape.backward(y, random_matrix<double>(11, attention.out(), 3));

    tape.begin(unit, of_unit);
    const Variable series = tape.input(random_matrix<double>(2, 4, 2));
    std::vector<std::uint8_t> observed{1, 1, 0, 1, 1, 0, 1, 1};
    Recording<double> run(tape, Sequences::single(2));
    const auto scaled = scale_series(run, series, SeriesScaling::standard, observed);
    if (changes) {
      std::fill(observed.begin(), observed.end(), std::uint8_t{1});
    }
    tape.backward(scaled.x, random_matrix<double>(2, 4, 3));
    return std::tuple(of_unit, of_attention, Matrix<double>(tape.gradient(series)));
  };
  const auto [unit_kept, attention_kept, series_kept] = gradients(false);
  const auto [unit_changed, attention_changed, series_changed] = gradients(true);
  EXPECT_TRUE(test::same_bits(unit_kept.offset_scale.weight, unit_changed.offset_scale.weight));
  EXPECT_TRUE(test::same_bits(attention_kept.proj_key.weight, attention_changed.proj_key.weight));
  EXPECT_TRUE(test::same_bits(series_kept, series_changed));
}

}  // namespace
}  // namespace gated::recording_test
