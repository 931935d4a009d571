#include "gated/ops/arithmetic.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <optional>

#include "gated/audio.hpp"
#include "gated/io/csv.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/signature.hpp"
#include "gated/io/wav.hpp"
#include "gated/layers/branchformer_layer.hpp"
#include "gated/layers/external_attention.hpp"
#include "gated/layers/feed_forward.hpp"
#include "gated/layers/light_conv.hpp"
#include "gated/layers/synthesizer_attention.hpp"
#include "gated/models/denoise_stream.hpp"
#include "gated/models/fnet.hpp"
#include "gated/models/generate.hpp"
#include "gated/models/image_classifier.hpp"
#include "gated/models/mossformer2.hpp"
#include "gated/models/pose_head.hpp"
#include "gated/models/resize.hpp"
#include "gated/models/speech_separator.hpp"
#include "gated/models/tiny_time_mixer.hpp"
#include "gated/ops/bf16_products.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/next_token.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"
#include "gated/train/training.hpp"
#include "gated/train/training_run.hpp"
#include "tests/bare_metal/decisions.hpp"
#include "tests/io/files.hpp"
#include "tests/models/trunks.hpp"
#include "tests/ops/restores_kernels.hpp"
#include "tests/ops/signed_models.hpp"

// Portable arithmetic gives the same bits in every form of the kernels and in every build. Change an expected hash only
// deliberately, and say so in the release notes.

namespace gated::portable_test {
namespace {

using test::random_matrix;
using test::same_bits;

class Portable : public test::RestoresKernels {
 protected:
  Portable() { use_arithmetic(Arithmetic::portable); }
  ~Portable() override { use_arithmetic(Arithmetic::fastest); }

  /// Checks that `f()` returns the same bits in all forms of the kernels, and returns its result.
  template <class F>
  static auto expect_same_in_all_forms(const F& f) {
    using Result = decltype(f());
    std::optional<Result> first;
    for (const KernelForm form : available_kernels()) {
      use_kernels(form);
      const Result result = f();
      if (!first) {
        first = result;
      }
      EXPECT_TRUE(same_bits(result, *first)) << detail::word_of(form);
    }
    return *first;
  }
};

template <class T>
Matrix<T> joined(const std::vector<Matrix<T>>& parts) {
  std::vector<T> all;
  for (const Matrix<T>& part : parts) {
    all.insert(all.end(), part.data(), part.data() + part.size());
  }
  return Eigen::Map<const Matrix<T>>(all.data(), 1, static_cast<Index>(all.size()));
}

template <class T>
std::string hash_of_numbers(const Matrix<T>& numbers) {
  detail::NumberHash hash;
  hash.add(numbers);
  return signature_text(hash.value());
}

template <class Model, class T>
void append_parameters(Model& model, std::vector<Matrix<T>>& parts) {
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        parts.push_back(Eigen::Map<const Matrix<T>>(values.data(), 1, static_cast<Index>(values.size())));
      },
      model);
}

/// Appends the gradient of a regression loss of `model(x)`.
template <class Model, class T>
void append_gradient(const Model& model, const Matrix<T>& x, const Sequences& sequences, std::vector<Matrix<T>>& parts) {
  Model gradient = zeros_like(model);
  Tape<T> tape;
  tape.begin(model, gradient);
  const Variable y = record(tape, model, tape.input(x), sequences);
  const Matrix<T> target = random_matrix<T>(tape.rows(y), tape.columns(y), 3);
  tape.backward(regression_loss<T>(tape, y, target));
  append_parameters(gradient, parts);
}

/// All results of a trunk in one row: outputs of forward() and of stream steps, and gradients.
template <class Model>
auto everything(const Model& model, const Matrix<typename Model::Scalar>& x, const Sequences& sequences, int threads) {
  using T = typename Model::Scalar;
  Workspace<T> workspace{Threads(threads)};
  std::vector<Matrix<T>> parts{model.forward(x, sequences, workspace)};
  if (model.contract().streams()) {
    State<T> state = model.start(sequences.length(0));
    Matrix<T> y(sequences.length(0), model.out());
    for (Index t = 0; t < y.rows(); ++t) {
      model.extend(x.middleRows(t, 1), state, y.middleRows(t, 1), workspace);
    }
    parts.push_back(y);
  }
  append_gradient(model, x, sequences, parts);
  return joined(parts);
}

