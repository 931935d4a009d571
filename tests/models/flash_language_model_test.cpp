#include "gated/models/flash_language_model.hpp"

#include <gtest/gtest.h>

#include "gated/models/gau_presets.hpp"
#include "tests/layers/literal_attention.hpp"

namespace gated {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::refuses;
using test::same_bits;
using test::untouched;
using test::wide;

constexpr Index vocabulary = 11, width = 6, s = 8, chunk = 4;

FlashLanguageModelConfig plain() {
  return {.vocabulary = vocabulary, .trunk = {.depth = 2, .layer = flash_presets::lucidrains(width, chunk, true, s)}};
}

/// A model with each option.
std::vector<FlashLanguageModelConfig> configs() {
  std::vector<FlashLanguageModelConfig> all(6, plain());
  all[1].position = PositionForm::none;
  all[2].position = PositionForm::sinusoid_table;
  all[2].max_length = 20;
  all[3].with_head = false;
  all[4].head.tied = false;
  all[5].head = {.dense = true, .norm = NormForm::scale_norm, .bias = false};
  all[5].trunk.layer = flash_presets::paper(width, chunk, false, s);
  return all;
}

std::vector<Index> random_tokens(Index count, std::uint64_t seed = 9) {
  std::vector<Index> tokens(static_cast<std::size_t>(count));
  Random random(seed);
  for (Index& token : tokens) {
    token = static_cast<Index>(random.uniform() * static_cast<double>(vocabulary));
  }
  return tokens;
}

template <class T>
Matrix<double> literal_model(const FlashLanguageModel<T>& model, const std::vector<Index>& tokens, const Sequences& sequences,
                             const literal::Visible& mask = {}) {
  Matrix<double> x(static_cast<Index>(tokens.size()), width);
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      const Index row = sequences.offset(b) + t;
      for (Index d = 0; d < width; ++d) {
        x(row, d) = static_cast<double>(model.embedding.weight(tokens[static_cast<std::size_t>(row)], d));
        if (model.config.position != PositionForm::none) {
          const Index k = d % (width / 2);
          const double angle = static_cast<double>(t) * std::pow(10000.0, -2.0 * static_cast<double>(k) / double{width});
          x(row, d) += static_cast<double>(model.position.scale(0)) * (d < width / 2 ? std::sin(angle) : std::cos(angle));
        }
      }
    }
  }
  for (const auto& layer : model.trunk.layers) {
    x = literal::mixed_chunk_attention(layer, x, sequences, mask);
  }
  if (!model.head) {
    return x;
  }
  const LanguageModelHead<T>& head = *model.head;
  if (head.dense) {
    x = literal::activate(head.config.activation, literal::linear(*head.dense, x));
  }
  x = literal::norm(head.norm, x);
  if (head.output) {
    return literal::linear(*head.output, x);
  }
  Linear<T> decoder(width, vocabulary);
  decoder.weight = model.embedding.weight;
  decoder.bias = head.bias;
  return literal::linear(decoder, x);
}

template <class T>
class FlashLanguageModelOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FlashLanguageModelOf, Scalars, );

TYPED_TEST(FlashLanguageModelOf, EqualsItsPartsWrittenOut) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({7, 0, 13, 1});
  const std::vector<Index> tokens = random_tokens(21);
  const auto mask = test::random_mask(sequences, 3);
  for (const auto& config : configs()) {
    const auto model = random_layer<FlashLanguageModel<T>>(config);
    Workspace<T> workspace;
    EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), literal_model(model, tokens, sequences)));
    EXPECT_TRUE(near(model.forward(tokens, sequences, workspace, mask), literal_model(model, tokens, sequences, mask)));
    EXPECT_EQ(model.out(), config.with_head ? vocabulary : width);
  }
}

TYPED_TEST(FlashLanguageModelOf, GivesEqualBitsForAnyNumberOfThreadsAndInAnyBatch) {
  using T = TypeParam;
  const auto model = random_layer<FlashLanguageModel<T>>(plain());
  const auto sequences = Sequences::of_lengths({7, 13});
  const std::vector<Index> tokens = random_tokens(20);
  Workspace<T> workspace, several(Threads{3});
  const Matrix<T> y = model.forward(tokens, sequences, workspace);
  EXPECT_TRUE(same_bits(model.forward(tokens, sequences, several), y));
  EXPECT_TRUE(
      same_bits(model.forward(Tokens(tokens).subspan(7), Sequences::single(13), workspace), Matrix<T>(y.bottomRows(13))));
}

TEST(FlashLanguageModel, RefusesBadInputBeforeWriting) {
  auto config = plain();
  config.position = PositionForm::sinusoid_table;
  config.max_length = 6;
  const auto model = random_layer<FlashLanguageModel<float>>(config);
  Workspace<float> workspace;
  const auto refuse = [&](const std::vector<Index>& tokens, const Sequences& sequences, Index rows, Index columns,
                          const std::vector<std::uint8_t>& mask, const std::string& part) {
    Matrix<float> y = untouched<float>(rows, columns);
    EXPECT_TRUE(refuses<Error>([&] { model.forward(tokens, sequences, y, workspace, mask); }, part));
    EXPECT_TRUE(is_untouched(y)) << part;
  };
  refuse({1, 2, 11}, Sequences::single(3), 3, vocabulary, {}, "token 2 has id 11, expected 0 … 10");
  refuse({1, -1, 2}, Sequences::single(3), 3, vocabulary, {}, "token 1 has id -1");
  refuse({1, 2, 3}, Sequences::single(4), 3, vocabulary, {}, "sequences cover");
  refuse({1, 2, 3}, Sequences::single(3), 2, vocabulary, {}, "output is 2 × 11, expected 3 × 11");
  refuse({1, 2, 3}, Sequences::single(3), 3, width, {}, "output is 3 × 6, expected 3 × 11");
  refuse({1, 2, 3}, Sequences::single(3), 3, vocabulary, {1, 1}, "the mask has 2 entries");
  refuse({1, 2, 3}, Sequences::single(3), 3, vocabulary, {0, 0, 0}, "the mask leaves no token of sequence 0");
  refuse(random_tokens(7), Sequences::single(7), 7, vocabulary, {}, "the position table holds 6");
}

TEST(FlashLanguageModel, RefusesConfigurationsThatMakeNoSense) {
  auto config = plain();
  config.vocabulary = 0;
  EXPECT_TRUE(refuses<ArgumentError>([&] { FlashLanguageModel<float>{config}; }, "vocabulary = 0"));
  config = plain();
  config.position = PositionForm::sinusoid_table;
  EXPECT_TRUE(refuses<ArgumentError>([&] { FlashLanguageModel<float>{config}; }, "max_length = 0"));
  config = plain();
  config.trunk.layer.channels = 7;  // odd: sine and cosine need two halves
  EXPECT_THROW(FlashLanguageModel<float>{config}, ArgumentError);
}

}  // namespace
}  // namespace gated
