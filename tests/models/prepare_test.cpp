#include "gated/models/prepare.hpp"

#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "tests/core/allocations.hpp"
#include "tests/layers/literal.hpp"

namespace gated::prepare_test {
namespace {

using test::random_matrix;
using test::same_bits;

/// A model whose widths are not multiples of the vector width.
template <class T>
GmlpLanguageModel<T> language_model() {
  GmlpLanguageModel<T> model({.vocabulary = 45,
                              .trunk = {.length = 9,
                                        .channels = 23,
                                        .hidden = 70,
                                        .depth = 2,
                                        .causal = true,
                                        .attention_width = 5,
                                        .attention_bias = true}});
  test::randomize(model, 1);
  return model;
}

const std::vector<Index> tokens{1, 2, 3, 44, 0, 7, 8, 9, 10};

template <class T>
void expect_same_numbers() {
  const auto model = language_model<T>();
  const auto prepared = prepare(model);
  Workspace<T> plain, fast, threaded(Threads{3});
  fast.use(prepared);
  threaded.use(prepared);
  const Sequences sequences = Sequences::of_lengths({5, 4});
  const Matrix<T> expected = model.forward(tokens, sequences, plain);
  EXPECT_TRUE(same_bits(model.forward(tokens, sequences, fast), expected));
  EXPECT_TRUE(same_bits(model.forward(tokens, sequences, threaded), expected));

  auto state = model.start(), prepared_state = model.start();
  Matrix<T> logits(1, 45), prepared_logits(1, 45);
  for (const Index token : tokens) {
    model.step(token, state, logits, plain);
    model.step(token, prepared_state, prepared_logits, fast);
    EXPECT_TRUE(same_bits(prepared_logits, logits));
  }
}

TEST(Prepare, ChangesNoBits) {
  expect_same_numbers<float>();
  expect_same_numbers<double>();
}

TEST(Prepare, MatmulReadsThePackedCopy) {
  // Changes to the original weights have no effect, except that a change in an element that gated compares is refused.
  auto model = language_model<float>();
  const auto prepared = prepare(model);
  Workspace<float> plain, fast;
  fast.use(prepared);
  const Sequences one = Sequences::single(9);
  const Matrix<float> before = model.forward(tokens, one, plain);
  for (auto& block : model.trunk.blocks) {
    auto& weight = block.proj_in.weight;
    for (Index i = 1; i + 1 < weight.size(); ++i) {
      weight.data()[i] *= i == weight.size() / 2 ? 1.0f : 0.0f;
    }
  }
  EXPECT_TRUE(same_bits(model.forward(tokens, one, fast), before));
  EXPECT_FALSE(same_bits(model.forward(tokens, one, plain), before));
}

TEST(Prepare, StoresTheFftOfLongToeplitzWeights) {
  for (const bool causal : {false, true}) {
    for (const auto form : {SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
      Gmlp<float> model(
          {.length = 60, .channels = 5, .hidden = 12, .spatial = form, .fourier_from = 8, .causal = causal, .heads = 3});
      test::randomize(model, 1);
      const auto prepared = prepare(model);
      EXPECT_EQ(prepared.count(), 3u);  // U, V and the FFT
      const Matrix<float> x = random_matrix<float>(60, 5, 2);
      const auto one = Sequences::single(60);
      Workspace<float> plain, fast;
      fast.use(prepared);
      const Matrix<float> before = model.forward(x, one, plain);
      EXPECT_TRUE(same_bits(model.forward(x, one, fast), before));
      if (model.blocks[0].gate.proj.is_causal()) {
        const auto streamed = [&](Workspace<float>& workspace) {
          auto state = model.start();
          Matrix<float> y(60, 5);
          for (Index t = 0; t < 60; t += 4) {
            model.extend(x.middleRows(t, 4), state, y.middleRows(t, 4), workspace);
          }
          return y;
        };
        EXPECT_TRUE(same_bits(streamed(fast), streamed(plain)));
      }
      // Products read the stored FFT, so changes to the transformed lags have no effect.
      Matrix<float>& w = model.blocks[0].gate.proj.weight;
      w.middleCols(form == SpatialForm::toeplitz ? 89 : 1, 29) *=
          2;  // the lags from 30 up, except elements compared to detect changes
      EXPECT_TRUE(same_bits(model.forward(x, one, fast), before));
      EXPECT_FALSE(same_bits(model.forward(x, one, plain), before));
    }
  }
}

TEST(Prepare, TheFftNeedsAsManyTimesTheWeightsMemoryAsDocumented) {
  const auto expect_times = [](const SpatialProjectionConfig& config, double least, double most) {
    SpatialProjection<float> projection(config);
    test::randomize(projection, 1);
    const auto times = static_cast<double>(prepare(projection).bytes()) /
                       static_cast<double>(sizeof(float) * static_cast<std::size_t>(projection.weight.size()));
    EXPECT_GE(times, least) << config.length;
    EXPECT_LE(times, most) << config.length;
  };
  for (const Index length : {1024, 1025, 4096, 16385}) {
    expect_times({.length = length, .form = SpatialForm::toeplitz}, 3, 4.1);
    expect_times({.length = length, .causal = true, .form = SpatialForm::toeplitz}, 5, 11);
    expect_times({.length = length, .causal = true, .form = SpatialForm::scaled_toeplitz}, 10, 21);
  }
}

TEST(Prepare, PacksEveryProjectionOfEveryModel) {
  const auto gmlp = language_model<float>();
  EXPECT_EQ(prepare(gmlp).count(), 1u + 2 * 4);  // the embedding; U, V, qkv and the attention's output per block
  EXPECT_EQ(prepare(gmlp).bytes() % 64, 0u);

  GmlpImageClassifier<float> images(
      {.image = {6, 4}, .patch = {3, 2}, .image_channels = 2, .classes = 3, .trunk = {.channels = 6, .hidden = 8}});
  test::randomize(images, 1);
  const auto prepared = prepare(images);
  EXPECT_EQ(prepared.count(), 4u);  // patches, U, V, head
  Workspace<float> plain, fast;
  fast.use(prepared);
  const Matrix<float> x = random_matrix<float>(2, 48, 6);
  EXPECT_TRUE(same_bits(images.forward(x, fast), images.forward(x, plain)));

  FlashLanguageModel<float> flash(
      {.vocabulary = 45,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 1, .block = flash_presets::lucidrains({.channels = 12, .query_key = 8, .chunk = 4})}});
  test::randomize(flash, 1);
  const auto packed = prepare(flash);
  Workspace<float> threaded(Threads{2});
  threaded.use(packed);
  EXPECT_TRUE(
      same_bits(flash.forward(tokens, Sequences::single(9), threaded), flash.forward(tokens, Sequences::single(9), plain)));
}

constexpr WeightFormat small_formats[] = {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows};

/// Expects that `run` returns the same bits with quantized weights as with a float model of the rounded weights.
template <class Model, class Run>
void expect_bits_of_rounded(const Model& model, const Run& run) {
  for (const WeightFormat format : small_formats) {
    const auto weights = prepare(model, format);
    EXPECT_LT(weights.bytes(), prepare(model).bytes() * 3 / 4);
    Model rounded = model;
    round_weights(rounded, format);
    Workspace<float> plain, small, threaded(Threads{3});
    small.use(weights);
    threaded.use(weights);
    const Matrix<float> expected = run(rounded, plain);
    EXPECT_TRUE(same_bits(run(model, small), expected));
    EXPECT_TRUE(same_bits(run(model, threaded), expected));
    EXPECT_FALSE(same_bits(run(model, plain), expected));
  }
}

TEST(Prepare, QuantizedWeightsGiveTheOutputsOfARoundedFloatModel) {
  const auto text = [](const auto& model, auto& workspace) {
    return Matrix<float>(model.forward(tokens, Sequences::of_lengths({5, 4}), workspace));
  };
  const auto stream = [](const auto& model, auto& workspace) {
    auto state = model.start();
    Matrix<float> logits(9, 45);
    for (Index t = 0; t < 6; ++t) {
      model.step(tokens[static_cast<std::size_t>(t)], state, logits.row(t), workspace);
    }
    model.extend(Tokens(tokens).subspan(6), state, logits.bottomRows(3), workspace);
    return logits;
  };
  const auto gmlp = language_model<float>();
  expect_bits_of_rounded(gmlp, text);
  expect_bits_of_rounded(gmlp, stream);

  FlashLanguageModel<float> flash(
      {.vocabulary = 45,
       .token_types = 2,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 1, .block = flash_presets::lucidrains({.channels = 70, .query_key = 8, .chunk = 4})}});
  test::randomize(flash, 1);
  expect_bits_of_rounded(flash, text);