/// A kind of trunk with the expected hash of everything() over all its configurations.
template <class Kind, std::uint64_t expected>
struct Listed : Kind {
  static constexpr std::uint64_t hash = expected;
};

template <class Kind>
class PortableTrunk : public Portable {
 protected:
  /// Expects the same bits in all forms, with a different number of threads in each, and the hash of Kind. The first of the
  /// sequences is the longest.
  void expect_portable(const Sequences& sequences) {
    detail::NumberHash hash;
    add_portable<float>(sequences, hash);
    add_portable<double>(sequences, hash);
    EXPECT_EQ(signature_text(hash.value()), signature_text(Kind::hash));
  }

 private:
  template <class T>
  void add_portable(const Sequences& sequences, detail::NumberHash& hash) {
    for (const bool causal : {false, true}) {
      for (const auto& config : Kind::configs(causal, sequences.length(0))) {
        typename Kind::template Trunk<T> model(config);
        test::randomize(model, 1);
        const Matrix<T> x = random_matrix<T>(sequences.total(), test::small_channels, 2);
        SCOPED_TRACE(text(Kind::architecture, causal ? ", causal" : ""));
        int threads = 0;
        hash.add(this->expect_same_in_all_forms([&] { return everything(model, x, sequences, ++threads); }));
      }
    }
  }
};
/// Configurations of the trunks that mix tokens by convolutions: MossFormer2, LightConv and E-Branchformer.
struct OfMossFormerBlocks {
  template <class T>
  using Trunk = Stack<MossFormerBlock<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.MossFormerBlock>";
  static std::vector<MossFormer2Config> configs(bool causal, Index) {
    MossFormerBlockConfig block{
        .channels = test::small_channels,
        .attention = {.query_key = 8, .chunk = 5, .kernel = 3, .rotary_dimensions = 4, .causal = causal},
        .fsmn = {.inner = 5, .order = 3, .kernel = 3, .causal = causal}};
    std::vector<MossFormer2Config> all{{.depth = 1, .block = block}};
    if (!causal) {
      block.fsmn.dilated = true;
      all.push_back({.depth = 1, .block = block});
    }
    return all;
  }
};
struct OfLightConvBlocks {
  template <class T>
  using Trunk = Stack<LightConvBlock<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.MixerBlock<gated.LightConv,gated.FeedForward>>";
  static std::vector<Trunk<float>::Config> configs(bool causal, Index) {
    Trunk<float>::Config learned{.depth = 2,
                                 .block = {.channels = test::small_channels,
                                           .token_mixer = {.heads = 2, .kernel = 5, .causal = causal},
                                           .channel_mixer = {.hidden = 7}}};
    Trunk<float>::Config predicted = learned;
    predicted.block.token_mixer.form = ConvolutionForm::dynamic;
    return {learned, predicted};
  }
};
struct OfBranchformerLayers {
  template <class T>
  using Trunk = Stack<BranchformerLayer<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.BranchformerLayer>";
  static std::vector<StackConfig<BranchformerLayerConfig>> configs(bool causal, Index) {
    std::vector<StackConfig<BranchformerLayerConfig>> all;
    for (const auto position : {ScorePosition::none, ScorePosition::key, ScorePosition::offset}) {
      all.push_back({.depth = 1,
                     .block = {.channels = test::small_channels,
                               .heads = 2,
                               .position = position,
                               .hidden = 9,
                               .gate_hidden = 10,
                               .gate_kernel = 5,
                               .merge_kernel = 3,
                               .causal = causal,
                               .causal_attention = causal}});
    }
    return all;
  }
};
struct OfExternalAttention {
  template <class T>
  using Trunk = Stack<MixerBlock<ExternalAttention<T>, GluFeedForward<T>>>;
  static constexpr const char* architecture = "gated.Stack<gated.MixerBlock<gated.ExternalAttention,gated.GluFeedForward>>";
  static std::vector<Trunk<float>::Config> configs(bool causal, Index) {
    if (causal) {
      return {};
    }
    return {
        {.depth = 1,
         .block = {
             .channels = test::small_channels, .token_mixer = {.heads = 2, .memories = 9}, .channel_mixer = {.hidden = 7}}}};
  }
};
using Kinds = testing::Types<
    Listed<test::OfGmlpBlocks, 0x60229cb493eb1edc>, Listed<test::OfMixedChunkAttention, 0x0525ee8fe2c96416>,
    Listed<test::OfGatedAttentionUnits, 0x9b74a996d4b00335>, Listed<test::OfTransformerBlocks, 0x20b3bf1aaf27de55>,
    Listed<test::OfChunkedTransformerBlocks, 0x3d7cc710a83b3b5f>, Listed<test::OfMixerBlocks, 0xca589c8d5ed4c66e>,
    Listed<test::OfPlainBlocks, 0x475d3d9e0c63cf0d>, Listed<OfMossFormerBlocks, 0x84678717c4360d9e>,
    Listed<test::OfTextTransformerBlocks, 0xe246f2cf1eda983b>, Listed<OfLightConvBlocks, 0x45f1c47d84453414>,
    Listed<OfBranchformerLayers, 0x0e7ed08ecd62ba1f>, Listed<OfExternalAttention, 0x7c9fe0fb235f90e2>>;
