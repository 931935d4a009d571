#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"
#include "tests/io/files.hpp"
#include "tests/layers/literal.hpp"
#include "tests/models/gmlps.hpp"
#include "tests/stress/stress.hpp"

// Tests random valid configurations of every kind of model. A sequence has the same output bits in a ragged batch and alone.
// Threads and packed weights change no bit. Models round-trip through files. Streaming is bit-equal to forward(). A model with
// n values consumes about n values of a ParameterBudget.
//
// A failure names the seed and the configuration. GATED_STRESS_SEED=<seed> GATED_STRESS_MODELS=1 runs only that configuration.

namespace gated {
namespace {

using test::from_environment;
using test::same_bits;

/// Draws random settings.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  /// A number in [low, high].
  Index number(Index low, Index high) {
    return low + static_cast<Index>(random_.bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return number(0, 1) == 1; }
  template <class E>
  E any() {
    const auto names = names_of(E{});
    return names[static_cast<std::size_t>(number(0, static_cast<Index>(names.size()) - 1))].first;
  }
  std::vector<Index> numbers(Index count, Index low, Index high) {
    std::vector<Index> result;
    for (Index i = 0; i < count; ++i) {
      result.push_back(number(low, high));
    }
    return result;
  }

 private:
  Random random_;
};

/// The input of a model: concatenated sequences of token ids or rows, and possibly a mask.
template <class T>
struct Input {
  std::vector<Index> tokens = {};
  Matrix<T> rows = {};
  std::vector<std::uint8_t> mask = {};