  GmlpImageClassifier<float> images(
      {.image = {6, 4}, .patch = {3, 2}, .image_channels = 2, .classes = 3, .trunk = {.channels = 36, .hidden = 40}});
  test::randomize(images, 1);
  const Matrix<float> x = random_matrix<float>(40, 48, 6);  // enough rows to unpack panels and multiply whole tiles
  expect_bits_of_rounded(images,
                         [&](const auto& model, auto& workspace) { return Matrix<float>(model.forward(x, workspace)); });
}

TEST(Prepare, QuantizedWeightsAllocateNothingWhenWarm) {
  const auto model = language_model<float>();
  for (const WeightFormat format : small_formats) {
    const auto weights = prepare(model, format);
    Workspace<float> workspace;
    workspace.use(weights);
    auto state = model.start();
    Matrix<float> logits(1, 45);
    model.step(1, state, logits, workspace);
    model.step(2, state, logits, workspace);
    EXPECT_EQ(test::allocations_during([&] { model.step(3, state, logits, workspace); }), 0);
  }
}

TEST(Prepare, RefusesToQuantizeUnsupportedWeights) {
  const auto in_double = language_model<double>();
  EXPECT_EQ(test::message_of<ArgumentError>([&] { (void)prepare(in_double, WeightFormat::int8); }),
            "prepare: weights in int8 need a model in float, not double.");
  auto model = language_model<float>();
  model.trunk.blocks[1].proj_in.weight(2, 3) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(test::message_of<ArgumentError>([&] { (void)prepare(model, WeightFormat::bf16); }),
            "prepare: trunk.blocks.1.proj_in.weight holds values that are not finite, or too large for bf16. Load or "
            "initialize the weights first; if they are set, use float32.");
}

TEST(Prepare, AppliesToItsModelOnly) {
  const auto model = language_model<float>();
  auto other = language_model<float>();
  other.trunk.blocks[0].proj_in.weight *= 2;
  const auto prepared = prepare(model);
  Workspace<float> plain, fast;
  fast.use(prepared);
  const Sequences one = Sequences::single(9);
  EXPECT_TRUE(same_bits(other.forward(tokens, one, fast), other.forward(tokens, one, plain)));
}

TEST(Prepare, RefusesWeightsChangedAfterwards) {
  auto model = language_model<float>();
  const auto prepared = prepare(model);
  Workspace<float> plain, fast;
  fast.use(prepared);
  const Sequences one = Sequences::single(9);
  Random random(7);
  const auto changed = model.trunk.blocks[0].proj_in.weight;
  model.trunk.blocks[0].proj_in.weight *= 2;
  const std::string message = test::message_of<ArgumentError>([&] { model.forward(tokens, one, fast); });
  EXPECT_TRUE(message.starts_with("PreparedWeights: a weight of ")) << message;
  EXPECT_NE(message.find("has changed since prepare(). Call prepare() again"), std::string::npos);
  EXPECT_NO_THROW(model.forward(tokens, one, plain));
  model.trunk.blocks[0].proj_in.weight = changed;
  EXPECT_TRUE(same_bits(model.forward(tokens, one, fast), model.forward(tokens, one, plain)));
  model.initialize(random);
  EXPECT_THROW(model.forward(tokens, one, fast), ArgumentError);
  const auto anew = prepare(model);
  fast.use(anew);
  EXPECT_TRUE(same_bits(model.forward(tokens, one, fast), model.forward(tokens, one, plain)));
}

TEST(Prepare, AWarmStepAllocatesNothing) {
  const auto model = language_model<float>();
  const auto prepared = prepare(model);
  Workspace<float> workspace;
  workspace.use(prepared);
  auto state = model.start();
  Matrix<float> logits(1, 45);
  model.step(1, state, logits, workspace);
  EXPECT_EQ(test::allocations_during([&] { model.step(2, state, logits, workspace); }), 0);
}

}  // namespace
}  // namespace gated::prepare_test