TYPED_TEST_SUITE(PortableTrunk, Kinds);

TYPED_TEST(PortableTrunk, HasTheSameBitsInAllFormsAndBuilds) {
  this->expect_portable(Sequences::of_lengths({test::small_length, 5, 1}));
}

template <class Kind>
class PortableLongAttention : public PortableTrunk<Kind> {};
using AttentionKinds = testing::Types<Listed<test::OfGatedAttentionUnits, 0xb5aa9a99e88e3119>,
                                      Listed<test::OfTransformerBlocks, 0x053bf4dee7b24dc9>,
                                      Listed<test::OfTextTransformerBlocks, 0x3db342c0fe1b15ce>>;
TYPED_TEST_SUITE(PortableLongAttention, AttentionKinds);

TYPED_TEST(PortableLongAttention, HasTheSameBitsInAllFormsAndBuilds) {
  this->expect_portable(Sequences::of_lengths({detail::query_block + 44, 130}));  // two blocks of queries, several of keys
}

TEST_F(Portable, SignedModelsHaveTheirSignaturesInAllForms) {
  test::for_each_signed_model([]<class Model>(const Model& model, const char* expected, const char* with_int8) {
    for (const KernelForm form : available_kernels()) {
      use_kernels(form);
      SCOPED_TRACE(text("the model of signature ", expected, " with kernels for ", detail::word_of(form)));
      EXPECT_EQ(signature_text(signature(model)), expected);
      if constexpr (std::is_same_v<typename Model::Scalar, float>) {
        EXPECT_EQ(signature_text(signature(model, {.int8_products = true})), with_int8);
      }
    }
  });
}

TEST_F(Portable, LongToeplitzWeightsHaveTheSameBitsInAllFormsAndBuilds) {
  for (const bool causal : {false, true}) {
    GmlpConfig config = test::causal_gmlp;
    config.length = 1100;
    config.length_policy = LengthPolicy::slice;
    config.spatial = SpatialForm::toeplitz;
    config.causal = causal;
    const auto model = test::model_to_sign<Gmlp<float>>(config);
    const Sequences sequences = Sequences::of_lengths({1100, 700});
    const Matrix<float> x = random_matrix<float>(1800, 40, 2);
    const Matrix<float> result = expect_same_in_all_forms([&] {
      Workspace<float> plain, packed;
      const Matrix<float> y = model.forward(x, sequences, plain);
      const auto prepared = prepare(model);
      packed.use(prepared);
      EXPECT_TRUE(same_bits(model.forward(x, sequences, packed), y));
      if (!causal) {
        return y;
      }
      State<float> state = model.start(1100);
      Matrix<float> steps(1100, 40);
      for (Index t = 0; t < steps.rows(); ++t) {
        model.extend(x.middleRows(t, 1), state, steps.middleRows(t, 1), packed);
      }
      return joined<float>({y, steps});
    });
    EXPECT_EQ(hash_of_numbers(result), causal ? "3f22180585d3b094" : "dd83ef5a2405f1f3");
  }
}

