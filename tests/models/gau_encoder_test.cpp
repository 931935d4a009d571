#include "gated/models/gau_encoder.hpp"

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

constexpr Index vocabulary = 11, width = 6, s = 8, longest = 12;

GauEncoderConfig flash_quad() {
  return gau_presets::flash_quad_encoder(vocabulary, gau_presets::flash_quad_junnyu(width, longest, s), 2, true);
}
GauEncoderConfig gau_alpha() { return gau_presets::gau_alpha_encoder(vocabulary, gau_presets::gau_alpha(width, s), 2, true); }

std::vector<GauEncoderConfig> configs() {
  std::vector<GauEncoderConfig> all{flash_quad(), gau_alpha(), flash_quad(), gau_alpha(), flash_quad()};
  all[2].with_head = false;
  all[2].position = PositionForm::sinusoid;
  all[3].token_types = 0;
  all[3].pad_token = -1;
  all[4].head.tied = false;
  all[4].depth = 0;
  all[4].embedding_norm = NormForm::layer_norm;
  return all;
}

/// Words, none of which is the padding 0.
std::vector<Index> random_words(Index count) {
  std::vector<Index> tokens(static_cast<std::size_t>(count));
  Random random(9);
  for (Index& token : tokens) {
    token = 1 + static_cast<Index>(random.uniform() * static_cast<double>(vocabulary - 1));
  }
  return tokens;
}

template <class T>
Matrix<double> literal_encoder(const GauEncoder<T>& model, const std::vector<Index>& tokens, const Sequences& sequences,
                               const literal::Visible& mask, const std::vector<Index>& types) {
  Matrix<double> x(static_cast<Index>(tokens.size()), width);
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      const Index row = sequences.offset(b) + t;
      const auto at = static_cast<std::size_t>(row);
      for (Index d = 0; d < width; ++d) {
        x(row, d) = static_cast<double>(model.embedding.weight(tokens[at], d));
        if (model.type_embedding) {
          x(row, d) += static_cast<double>(model.type_embedding->weight(types.empty() ? 0 : types[at], d));
        }
        if (model.config.position != PositionForm::none) {
          const Index k = d % (width / 2);
          const double angle = static_cast<double>(t) * std::pow(10000.0, -2.0 * static_cast<double>(k) / double{width});
          x(row, d) += static_cast<double>(model.position.scale(0)) * (d < width / 2 ? std::sin(angle) : std::cos(angle));
        }
      }
    }
  }
  x = literal::norm(model.embedding_norm, x);
  for (const auto& layer : model.layers) {
    x = literal::attention_unit(layer, x, sequences, mask);
  }
  if (!model.head) {
    return x;
  }
  const LanguageModelHead<T>& head = *model.head;
  if (head.dense) {
    x = literal::activate(Activation::silu, literal::linear(*head.dense, x));
  }
  Linear<T> decoder(width, vocabulary, false);
  decoder.weight = model.embedding.weight;
  decoder.bias = head.bias;
  return literal::linear(head.output ? *head.output : decoder, literal::norm(head.norm, x));
}

template <class T>
class GauEncoderOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GauEncoderOf, Scalars, );

TYPED_TEST(GauEncoderOf, EqualsItsPartsWrittenOut) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({7, 0, 12, 1});
  const std::vector<Index> tokens = random_words(20);
  const auto mask = test::random_mask(sequences, 3);
  for (const auto& config : configs()) {
    const auto model = random_layer<GauEncoder<T>>(config);
    std::vector<Index> types(config.token_types > 0 ? 20 : 0);
    for (std::size_t i = 0; i < types.size(); ++i) {
      types[i] = i % 3 == 0 ? 1 : 0;
    }
    Workspace<T> workspace, several(Threads{3});
    EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), literal_encoder(model, tokens, sequences, {}, {})));
    const Matrix<T> y = model.forward(tokens, sequences, workspace, mask, types);
    EXPECT_TRUE(near(y, literal_encoder(model, tokens, sequences, mask, types)));
    EXPECT_TRUE(same_bits(model.forward(tokens, sequences, several, mask, types), y));
    EXPECT_EQ(model.out(), config.with_head ? vocabulary : width);
  }
}