  Input part(Index first, Index count) const {
    Input result;
    if (!tokens.empty()) {
      result.tokens.assign(tokens.begin() + first, tokens.begin() + first + count);
    }
    if (rows.rows() > 0) {
      result.rows = rows.middleRows(first, count);
    }
    if (!mask.empty()) {
      result.mask.assign(mask.begin() + first, mask.begin() + first + count);
    }
    return result;
  }
};

/// No mask, or a random mask that keeps the first token of every sequence.
std::vector<std::uint8_t> random_mask(Dice& dice, const std::vector<Index>& lengths) {
  std::vector<std::uint8_t> mask;
  if (dice.coin()) {
    for (const Index length : lengths) {
      for (Index i = 0; i < length; ++i) {
        mask.push_back(i == 0 || dice.number(0, 3) > 0 ? 1 : 0);
      }
    }
  }
  return mask;
}

Index sum(const std::vector<Index>& lengths) {
  Index total = 0;
  for (const Index length : lengths) {
    total += length;
  }
  return total;
}

/// Saves `model` to a file and loads it again.
template <class Model>
Model from_file(const Model& model) {
  const auto path = test::temporary("model.safetensors");
  save_model(model, path);
  return load_model<Model>(path);
}

/// Checks all promises except streaming for `forward(model, input, sequences, workspace)`. Every input row must yield the same
/// number of output rows.
template <class Model, class Forward>
void expect_promises(const Model& model, const Input<typename Model::Scalar>& input, const std::vector<Index>& lengths,
                     const Forward& forward) {
  using T = typename Model::Scalar;
  const Sequences sequences = Sequences::of_lengths(lengths);
  Workspace<T> workspace;
  const Matrix<T> expected = forward(model, input, sequences, workspace);
  EXPECT_TRUE(same_bits(forward(model, input, sequences, workspace), expected)) << "a second time";
  const Index rows_out = expected.rows() / sequences.total();
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    const Matrix<T> alone = forward(model, input.part(offset, length), Sequences::single(length), workspace);
    EXPECT_TRUE(same_bits(alone, expected.middleRows(offset * rows_out, length * rows_out))) << "sequence " << b << " alone";
  }
  const auto prepared = prepare(model);
  for (const int threads : {1, 2, 3}) {
    for (const bool packed : {false, true}) {
      Workspace<T> other(Threads{threads});
      if (packed) {
        other.use(prepared);
      }
      EXPECT_TRUE(same_bits(forward(model, input, sequences, other), expected))
          << threads << " threads" << (packed ? ", prepared" : "");
    }
  }
  const Model loaded = from_file(model);
  EXPECT_TRUE(same_bits(forward(loaded, input, sequences, workspace), expected)) << "from a file";
  test::expect_fair_spending<Model>(model.config);
}

/// Expects that `extend(input, state, output, workspace)`, token by token and in random pieces, is bit-equal to
/// `forward(model, input, sequences, workspace)`.
template <class Model, class T, class Forward, class Extend>
void expect_streams(Dice& dice, const Model& model, Input<T> input, Index length, const Forward& forward,
                    const Extend& extend) {
  input = input.part(0, length);
  input.mask.clear();  // streams take no mask
  Workspace<T> workspace;
  const Matrix<T> expected = forward(model, input, Sequences::single(length), workspace);
  if (!expected.allFinite()) {
    return;  // relu² of relu² may overflow T, and the bits of a NaN are unspecified
  }
  for (const bool pieces : {false, true}) {
    auto state = model.start(length);
    Matrix<T> got(length, expected.cols());
    for (Index first = 0; first < length;) {
      const Index count = pieces ? dice.number(1, length - first) : 1;
      extend(input.part(first, count), state, got.middleRows(first, count), workspace);
      first += count;
    }
    EXPECT_TRUE(same_bits(got, expected)) << (pieces ? "in pieces" : "token by token");
  }
}

template <class Model, class Config>
Model random_model(const Config& config, std::uint64_t seed) {
  Model model(config);
  test::randomize(model, seed, 0.2);
  return model;
}

// --- Configurations ---

GmlpConfig any_gmlp(Dice& dice) {
  GmlpConfig c{.gate = dice.any<GateForm>(),
               .spatial = dice.any<SpatialForm>(),
               .length_policy = dice.any<LengthPolicy>(),
               .causal = dice.coin(),
               .norm_position = dice.any<NormPosition>(),
               .activation = dice.any<Activation>(),
               .gate_activation = dice.any<Activation>()};
  c.length = dice.number(1, dice.coin() ? 12 : 150);
  c.channels = dice.number(1, 40);
  c.heads = dice.number(1, 4);
  c.hidden = c.heads * dice.number(1, 20) * (c.gate == GateForm::split ? 2 : 1);
  c.depth = dice.number(0, 3);
  c.attention_width = dice.coin() ? dice.number(1, 20) : 0;
  c.attention_bias = dice.coin();
  c.token_shift = dice.coin() ? dice.number(1, std::min<Index>(3, c.channels)) : 0;
  return c;
}

/// Random sequence lengths that a gMLP with this configuration accepts.
std::vector<Index> any_lengths(Dice& dice, const GmlpConfig& c) {
  const bool any = c.causal || c.length_policy == LengthPolicy::slice;
  return dice.numbers(dice.number(1, 4), any ? 1 : c.length, c.length);
}

MixedChunkAttentionConfig any_mixed(Dice& dice) {
  MixedChunkAttentionConfig c{.projection = dice.any<ProjectionLayout>(),
                              .activation = dice.any<Activation>(),
                              .norm = dice.any<NormForm>(),
                              .relative_bias = dice.any<RelativeBiasForm>(),
                              .offset_scale_order = dice.any<OffsetScaleOrder>(),
                              .rotary = dice.any<Rotary>(),
                              .token_shift = dice.coin(),
                              .causal = dice.coin()};
  c.channels = 2 * dice.number(1, 20);  // sinusoidal positions need an even width
  c.value = dice.number(1, 40);
  c.query_key = 2 * dice.number(1, 12);
  c.chunk = dice.number(1, dice.coin() ? 6 : 40);
  c.rotary_dimensions = dice.coin() ? 2 * dice.number(1, c.query_key / 2) : 0;
  do {
    c.kernel = dice.any<ScoreKernel>();
  } while (is_softmax(c.kernel));
  do {
    c.reduction = dice.any<LinearReduction>();
  } while (c.causal && c.reduction == LinearReduction::own_chunk);
  return c;
}

GatedAttentionUnitConfig any_unit(Dice& dice, Index longest) {
  GatedAttentionUnitConfig c{.max_length = longest,
                             .projection = dice.any<ProjectionLayout>(),
                             .bias = dice.coin(),
                             .offset_bias = dice.coin(),
                             .activation = dice.any<Activation>(),
                             .norm = dice.any<NormForm>(),
                             .norm_position = dice.any<NormPosition>(),
                             .kernel = dice.any<ScoreKernel>(),
                             .score_scale = dice.any<ScoreScale>(),
                             .divide_by_keys = dice.coin(),
                             .bias_inside_scale = dice.coin(),
                             .relative_bias = dice.any<RelativeBiasForm>(),
                             .relative_bias_scale = 1.5,
                             .rotary = dice.any<Rotary>(),
                             .mask_mode = dice.any<MaskMode>(),
                             .causal = dice.coin(),
                             .residual = dice.any<Residual>()};
  c.channels = 2 * dice.number(1, 20);
  c.value = dice.number(1, 40);
  c.query_key = 2 * dice.number(1, 12);
  c.rotary_dimensions = dice.coin() ? 2 * dice.number(1, c.query_key / 2) : 0;
  return c;
}

/// True if a stream can compute the scores of a unit with this configuration.
bool can_stream(const GatedAttentionUnitConfig& c) {
  return c.causal && c.score_scale != ScoreScale::length && !c.divide_by_keys && c.kernel != ScoreKernel::softmax_plus;
}

TransformerBlockConfig any_transformer(Dice& dice) {
  TransformerBlockConfig c{.token_mixer = {.form = dice.any<AttentionForm>(), .causal = dice.coin()},
                           .channel_mixer = {.activation = dice.any<Activation>()}};
  SelfAttentionConfig& attention = c.token_mixer;
  attention.heads = dice.number(1, 4);
  c.channels = 2 * attention.heads * dice.number(1, 6);
  c.channel_mixer.hidden = dice.coin() ? dice.number(1, 40) : 0;
  attention.chunk = dice.number(1, dice.coin() ? 6 : 40);
  do {
    attention.reduction = dice.any<LinearReduction>();
  } while (attention.causal && attention.reduction == LinearReduction::own_chunk);
  if (attention.form == AttentionForm::softmax) {
    attention.key_value_heads = attention.heads % 2 == 0 && dice.coin() ? attention.heads / 2 : 0;
    attention.head_width = dice.coin() ? 2 * dice.number(1, 5) : 0;
    attention.window = dice.coin() ? dice.number(1, 60) : 0;
    attention.rotary = dice.any<Rotary>();
    attention.query_key_norm = dice.any<NormForm>();
    attention.gate = dice.any<AttentionGate>();
    attention.bias = dice.coin();
    attention.gate_bias = dice.coin();
    attention.out_bias = dice.coin();
  }
  return c;
}

LanguageModelHeadConfig any_head(Dice& dice) {
  return {.form = dice.any<HeadForm>(),
          .dense = dice.coin(),
          .activation = dice.any<Activation>(),
          .norm = dice.any<NormForm>(),
          .bias = dice.coin()};
}

// --- Kinds of model ---

/// Tests a layer or trunk whose input is a matrix.
template <class Model>
void try_rows(Dice& dice, std::uint64_t seed, const typename Model::Config& config, const std::vector<Index>& lengths,
              bool streams) {
  using T = typename Model::Scalar;
  SCOPED_TRACE(to_json(config));
  const auto model = random_model<Model>(config, seed);
  Input<T> input{.rows = test::random_matrix<T>(sum(lengths), model.in(), seed)};
  if (model.contract().takes_mask) {
    input.mask = random_mask(dice, lengths);
  }
  const auto forward = [](const Model& m, const Input<T>& in, const Sequences& sequences, Workspace<T>& workspace) {
    return m.forward(in.rows, sequences, workspace, in.mask);
  };
  expect_promises(model, input, lengths, forward);
  if (streams) {
    expect_streams(
        dice, model, input, lengths[0], forward,
        [&](const Input<T>& in, State<T>& state, View<T> y, Workspace<T>& w) { model.extend(in.rows, state, y, w); });
  }
}

/// Tests a language model with this trunk and random other options. A table of positions, if any, has `longest` rows.
template <class Model>
void try_text(Dice& dice, std::uint64_t seed, const decltype(Model::Config::trunk)& trunk, const std::vector<Index>& lengths,
              Index longest, bool streams) {
  using T = typename Model::Scalar;
  typename Model::Config config{.vocabulary = dice.number(2, 50),
                                .token_types = dice.number(0, 3),
                                .max_length = longest,
                                .embedding_norm = dice.any<NormForm>(),
                                .head = any_head(dice),
                                .trunk = trunk};
  if (Model(config).trunk.in() % 2 == 0) {  // sinusoidal positions need an even width
    config.position = dice.any<PositionForm>();
  }
  SCOPED_TRACE(to_json(config));
  const auto model = random_model<Model>(config, seed);
  Input<T> input{.tokens = dice.numbers(sum(lengths), 0, config.vocabulary - 1)};
  if (model.contract().takes_mask) {
    input.mask = random_mask(dice, lengths);
  }
  const auto forward = [](const Model& m, const Input<T>& in, const Sequences& sequences, Workspace<T>& workspace) {
    return m.forward(in.tokens, sequences, workspace, in.mask);
  };
  expect_promises(model, input, lengths, forward);
  if (streams) {
    expect_streams(
        dice, model, input, lengths[0], forward,
        [&](const Input<T>& in, State<T>& state, View<T> y, Workspace<T>& w) { model.extend(in.tokens, state, y, w); });
  }
}

std::vector<Index> any_lengths(Dice& dice, Index longest) { return dice.numbers(dice.number(1, 4), 1, longest); }

template <class T>
void try_gmlp(Dice& dice, std::uint64_t seed) {
  const GmlpConfig config = any_gmlp(dice);
  try_rows<Gmlp<T>>(dice, seed, config, any_lengths(dice, config), config.causal);
}

template <class T>
void try_gmlp_language_model(Dice& dice, std::uint64_t seed) {
  const GmlpConfig trunk = any_gmlp(dice);
  try_text<GmlpLanguageModel<T>>(dice, seed, trunk, any_lengths(dice, trunk), trunk.length, trunk.causal);
}

/// Tests an image classifier with this trunk and random other options.
template <class Model>
void try_images(Dice& dice, std::uint64_t seed, const decltype(Model::Config::trunk)& trunk) {
  using T = typename Model::Scalar;
  typename Model::Config config{.image_channels = dice.number(1, 3),
                                .classes = dice.number(0, 12),
                                .pooling = dice.any<Pooling>(),
                                .stem_norm = dice.coin(),
                                .pre_logits = dice.coin(),
                                .trunk = trunk};
  config.patch = {dice.number(1, 5), dice.number(1, 5)};
  config.image = {config.patch.height * dice.number(1, 6), config.patch.width * dice.number(1, 6)};
  if (dice.coin()) {
    config.position_grid = {dice.number(1, 6), dice.number(1, 6)};
  }
  SCOPED_TRACE(to_json(config));
  const auto model = random_model<Model>(config, seed);
  const std::vector<Index> images(static_cast<std::size_t>(dice.number(1, 6)), 1);  // here, a sequence is an image
  const Input<T> input{.rows = test::random_matrix<T>(sum(images), model.patch_embedding.pixels(), seed)};
  expect_promises(model, input, images,
                  [](const Model& m, const Input<T>& in, const Sequences&, Workspace<T>& w) { return m.forward(in.rows, w); });
}

template <class T>
void try_image_classifier(Dice& dice, std::uint64_t seed) {
  GmlpConfig trunk = any_gmlp(dice);
  trunk.length = 0;  // computed from the number of patches
  try_images<GmlpImageClassifier<T>>(dice, seed, trunk);
}

template <class T>
void try_flash(Dice& dice, std::uint64_t seed) {
  const FlashConfig config{.depth = dice.number(0, 3), .block = any_mixed(dice)};
  try_rows<Flash<T>>(dice, seed, config, any_lengths(dice, 100), config.block.causal);
}

template <class T>
void try_flash_language_model(Dice& dice, std::uint64_t seed) {
  const FlashConfig trunk{.depth = dice.number(0, 3), .block = any_mixed(dice)};
  try_text<FlashLanguageModel<T>>(dice, seed, trunk, any_lengths(dice, 100), 100, trunk.block.causal);
}

template <class T>
void try_gau_encoder(Dice& dice, std::uint64_t seed) {
  const StackConfig<GatedAttentionUnitConfig> trunk{.depth = dice.number(0, 3), .block = any_unit(dice, 60)};
  try_text<GauEncoder<T>>(dice, seed, trunk, any_lengths(dice, 60), 60, can_stream(trunk.block));
}

template <class T>
void try_gated_attention_unit(Dice& dice, std::uint64_t seed) {
  GatedAttentionUnitConfig config = any_unit(dice, 60);
  if (config.residual == Residual::none && dice.coin()) {
    config.out = dice.number(1, 20);
  }
  try_rows<GatedAttentionUnit<T>>(dice, seed, config, any_lengths(dice, 60), can_stream(config));
}

template <class T>
void try_transformer_text(Dice& dice, std::uint64_t seed) {
  const StackConfig<TransformerBlockConfig> trunk{.depth = dice.number(0, 3), .block = any_transformer(dice)};
  try_text<LanguageModel<Stack<TransformerBlock<T>>>>(dice, seed, trunk, any_lengths(dice, 80), 80,
                                                      trunk.block.token_mixer.causal);
}

template <class T>
void try_transformer_images(Dice& dice, std::uint64_t seed) {
  try_images<ImageClassifier<Stack<TransformerBlock<T>>>>(dice, seed,
                                                          {.depth = dice.number(0, 3), .block = any_transformer(dice)});
}

template <class T>
void try_gated_cross_attention(Dice& dice, std::uint64_t seed) {
  GatedCrossAttentionConfig config{.bias = dice.coin(),
                                   .activation = dice.any<Activation>(),
                                   .key_value_activation = dice.any<Activation>(),
                                   .norm = dice.any<NormForm>(),
                                   .kernel = dice.any<ScoreKernel>(),
                                   .residual = dice.any<Residual>()};
  config.channels = dice.number(1, 40);
  config.key_channels = dice.number(0, 20);
  config.value_channels = dice.number(0, 20);
  config.value = dice.number(1, 40);
  config.query_key = dice.number(1, 24);
  SCOPED_TRACE(to_json(config));
  const auto model = random_model<GatedCrossAttention<T>>(config, seed);
  const std::vector<Index> lengths = dice.numbers(dice.number(1, 4), 1, 50);
  const Index keys = model.proj_key.in(), values = model.proj_value.in();
  // Each row holds the queries, keys and values of a token, so any block of rows contains all three.
  const Input<T> input{.rows = test::random_matrix<T>(sum(lengths), config.channels + keys + values, seed),
                       .mask = random_mask(dice, lengths)};
  expect_promises(model, input, lengths,
                  [&](const GatedCrossAttention<T>& m, const Input<T>& in, const Sequences& s, Workspace<T>& w) {
                    Matrix<T> y(in.rows.rows(), config.channels);
                    m.forward(in.rows.leftCols(config.channels), s, in.rows.middleCols(config.channels, keys),
                              in.rows.rightCols(values), s, y, w, in.mask);
                    return y;
                  });
}

/// Tests the configured number of random models, alternating float and double.
template <class Try>
void for_each_seed(const Try& attempt) {
  const auto first = static_cast<std::uint64_t>(from_environment("GATED_STRESS_SEED", 1));
  const auto count = static_cast<std::uint64_t>(from_environment("GATED_STRESS_MODELS", 16));
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(text("GATED_STRESS_SEED=", seed));
    Dice dice(seed);
    if (seed % 2 == 0) {
      attempt(dice, seed, double{});
    } else {
      attempt(dice, seed, float{});
    }
  }
}

TEST(RandomModels, GmlpsKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_gmlp<T>(dice, seed); });
}
TEST(RandomModels, GmlpLanguageModelsKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_gmlp_language_model<T>(dice, seed); });
}
TEST(RandomModels, ImageClassifiersKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_image_classifier<T>(dice, seed); });
}
TEST(RandomModels, FlashesKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_flash<T>(dice, seed); });
}
TEST(RandomModels, FlashLanguageModelsKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_flash_language_model<T>(dice, seed); });
}
TEST(RandomModels, GauEncodersKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_gau_encoder<T>(dice, seed); });
}
TEST(RandomModels, GatedAttentionUnitsKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_gated_attention_unit<T>(dice, seed); });
}
TEST(RandomModels, TextTransformersKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_transformer_text<T>(dice, seed); });
}
TEST(RandomModels, ImageTransformersKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_transformer_images<T>(dice, seed); });
}
TEST(RandomModels, GatedCrossAttentionsKeepTheirPromises) {
  for_each_seed([]<class T>(Dice& dice, std::uint64_t seed, T) { try_gated_cross_attention<T>(dice, seed); });
}

}  // namespace
}  // namespace gated