/// Trains the model of examples/train_digits on its images for 100 steps, with dropout and stochastic depth. Compares the
/// losses, and the outputs of the last and averaged model.
TEST_F(Portable, TrainingHasTheSameBitsInAllFormsAndBuilds) {
  using Model = GmlpImageClassifier<float>;
  const Model::Config config{.image = {8, 8},
                             .patch = {1, 1},
                             .image_channels = 1,
                             .classes = 10,
                             .trunk = {.channels = 32, .hidden = 128, .depth = 4, .drop_path = 0.1}};
  const Matrix<float> digits = read_csv<float>(GATED_REFERENCE_DIR "/../../examples/classify_digits/digits.csv");
  constexpr Index batch = 8;
  const Matrix<float> losses_and_model = expect_same_in_all_forms([&] {
    Training<Model> training({.model = config,
                              .optimizer = {.learning_rate = 6e-3, .weight_decay = 1},
                              .schedule = {.form = ScheduleForm::cosine, .warmup = 40, .steps = 100},
                              .clip_norm = 1,
                              .average_decay = 0.9,
                              .tape = {.residual_dropout = 0.1}},
                             Random(5));
    Matrix<float> losses(1, 100);
    std::vector<Index> labels(batch);
    for (Index step = 0; step < losses.cols(); ++step) {
      const auto rows = digits.middleRows(batch * step, batch);
      const Matrix<float> images = rows.leftCols(64) / 8.0F - Matrix<float>::Ones(batch, 64);  // pixels are 0 to 16
      for (Index i = 0; i < batch; ++i) {
        labels[static_cast<std::size_t>(i)] = static_cast<Index>(rows(i, 64));
      }
      losses(0, step) = static_cast<float>(training.step(
          [&](auto& run) { return cross_entropy(run(training.model, images), labels, {.label_smoothing = 0.1}); }));
    }
    EXPECT_LT(losses.rightCols(10).mean(), 0.9F * losses.leftCols(10).mean());
    Workspace<float> workspace;
    const Matrix<float> images = digits.bottomRows(16).leftCols(64) / 16.0F;
    return joined<float>({losses, training.model.forward(images, workspace), training.average->forward(images, workspace)});
  });
  EXPECT_EQ(hash_of_numbers(losses_and_model), "d0056a4381fb59d1");
}

/// Products, sums and activations of numbers below the smallest normal one: they keep their bits, and never become 0.
TEST_F(Portable, SubnormalNumbersHaveTheSameBitsInAllFormsAndBuilds) {
  Random random(1);
  const FeedForward<float> up({.channels = 40, .hidden = 72, .bias = false}, random);
  const Matrix<float> x = random_matrix<float>(9, 40, 2) * 1e-39F;
  const Matrix<float> y = expect_same_in_all_forms([&] {
    Workspace<float> workspace;
    return up.forward(x, workspace);
  });
  EXPECT_GT(y.cwiseAbs().maxCoeff(), 0.0F);
  EXPECT_LT(y.cwiseAbs().maxCoeff(), std::numeric_limits<float>::min());
  EXPECT_EQ(hash_of_numbers(y), "cdfa606f2d16f334");
}