TYPED_TEST(GauEncoderOf, MasksPaddingWhereNoMaskIsGiven) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({6, 8});
  std::vector<Index> tokens = random_words(14);
  std::vector<std::uint8_t> mask(14, 1);
  for (const std::size_t at : {4U, 5U, 12U, 13U}) {
    tokens[at] = 0;
    mask[at] = 0;
  }
  for (const auto& config : {flash_quad(), gau_alpha()}) {
    auto model = random_layer<GauEncoder<T>>(config);
    Workspace<T> workspace;
    const Matrix<T> y = model.forward(tokens, sequences, workspace);
    EXPECT_TRUE(same_bits(y, model.forward(tokens, sequences, workspace, mask)));
    EXPECT_TRUE(near(y, literal_encoder(model, tokens, sequences, mask, {})));
    const std::vector<std::uint8_t> all(14, 1);
    const Matrix<T> unmasked = model.forward(tokens, sequences, workspace, all);
    EXPECT_TRUE(near(unmasked, literal_encoder(model, tokens, sequences, all, {}))) << "a given mask wins";
    model.config.pad_token = -1;
    EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), literal_encoder(model, tokens, sequences, {}, {})));
  }
}

TYPED_TEST(GauEncoderOf, WithoutTypesAllAreTheFirst) {
  using T = TypeParam;
  const auto model = random_layer<GauEncoder<T>>(gau_alpha());
  const std::vector<Index> tokens = random_words(5), first(5, 0), second(5, 1);
  Workspace<T> workspace;
  const Matrix<T> y = model.forward(tokens, Sequences::single(5), workspace);
  EXPECT_TRUE(same_bits(y, model.forward(tokens, Sequences::single(5), workspace, {}, first)));
  EXPECT_FALSE(near(model.forward(tokens, Sequences::single(5), workspace, {}, second), test::wide(y)));
}

TEST(GauEncoder, RefusesBadInputBeforeWriting) {
  auto config = flash_quad();
  config.max_length = 6;
  const auto model = random_layer<GauEncoder<float>>(config);
  auto without = config;
  without.token_types = 0;
  const auto typeless = random_layer<GauEncoder<float>>(without);
  Workspace<float> workspace;
  const auto refuse = [&](const GauEncoder<float>& of, const std::vector<Index>& tokens, const Sequences& sequences, Index rows,
                          Index columns, const std::vector<std::uint8_t>& mask, const std::vector<Index>& types,
                          const std::string& part) {
    Matrix<float> y = untouched<float>(rows, columns);
    EXPECT_TRUE(refuses<Error>([&] { of.forward(tokens, sequences, y, workspace, mask, types); }, part));
    EXPECT_TRUE(is_untouched(y)) << part;
  };
  const auto three = Sequences::single(3);
  refuse(model, {1, 2, 11}, three, 3, vocabulary, {}, {}, "token 2 has id 11, expected 0 … 10");
  refuse(model, {1, 2, 3}, Sequences::single(2), 3, vocabulary, {}, {}, "sequences cover");
  refuse(model, {1, 2, 3}, three, 2, vocabulary, {}, {}, "output is 2 × 11, expected 3 × 11");
  refuse(model, {1, 2, 3}, three, 3, width, {}, {}, "output is 3 × 6, expected 3 × 11");
  refuse(model, {1, 2, 3}, three, 3, vocabulary, {1}, {}, "the mask has 1 entries, expected 3");
  refuse(model, {1, 2, 3}, three, 3, vocabulary, {0, 0, 0}, {}, "the mask leaves no token of sequence 0");
  refuse(model, {0, 0, 3}, Sequences::of_lengths({2, 1}), 3, vocabulary, {}, {}, "the mask leaves no token of sequence 0");
  refuse(model, {1, 2, 3}, three, 3, vocabulary, {}, {0, 1}, "types has 2 ids, expected 3");
  refuse(model, {1, 2, 3}, three, 3, vocabulary, {}, {0, 1, 2}, "token 2 has id 2, expected 0 … 1");
  refuse(typeless, {1, 2, 3}, three, 3, vocabulary, {}, {0, 0, 0}, "types has 3 ids, expected 0");
  refuse(model, random_words(7), Sequences::single(7), 7, vocabulary, {}, {},
         "a sequence has 7 tokens, but the position table holds 6. Build the model with a larger max_length");
  auto long_table = config;
  long_table.max_length = 20;
  refuse(random_layer<GauEncoder<float>>(long_table), random_words(13), Sequences::single(13), 13, vocabulary, {}, {},
         "the Toeplitz bias holds 12 positions");
}

TEST(GauEncoder, RefusesConfigurationsThatMakeNoSense) {
  const auto refuse = [](auto change, const std::string& part) {
    auto config = flash_quad();
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { GauEncoder<float>{config}; }, part));
  };
  refuse([](auto& config) { config.vocabulary = 0; }, "vocabulary = 0");
  refuse([](auto& config) { config.depth = -1; }, "depth = -1");
  refuse([](auto& config) { config.token_types = -2; }, "token_types = -2");
  refuse([](auto& config) { config.max_length = 0; }, "max_length = 0");
  refuse(
      [](auto& config) {
        config.layer.residual = Residual::none;
        config.layer.out = 5;
      },
      "layer.out = 5, expected channels = 6");
}

}  // namespace
}  // namespace gated
