#include "gated/models/fnet.hpp"

#include <gtest/gtest.h>

#include "gated/train/recording.hpp"
#include "tests/core/allocations.hpp"
#include "tests/train/gradients.hpp"
#include "trunks.hpp"

// Tests specific to FNet: sizes, positions, projection and pooler. language_model_test.cpp tests all language models;
// check_parity compares FNet with Hugging Face.

namespace gated::fnet_test {
namespace {

using test::near;
using test::random_layer;
using test::random_tokens;
using test::same_bits;

constexpr FnetSizes small{.channels = 6, .hidden = 10, .depth = 2, .vocabulary = 11, .max_length = 12, .token_types = 3};

std::vector<Index> some_types(std::size_t count) {
  std::vector<Index> types(count);
  for (std::size_t i = 0; i < count; ++i) {
    types[i] = static_cast<Index>(i % 3);
  }
  return types;
}

TEST(Fnet, HasTheParameterCountsOfTheOriginal) {
  const detail::HollowWeights hollow;  // allocates no memory for weights
  EXPECT_EQ(parameter_count(FnetEncoder<float>(fnet_encoder())), 56'706'048);
  EXPECT_EQ(parameter_count(Fnet<float>(fnet_base(FnetHead::none))), 82'861'056);
  EXPECT_EQ(parameter_count(Fnet<float>(fnet_base())), 83'485'184);
  EXPECT_EQ(parameter_count(Fnet<float>(fnet_base(FnetHead::pretraining))), 83'486'722);
  EXPECT_EQ(parameter_count(FnetEncoder<float>(fnet_large().trunk)), 201'547'776);
  EXPECT_EQ(parameter_count(Fnet<float>(fnet_large(FnetHead::none))), 236'945'408);
  EXPECT_EQ(parameter_count(Fnet<float>(fnet_large())), 238'029'056);
  EXPECT_EQ(parameter_count(Fnet<float>(fnet_large(FnetHead::pretraining))), 238'031'106);
}

TEST(Fnet, ChargesItsParametersToTheBudget) {
  for (const FnetHead head : {FnetHead::none, FnetHead::masked_words, FnetHead::pretraining}) {
    test::expect_fair_spending<Fnet<float>>(fnet(head, small));
  }
}

template <class T>
void expect_parts() {
  const auto sequences = Sequences::of_lengths({7, 0, 12, 1});
  const auto tokens = random_tokens(20, small.vocabulary);
  const auto types = some_types(20);
  for (const FnetHead head : {FnetHead::none, FnetHead::masked_words}) {
    const auto model = random_layer<Fnet<T>>(fnet(head, small));
    Workspace<T> workspace, several(Threads(3));
    const Matrix<T> y = model.forward(tokens, sequences, workspace, types);
    EXPECT_TRUE(near(y, test::literal_model(model, tokens, sequences, {}, types)));
    EXPECT_TRUE(same_bits(model.forward(tokens, sequences, several, types), y));
  }
}

TEST(Fnet, EqualsItsFormula) {
  expect_parts<float>();
  expect_parts<double>();
}

TEST(Fnet, ATextHasTheSameBitsAloneAndInABatch) {
  const auto model = random_layer<Fnet<float>>(fnet(FnetHead::masked_words, small));
  const auto sequences = Sequences::of_lengths({7, 12, 1});
  const auto tokens = random_tokens(20, small.vocabulary);
  Workspace<float> workspace;
  const Matrix<float> y = model.forward(tokens, sequences, workspace);
  const std::vector<Index> second(tokens.begin() + 7, tokens.begin() + 19);
  EXPECT_TRUE(same_bits(model.forward(second, Sequences::single(12), workspace), y.middleRows(7, 12)));
}

TEST(Fnet, PoolsTheFirstTokenOfEachText) {
  const auto sequences = Sequences::of_lengths({7, 12, 1});
  const auto tokens = random_tokens(20, small.vocabulary);
  const auto types = some_types(20);
  const auto model = random_layer<Fnet<double>>(fnet(FnetHead::pretraining, small));
  Fnet<double> encoder(fnet(FnetHead::none, small));
  encoder.embedding = model.embedding;
  encoder.type_embedding = model.type_embedding;
  encoder.position_table = model.position_table;
  encoder.embedding_norm = model.embedding_norm;
  encoder.embedding_projection = model.embedding_projection;
  encoder.trunk = model.trunk;
  encoder.pooler = model.pooler;
  Workspace<double> workspace;
  const Matrix<double> hidden = encoder.forward(tokens, sequences, workspace, types);
  Matrix<double> first(3, small.channels);
  first << hidden.row(0), hidden.row(7), hidden.row(19);
  const Matrix<double> vectors =
      ((first * model.pooler->weight.transpose()).rowwise() + model.pooler->bias.transpose()).array().tanh();
  EXPECT_TRUE(near(encoder.pooled(tokens, sequences, workspace, types), vectors));
  const Matrix<double> scores = (vectors * model.classifier->weight.transpose()).rowwise() + model.classifier->bias.transpose();
  Matrix<double> output(3, 2);
  EXPECT_TRUE(near(model.pooled(tokens, sequences, workspace, types), scores));
  EXPECT_EQ(test::allocations_during([&] { model.pooled(tokens, sequences, output, workspace, types); }), 0);
  EXPECT_TRUE(near(output, scores));
}

TEST(Fnet, GradientsFlowThroughPooledVectors) {
  const auto sequences = Sequences::of_lengths({5, 3});
  const auto tokens = random_tokens(8, small.vocabulary);
  auto model = random_layer<Fnet<double>>(fnet(FnetHead::pretraining, small));
  test::expect_gradients(model, Matrix<double>(0, 0), [&](Tape<double>& tape, const auto& trained, Variable) {
    Recording<double> run(tape, sequences);
    return trained.apply_pooled(run, tokens, {});
  });
}

TEST(Fnet, RefusesInvalidInputsAndStreaming) {
  const auto model = random_layer<Fnet<float>>(fnet(FnetHead::masked_words, small));
  Workspace<float> workspace;
  const auto tokens = random_tokens(13, small.vocabulary);
  EXPECT_EQ(test::message_of<ShapeError>([&] { model.forward(tokens, Sequences::single(13), workspace); }),
            "LanguageModel::forward: sequence 0 of 1 has 13 tokens, expected 12 at most. Build the model with a larger "
            "max_length.");
  EXPECT_EQ(
      test::message_of<ArgumentError>([&] { model.start(); }),
      "LanguageModel::start: an output depends on later tokens, so the layer cannot be streamed. A Fourier transform needs all "
      "tokens of a sequence.");
  const std::vector<Index> three(tokens.begin(), tokens.begin() + 3);
  EXPECT_THROW(model.pooled(three, Sequences::of_lengths({3, 0}), workspace), ShapeError);
  auto config = fnet(FnetHead::masked_words, small);
  config.pooling = TextPooling::mean;
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              random_layer<Fnet<float>>(config).pooled(three, Sequences::of_lengths({3, 0}), workspace);
            }),
            "LanguageModel::pooled: sequence 1 is empty, expected at least one token.");
  config.classes = -1;
  EXPECT_THROW(Fnet<float>{config}, ArgumentError);
}

}  // namespace
}  // namespace gated::fnet_test