TEST_F(Portable, QuantizedGmlpsHaveTheSameBitsInAllFormsAndBuilds) {
  const auto model = test::model_to_sign<Gmlp<float>>(test::causal_gmlp);
  const Matrix<float> x = random_matrix<float>(128, 40, 2);
  for (const auto& [format, expected] :
       {std::pair{WeightFormat::bf16, "28dcb1571ba61b08"}, std::pair{WeightFormat::int8, "b60c58f52783f2c6"},
        std::pair{WeightFormat::int8_rows, "da4fa817d7f8ac9d"}}) {
    SCOPED_TRACE(name_of(format));
    const Matrix<float> result = expect_same_in_all_forms([&, to = format] {
      const auto prepared = prepare(model, to);
      Workspace<float> workspace;
      workspace.use(prepared);
      workspace.use(bf16_products());  // null in portable arithmetic: products stay in float
      return model.forward(x, Sequences::single(128), workspace);
    });
    EXPECT_EQ(hash_of_numbers(result), expected);
  }
}

TEST_F(Portable, SoundHasTheSameBitsInAllFormsAndBuilds) {
  const Vector<double> x = test::random_vector<double>(4000, 1, 0.1);
  const auto everything = [&] {
    std::vector<Matrix<double>> parts{log_mel_features<double>(x, mossformer2_features()), mfcc<double>(x, keyword_mlp_mfcc()),
                                      resample<double>(x, 44100, 16000)};
    for (const Index length : {81, 82, 480}) {  // 81 is odd; 82 has a prime factor above 7
      const SpectrumOptions options{.length = length, .hop = length / 3};
      const Matrix<double> mask = power_spectrum<double>(x, options);
      parts.push_back(mask);
      parts.push_back(apply_mask<double>(x, mask, options));
    }
    return joined(parts);
  };
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms(everything)), "48f0f07bb2e93ae6");
}

TEST_F(Portable, ResizedWeightsHaveTheSameBitsInAllFormsAndBuilds) {
  TokenMlp<double> mlp({.channels = 5, .length = 12, .hidden = 9, .norm = true});
  test::randomize(mlp, 1);
  SpatialProjection<double> spatial({.length = 12});
  test::randomize(spatial, 2);
  const auto everything = [&] {
    const auto one = resize_grid(mlp, {3, 4}, {7, 5}, GridResize::bilinear);
    const auto other = resize_grid(spatial, {3, 4}, {7, 5}, GridResize::bilinear);
    return joined(std::vector<Matrix<double>>{one.proj_in.weight, one.proj_out.weight, one.norm->weight, one.norm->bias,
                                              other.weight, other.bias});
  };
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms(everything)), "9b5b1a4e229c40d8");
}

/// Output and gradient of a model whose rows are no tokens.
template <class Model>
Matrix<float> of_rows(const Model& model, const Matrix<float>& x) {
  Workspace<float> workspace;
  std::vector<Matrix<float>> parts{model.forward(x, workspace)};
  append_gradient(model, x, Sequences::single(x.rows()), parts);
  return joined(parts);
}

/// A small causal language model.
using TextModel = LanguageModel<Stack<TransformerBlock<float>>>;
TextModel::Config text_model() {
  return {.vocabulary = 31,
          .position = PositionForm::sinusoid,
          .head = {.norm = NormForm::layer_norm, .bias = true},
          .trunk = test::OfTransformerBlocks::configs(true)[0]};
}

/// Trains `config` with dropout for 20 steps of `loss(run, model)`. Returns the losses and the trained parameters.
template <class Model, class Loss>
Matrix<float> trained(const typename Model::Config& config, const Loss& loss) {
  Training<Model> training(
      {.model = config, .clip_norm = 1, .tape = {.attention_dropout = 0.1, .embedding_dropout = 0.1, .residual_dropout = 0.1}},
      Random(5));
  Matrix<float> losses(1, 20);
  for (Index step = 0; step < losses.cols(); ++step) {
    losses(0, step) = static_cast<float>(training.step([&](auto& run) { return loss(run, training.model); }));
  }
  EXPECT_LT(losses(0, losses.cols() - 1), losses(0, 0));
  std::vector<Matrix<float>> parts{losses};
  append_parameters(training.model, parts);
  return joined(parts);
}

