#include "gated/ops/arithmetic.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "gated/io/signature.hpp"
#include "gated/layers/synthesizer_attention.hpp"
#include "gated/models/fnet.hpp"
#include "gated/models/tiny_time_mixer.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"
#include "tests/models/trunks.hpp"
#include "tests/ops/restores_kernels.hpp"

// Portable arithmetic: the same bits in every form of the kernels, and in every build, whose signatures are listed here. A
// signature that changes is a decision: it belongs into the changes of a release.

namespace gated::portable_test {
namespace {

using test::random_matrix;
using test::same_bits;

class Portable : public test::RestoresKernels {
 protected:
  Portable() { use_arithmetic(Arithmetic::portable); }
  ~Portable() override { use_arithmetic(Arithmetic::fastest); }

  /// Expects that `f()`, which returns numbers, returns the same bits in all forms.
  template <class F>
  static void expect_same_in_all_forms(const F& f) {
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

/// All that a trunk computes: forward(), steps, and the gradients of a recording.
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
  Model gradient = zeros_like(model);
  Tape<T> tape;
  tape.begin(model, gradient);
  const Variable y = record(tape, model, tape.input(x), sequences);
  const Matrix<T> target = random_matrix<T>(tape.rows(y), tape.columns(y), 3);
  tape.backward(regression_loss<T>(tape, y, target));
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        parts.push_back(Eigen::Map<const Matrix<T>>(values.data(), 1, static_cast<Index>(values.size())));
      },
      gradient);
  return joined(parts);
}

template <class Kind, class T>
void expect_portable(const auto& expect_same) {
  for (const bool causal : {false, true}) {
    for (const auto& config : Kind::configs(causal)) {
      typename Kind::template Trunk<T> model(config);
      test::randomize(model, 1);
      const Sequences sequences = Sequences::of_lengths({test::small_length, 5, 1});
      const Matrix<T> x = random_matrix<T>(sequences.total(), test::small_channels, 2);
      SCOPED_TRACE(text(Kind::architecture, causal ? ", causal" : ""));
      int threads = 0;  // 1, 2, …: another number for each form
      expect_same([&] { return everything(model, x, sequences, ++threads); });
    }
  }
}

template <class T>
class PortableTrunk : public Portable {};
using Kinds = testing::Types<test::OfGmlpBlocks, test::OfMixedChunkAttention, test::OfGatedAttentionUnits, test::OfTransformerBlocks,
                             test::OfChunkedTransformerBlocks, test::OfMixerBlocks, test::OfPlainBlocks>;
TYPED_TEST_SUITE(PortableTrunk, Kinds);

TYPED_TEST(PortableTrunk, HasTheSameBitsInAllForms) {
  expect_portable<TypeParam, float>([&](auto f) { this->expect_same_in_all_forms(f); });
  expect_portable<TypeParam, double>([&](auto f) { this->expect_same_in_all_forms(f); });
}

/// Expects that the forward pass of `model`, its steps and that with int8 products have one signature in all forms, which is
/// `expected` in every build.
template <class Model>
void expect_signature(const Model& model, const char* expected, const char* with_int8 = "") {
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    SCOPED_TRACE(detail::word_of(form));
    EXPECT_EQ(signature_text(signature(model)), expected);
    if constexpr (std::is_same_v<typename Model::Scalar, float>) {
      EXPECT_EQ(signature_text(signature(model, {.int8_products = true})), with_int8);
    }
  }
}

template <class Model>
Model random_model(const typename Model::Config& config) {
  Model model(config);
  test::randomize(model, 1);
  return model;
}

constexpr GmlpConfig causal_gmlp{.length = 128, .channels = 40, .hidden = 72, .depth = 2, .causal = true};

TEST_F(Portable, SignaturesOfGmlps) {
  GmlpConfig config = causal_gmlp;
  expect_signature(random_model<Gmlp<float>>(config), "", "");
  expect_signature(random_model<Gmlp<double>>(config), "");
  config.causal = false;
  config.attention_width = 16;
  expect_signature(random_model<Gmlp<float>>(config), "", "");
}

TEST_F(Portable, SignaturesOfLongToeplitzWeights) {
  for (const bool causal : {false, true}) {
    GmlpConfig config = causal_gmlp;
    config.length = 1100;
    config.length_policy = LengthPolicy::slice;
    config.spatial = SpatialForm::toeplitz;
    config.causal = causal;
    const auto model = random_model<Gmlp<float>>(config);
    const Sequences sequences = Sequences::of_lengths({1100, 700});
    const Matrix<float> x = random_matrix<float>(1800, 40, 2);
    expect_same_in_all_forms([&] {
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
  }
}

TEST_F(Portable, SignaturesOfFlash) {
  for (const auto& [causal, expected, with_int8] : {std::tuple{false, "", ""}, std::tuple{true, "", ""}}) {
    const flash_presets::Sizes sizes{.channels = 40, .query_key = 16, .chunk = 16, .causal = causal};
    expect_signature(random_model<Flash<float>>({.depth = 2, .block = flash_presets::lucidrains(sizes)}), expected, with_int8);
  }
}

TEST_F(Portable, SignaturesOfAttentionUnits) {
  const gau_presets::Sizes sizes{.channels = 40, .max_length = 128, .query_key = 16};
  expect_signature(random_model<Stack<GatedAttentionUnit<float>>>({.depth = 2, .block = gau_presets::gau_alpha(sizes)}), "", "");
  expect_signature(random_model<Stack<GatedAttentionUnit<float>>>({.depth = 2, .block = gau_presets::rtmcc(sizes)}), "", "");
}

TEST_F(Portable, SignaturesOfSynthesizers) {
  using Block = MixerBlock<SynthesizerAttention<float>, GluFeedForward<float>>;
  expect_signature(random_model<Stack<Block>>({.depth = 1,
                                               .block = {.channels = 40,
                                                         .token_mixer = {.heads = 2, .max_length = 128, .form = SynthesizerForm::dense, .mixture = SynthesizerMixture::learned},
                                                         .channel_mixer = {.hidden = 50}}}),
                   "", "");
}

TEST_F(Portable, SignaturesOfFnets) {
  for (const auto& [length, expected, with_int8] : {std::tuple{Index{128}, "", ""}, std::tuple{Index{22}, "", ""}}) {
    const FnetSizes sizes{.channels = 26, .hidden = 40, .depth = 2, .vocabulary = 31, .max_length = length};
    expect_signature(random_model<Fnet<float>>(fnet(FnetHead::masked_words, sizes)), expected, with_int8);
  }
}

TEST_F(Portable, SignaturesOfForecasters) {
  expect_signature(random_model<TinyTimeMixer<float>>({.series = 3,
                                                       .context = 21,
                                                       .patch = 6,
                                                       .stride = 4,
                                                       .horizon = 5,
                                                       .backbone = {.channels = 24, .depth = 1, .levels = 2},
                                                       .decoder = {.channels = 20, .depth = 1}}),
                   "", "");
}

}  // namespace
}  // namespace gated::portable_test
