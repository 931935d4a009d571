#include "gated/models/generate.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/int8_products.hpp"
#include "tests/core/numbers.hpp"
#include "tests/train/gradients.hpp"

namespace gated::generate_test {
namespace {

using test::message_of, test::shake;

const std::vector<Index> prompt{3, 1, 4};

GmlpLanguageModel<float> gmlp(bool causal = true) {
  Random random(1);
  GmlpLanguageModel<float> model(
      {.vocabulary = 11, .trunk = {.length = 12, .channels = 8, .hidden = 16, .depth = 2, .causal = causal}}, random);
  shake(model, 2);
  return model;
}

/// The tokens that generate() must return, computed with explicit calls of step().
template <class Model>
std::vector<Index> literal(const Model& model, Workspace<float>& workspace, const Sampling& sampling, Index tokens,
                           const Random& random) {
  auto state = model.start(static_cast<Index>(prompt.size()) + tokens);
  Matrix<float> logits(1, model.out());
  model.extend(prompt, state, logits, workspace);
  Sampler<float> sampler(model.out(), sampling, random);
  std::vector<Index> result;
  for (Index i = 0; i < tokens; ++i) {
    result.push_back(sampler(logits));
    if (i + 1 < tokens) {
      model.step(result.back(), state, logits, workspace);
    }
  }
  return result;
}

template <class Model>
std::vector<Index> literal(const Model& model, const Sampling& sampling, Index tokens, const Random& random) {
  Workspace<float> workspace;
  return literal(model, workspace, sampling, tokens, random);
}

template <class Model>
std::vector<Index> generated(const Model& model, const Sampling& sampling, Index tokens, const Random& random) {
  std::vector<Index> result;
  for (const Index token : generate(model, prompt, sampling, tokens, random)) {
    result.push_back(token);
  }
  return result;
}

TEST(Generate, EqualsSamplingStepByStep) {
  const auto model = gmlp();
  Random random(3);
  FlashLanguageModel<float> flash(
      {.vocabulary = 11, .trunk = {.depth = 1, .block = {.channels = 8, .value = 16, .query_key = 4, .causal = true}}}, random);
  shake(flash, 4);
  for (const Sampling& sampling : {Sampling{}, Sampling{.temperature = 0.5, .top_p = 0.9}, Sampling{.temperature = 0}}) {
    for (const Index tokens : {0, 1, 2, 9}) {
      EXPECT_EQ(generated(model, sampling, tokens, Random(7)), literal(model, sampling, tokens, Random(7)));
      EXPECT_EQ(generated(flash, sampling, tokens, Random(8)), literal(flash, sampling, tokens, Random(8)));
    }
  }
}

TEST(Generate, RunsInTheGivenWorkspace) {
  const auto model = gmlp();
  const auto prepared = prepare(model, WeightFormat::int8_rows);
  Workspace<float> workspace;
  workspace.use(prepared);
  workspace.use(int8_products());
  const Sampling greedy{.temperature = 0};
  auto text = generate(model, prompt, workspace, greedy, 5);
  const std::vector<Index> expected = literal(model, workspace, greedy, 5, Random());
  std::size_t at = 0;
  for (const Index token : text) {
    EXPECT_EQ(token, expected[at++]);
  }
  EXPECT_EQ(at, expected.size());
}

TEST(Generate, OffersItsProductsToTheEngineOfTheWorkspace) {
  static Index offered = 0;
  const ProductEngine<float> engine{
      [](const Operand<float>&, const Operand<float>&, const detail::gemm::TileFunction<float>&, Workspace<float>&, Index) {
        ++offered;
        return false;
      }};
  const auto model = gmlp();
  Workspace<float> workspace;
  workspace.use(&engine);
  auto text = generate(model, prompt, workspace, {}, 2);
  const Index after_the_prompt = offered;
  EXPECT_GT(after_the_prompt, 0);
  for (const Index token : text) {
    EXPECT_LT(token, 11);
  }
  EXPECT_GT(offered, after_the_prompt);
}

TEST(Generate, StopsAtTheCapacityOfTheModel) {
  const auto model = gmlp();
  std::vector<Index> tokens;
  for (const Index token : generate(model, prompt)) {
    tokens.push_back(token);
  }
  EXPECT_EQ(tokens.size(), 10U) << "9 tokens fit after the prompt; the tenth is sampled but not fed back";
  EXPECT_EQ(std::vector<Index>(tokens.begin(), tokens.end() - 1), literal(model, {}, 9, Random()));
}

TEST(Generate, ContinuesUntilTheLoopBreaks) {
  Random random(1);
  FlashLanguageModel<float> model(
      {.vocabulary = 5,
       .trunk = {.depth = 1, .block = {.channels = 4, .value = 8, .query_key = 4, .chunk = 4, .causal = true}}},
      random);
  auto text = generate(model, prompt, {.temperature = 2});
  Index count = 0;
  for (const Index token : text) {
    EXPECT_LT(token, 5);
    if (++count == 100) {
      break;
    }
  }
  EXPECT_EQ(text.state().position(), 3 + 99);
}

TEST(Generate, RefusesInvalidPromptsAndCounts) {
  const auto model = gmlp();
  EXPECT_EQ(message_of<ArgumentError>([&] { generate(model, {}); }),
            "generate: the prompt is empty. Start it with a beginning-of-text token.");
  EXPECT_EQ(message_of<ArgumentError>([&] { generate(model, prompt, {}, -1); }), "generate: tokens = -1 must not be negative.");
  EXPECT_THROW(generate(model, prompt, {.temperature = -1}), ArgumentError);
  EXPECT_THROW(generate(model, prompt, {}, 11), ShapeError) << "12 of 13 tokens fit, apart from the last";
  EXPECT_EQ(generated(model, {}, 10, Random(1)), generated(model, {}, State<float>::unlimited, Random(1)));
  const GmlpLanguageModel<float> headless({.vocabulary = 11,
                                           .head = {.form = HeadForm::none},
                                           .trunk = {.length = 12, .channels = 8, .hidden = 16, .causal = true}});
  EXPECT_EQ(message_of<ArgumentError>([&] { generate(headless, prompt); }),
            "generate: head = none, so the model returns hidden states, not logits. Build it with head.form = tied or untied.");
  const auto bidirectional = gmlp(false);
  EXPECT_THROW(generate(bidirectional, prompt), ArgumentError);
  Random random(1);
  const GauEncoder<float> gau(
      {.vocabulary = 11,
       .trunk = {.depth = 1,
                 .block = {.channels = 8, .value = 16, .query_key = 4, .score_scale = ScoreScale::sqrt_width, .causal = true}}},
      random);
  EXPECT_NE(message_of<ArgumentError>([&] { generate(gau, prompt); }).find("start(capacity)"), std::string::npos);
  EXPECT_NO_THROW(generate(gau, prompt, {}, 20));
}

}  // namespace
}  // namespace gated::generate_test