TEST_F(Portable, ForecastersAndTextModelsTrainToTheSameBits) {
  const TinyTimeMixerConfig series{.series = 3,
                                   .context = 21,
                                   .patch = 6,
                                   .stride = 4,
                                   .horizon = 5,
                                   .backbone = {.channels = 12, .depth = 1, .levels = 2},
                                   .decoder = {.channels = 6, .depth = 1, .mixes_series = true},
                                   .dropout = 0.1,
                                   .head_dropout = 0.1};
  const Matrix<float> past = random_matrix<float>(6, 21, 3), future = random_matrix<float>(6, 5, 4);
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms([&] {
              return trained<TinyTimeMixer<float>>(series, [&](auto& run, const auto& model) {
                return regression_loss(run(model, past, Sequences::uniform(2, 3)), future);
              });
            })),
            "24baa21e71a41150");
  const Sequences texts = Sequences::of_lengths({20, 13});
  const std::vector<Index> tokens = test::random_tokens(texts.total(), 31);
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms([&] {
              return trained<TextModel>(text_model(), [&](auto& run, const auto& model) {
                return cross_entropy(run(model, tokens, texts), next_token_targets(model, tokens, texts));
              });
            })),
            "05498814159aa354");
}

TEST_F(Portable, GeneratedTokensAreTheSameInAllFormsAndBuilds) {
  const auto model = test::model_to_sign<TextModel>(text_model());
  const auto texts = [&] {
    std::vector<double> tokens;
    for (const Sampling& sampling : {Sampling{.temperature = 0.7}, Sampling{.top_k = 5}, Sampling{.top_p = 0.8},
                                     Sampling{.temperature = 1.3, .top_k = 9, .top_p = 0.9}}) {
      for (const Index token : generate(model, std::vector<Index>{1, 2}, sampling, 30, Random(3))) {
        tokens.push_back(static_cast<double>(token));
      }
    }
    return Matrix<double>(Eigen::Map<const Matrix<double>>(tokens.data(), 1, static_cast<Index>(tokens.size())));
  };
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms(texts)), "2f765e94c7dd7207");
}

TEST_F(Portable, DenoisedSoundHasTheSameBitsInAllFormsAndBuilds) {
  const auto model = test::model_to_sign<SpeechDenoiser<float>>(
      {.rate = 8000,
       .length = 21,
       .hop = 8,
       .blocks = {.depth = 2, .block = {.channels = 12, .inner = 8, .order = 3, .kernel = 4, .causal = true}}});
  const Matrix<float> noisy = random_matrix<float>(1, 203, 2, 0.1);
  const auto stream = [&] {
    Matrix<float> clean = noisy;
    const std::span samples(clean.data(), static_cast<std::size_t>(clean.size()));
    DenoiseStream<float>(model).process(samples, samples);
    return clean;
  };
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms(stream)), "f6e8f04fe7e5fc25");
}

TEST_F(Portable, SeparatedSpeechHasTheSameBitsInAllFormsAndBuilds) {
  const auto model = test::model_to_sign<SpeechSeparator<float>>(
      {.window = 6,
       .masks = {.features = 10, .outputs = 10, .speakers = 2, .trunk = OfMossFormerBlocks::configs(false, 0)[0]}});
  const Matrix<float> waves = random_matrix<float>(2, 100, 2);
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms([&] { return of_rows(model, waves); })), "964b535c84b75b1b");
}

TEST_F(Portable, PosesHaveTheSameBitsInAllFormsAndBuilds) {
  const auto head = test::model_to_sign<PoseHead<float>>({.feature_channels = 3,
                                                          .features = {4, 2},
                                                          .input = {32, 24},
                                                          .key_points = 5,
                                                          .kernel = 3,
                                                          .unit = gau_presets::rtmcc({.channels = 20, .query_key = 6}),
                                                          .simcc = {.visibility = true, .beta = 0.1}});
  const Matrix<float> features = random_matrix<float>(3, head.in(), 2);
  const auto poses = [&] {
    Workspace<float> workspace;
    std::vector<Matrix<float>> parts{of_rows(head, features)};
    for (const KeyPoint<float>& point : head.decode(head.forward(features, workspace))) {
      parts.push_back(Matrix<float>{{point.x, point.y, point.score, point.visibility}});
    }
    return joined(parts);
  };
  EXPECT_EQ(hash_of_numbers(expect_same_in_all_forms(poses)), "65a5cffc8c08cc48");
}

TEST_F(Portable, PreparedPicturesHaveTheSameBitsInAllBuilds) {
  Image picture{50, 37, 3, std::vector<std::uint8_t>(50 * 37 * 3)};
  Random random(1);
  for (std::uint8_t& byte : picture.pixels) {
    byte = static_cast<std::uint8_t>(random.bits() >> 56);
  }
  std::vector<Matrix<float>> parts;
  for (const auto interpolation : {Interpolation::bicubic, Interpolation::bilinear}) {
    for (const ImageSize size : {ImageSize{24, 16}, ImageSize{64, 88}}) {  // smaller and larger than the picture
      parts.push_back(image_input<float>(
          picture, GmlpImageClassifierConfig{.image = size, .patch = {8, 8}, .interpolation = interpolation}));
    }
  }
  EXPECT_EQ(hash_of_numbers(joined(parts)), "32269154bb1d44c1");
}

TEST_F(Portable, ARunKeepsItsArithmetic) {
  const auto model = test::model_to_sign<Gmlp<float>>(test::causal_gmlp);
  const Matrix<float> x = random_matrix<float>(128, 40, 2);
  const auto forward = [&](const Workspace<float>::Hook& hook = nullptr) {
    Workspace<float> workspace;
    workspace.set_hook(hook);
    return model.forward(x, Sequences::single(128), workspace);
  };
  const Matrix<float> expected = forward();
  const std::uint64_t in_portable_arithmetic = signature(model);
  EXPECT_EQ(arithmetic(), Arithmetic::portable);
  EXPECT_TRUE(same_bits(forward([](const auto&, const auto&) { use_arithmetic(Arithmetic::fastest); }), expected));
  EXPECT_EQ(arithmetic(), Arithmetic::fastest);
  EXPECT_EQ(signature(model), in_portable_arithmetic);
  EXPECT_EQ(arithmetic(), Arithmetic::fastest);
}

TEST_F(Portable, ATrainingStepKeepsItsArithmetic) {
  using Model = GmlpImageClassifier<float>;
  const Model::Config config{.image = {8, 8}, .patch = {2, 2}, .classes = 10, .trunk = {.channels = 24, .hidden = 48}};
  const Matrix<float> images = random_matrix<float>(2, 3 * 64, 4);
  const std::vector<Index> labels{3, 7};
  const auto gradient = [&](Arithmetic after_the_loss) {
    use_arithmetic(Arithmetic::portable);
    Training<Model> training({.model = config}, Random(5));
    training.step([&](auto& run) {
      const auto loss = cross_entropy(run(training.model, images), labels);
      use_arithmetic(after_the_loss);
      return loss;
    });
    std::vector<Matrix<float>> parts;
    append_parameters(training.optimizer.first, parts);
    return joined(parts);
  };
  EXPECT_TRUE(same_bits(gradient(Arithmetic::fastest), gradient(Arithmetic::portable)));
}

TEST_F(Portable, KeywordsEqualThoseOfAMicrocontroller) {  // as in tests/bare_metal/words.cpp
  const std::string folder = GATED_REFERENCE_DIR "/../../examples/spot_words/";
  const auto model = load_model<GmlpImageClassifier<float>>(folder + "ten_words.safetensors");
  const Sound sound = read_wav(folder + "three_words.wav");
  for (std::size_t i = 0; i < test::window_starts.size(); ++i) {
    const Index start = static_cast<Index>(test::window_starts[i]),
                count = std::min<Index>(16000, sound.samples.rows() - start);
    const auto scores = expect_same_in_all_forms([&] {
      const Matrix<float> frames = mfcc<float>(sound.samples.col(0).segment(start, count), keyword_mlp_mfcc());
      Matrix<float> image = Eigen::Map<const Matrix<float>>(frames.data(), 1, frames.size());
      scale_pixels<float>(image, model.config);
      Workspace<float> workspace;
      return model.forward(image, workspace);
    });
    const test::Decision decision = test::decision_of(std::span(scores.data(), static_cast<std::size_t>(scores.size())));
    EXPECT_EQ(decision, test::desk_decisions[i])
        << "window " << i << ": class " << decision.label << ", bits 0x" << std::hex << decision.hash;
  }
}

TEST_F(Portable, TheEnvironmentVariableNamesTheArithmetic) {
  EXPECT_EQ(detail::arithmetic_named(nullptr), 0);
  EXPECT_EQ(detail::arithmetic_named(""), 0);
  EXPECT_EQ(detail::arithmetic_named("fastest"), 0);
  EXPECT_EQ(detail::arithmetic_named("portable"), detail::portable_bit);
  detail::chosen_arithmetic = detail::arithmetic_named("Portable");  // normally set before main(), by GATED_ARITHMETIC
  const auto model = test::model_to_sign<Gmlp<float>>(test::causal_gmlp);
  Workspace<float> workspace;
  const std::string message = test::message_of<ArgumentError>(
      [&] { model.forward(random_matrix<float>(128, 40, 2), Sequences::single(128), workspace); });
  EXPECT_NE(message.find("GATED_ARITHMETIC"), message.npos) << message;
  EXPECT_NE(message.find("expected fastest or portable."), message.npos) << message;
}

TEST_F(Portable, ARefusedSignatureSaysWhatDiffers) {
  const auto model = test::model_to_sign<Gmlp<float>>(test::causal_gmlp);
  const auto path = test::temporary("signed.safetensors");
  for (const auto& [entry, expected] :
       {std::pair{"signature_arithmetic", "The arithmetic differs"}, std::pair{"signature_input", "The input differs"}}) {
    auto metadata = signatures(model);
    metadata["signature"] = metadata[entry] = "0123456789abcdef";
    save_model(model, path, metadata);
    const SafetensorsFile file(path);
    const std::string message = test::message_of<FileError>([&] { expect_signature(model, file); });
    EXPECT_NE(message.find(expected), message.npos) << message;
  }
}

TEST_F(Portable, SignaturesAreStoredInFilesAndVerified) {
  auto model = test::model_to_sign<Gmlp<float>>(test::causal_gmlp);
  const auto path = test::temporary("signed.safetensors");
  save_model(model, path, signatures(model));
  {
    const SafetensorsFile file(path);
    EXPECT_NO_THROW(expect_signature(load_model<Gmlp<float>>(file), file));
    model.blocks[0].proj_in.weight(0, 0) += 1;
    const std::string message = test::message_of<FileError>([&] { expect_signature(model, file); });
    EXPECT_NE(message.find("The model differs"), message.npos) << message;
  }
  auto int8_only = signatures(model);
  int8_only.erase("signature");
  save_model(model, path, int8_only);
  EXPECT_NO_THROW(expect_signature(model, SafetensorsFile(path)));
  int8_only["signature_int8"] = "0123456789abcdef";
  save_model(model, path, int8_only);
  const std::string other = test::message_of<FileError>([&] { expect_signature(model, SafetensorsFile(path)); });
  EXPECT_NE(other.find("the model's signature_int8 is "), other.npos) << other;

  save_model(model, path, signatures(model));
  {
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(-1, std::ios::end);  // the last weight's sign
    bytes.put('\x7f');
  }
  const std::string damaged = test::message_of<FileError>([&] { expect_signature(model, SafetensorsFile(path)); });
  EXPECT_NE(damaged.find("damaged"), damaged.npos) << damaged;

  save_model(model, path);
  const SafetensorsFile unsigned_file(path);
  const std::string message = test::message_of<FileError>([&] { expect_signature(model, unsigned_file); });
  EXPECT_NE(message.find("no signature"), message.npos) << message;
}

}  // namespace
}  // namespace gated::portable_test
