#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "gated/models/gmlp.hpp"
#include "trunks.hpp"

// Tests that a hook sees every layer of a model once, under the layer's path.

namespace gated::hook_test {
namespace {

using test::random_layer;
using test::random_matrix;
using test::random_model;
using test::same_bits;

using Names = std::set<std::string>;

/// Adds to `all` the paths of all layers inside `layer`, found through fields(). Each row of an offset scale counts as a layer.
template <class L>
void add_layers(const L& layer, const std::string& path, Names& all);

template <class M>
void add_member(const M& member, const std::string& path, Names& all) {
  if constexpr (detail::HasFields<M>) {
    if constexpr (std::is_same_v<M, OffsetScale<float>>) {
      for (Index row = 0; row < member.weight.rows(); ++row) {
        all.insert(text(path, ".", row));
      }
    } else {
      all.insert(path);
      add_layers(member, path + ".", all);
    }
  } else if constexpr (detail::IsOptional<const M>) {
    if (member.has_value()) {
      add_member(*member, path, all);
    }
  } else if constexpr (!std::is_base_of_v<Eigen::MatrixBase<M>, M>) {
    for (std::size_t i = 0; i < member.size(); ++i) {
      add_member(member[i], text(path, ".", i), all);
    }
  }
}

template <class L>
void add_layers(const L& layer, const std::string& path, Names& all) {
  L::fields().pass_to([&](const auto&... field) { (add_member(layer.*(field.member), path + field.name, all), ...); });
}

/// True if `path` names a layer that a hook does not see. Rotary positions, relative biases and segment embeddings only change
/// the outputs of other layers. For a gated projection, a hook sees its two matmuls instead.
bool has_no_output(const std::string& path) {
  for (const std::string name : {"rotary", "relative_bias", "type_embedding", "projection"}) {
    if (path == name || (path.size() > name.size() && path.ends_with("." + name))) {
      return true;
    }
  }
  return false;
}

/// The paths that a hook must see, besides attention weights: all layers of `model`, and the empty path of the model itself.
template <class Model>
Names layers_of(const Model& model) {
  Names all;
  add_layers(model, "", all);
  std::erase_if(all, has_no_output);
  all.insert("");
  return all;
}

using Seen = std::map<std::string, Matrix<float>>;

/// The outputs that a hook sees during `run(workspace)`, by path.
template <class Run>
Seen hooked(Run&& run) {
  Seen seen;
  Workspace<float> workspace;
  workspace.set_hook([&](const std::string& path, ConstView<float> output) {
    EXPECT_TRUE(seen.emplace(path, output).second) << path << " is shown twice";
  });
  run(workspace);
  return seen;
}

/// Returns the paths in `seen`, except those of attention weights, which it adds to `weights`.
Names without_weights(const Seen& seen, Names& weights) {
  Names paths;
  for (const auto& [path, output] : seen) {
    (path.find(".weights.") == std::string::npos ? paths : weights).insert(path);
  }
  return paths;
}

/// The paths of `endings` in each block: {"weights.0"} gives trunk.blocks.0.weights.0, trunk.blocks.1.weights.0, …
Names weights_of(Index depth, const Names& endings) {
  Names all;
  for (Index i = 0; i < depth; ++i) {
    for (const std::string& ending : endings) {
      all.insert(text("trunk.blocks.", i, ".", ending));
    }
  }
  return all;
}

// --- Every model ---

const std::vector<Index> ids{1, 2, 3, 4, 5, 6, 1, 2, 3};

/// Calls `f` with two language models for each trunk of `Kind`: a plain one, and one with every option outside the trunk.
template <class Kind, class F>
void for_each_model(bool causal, const F& f) {
  using Model = LanguageModel<typename Kind::template Trunk<float>>;
  int number = 0;
  for (const auto& trunk : Kind::configs(causal)) {
    for (const bool everything : {false, true}) {
      SCOPED_TRACE(text(Model::architecture, causal ? ", causal, number " : ", number ", number, everything ? "" : ", plain"));
      typename Model::Config config{.vocabulary = 7, .trunk = trunk};
      if (everything) {
        config.token_types = 2;
        config.position = PositionForm::sinusoid;
        config.embedding_norm = NormForm::layer_norm;
        config.head = {.form = HeadForm::untied, .dense = true};
      }
      f(random_layer<Model>(config));
    }
    ++number;
  }
}

template <class Kind>
class HookOf : public ::testing::Test {};
using Kinds =
    ::testing::Types<test::OfGmlpBlocks, test::OfMixedChunkAttention, test::OfGatedAttentionUnits, test::OfTransformerBlocks,
                     test::OfChunkedTransformerBlocks, test::OfMixerBlocks, test::OfPlainBlocks>;
TYPED_TEST_SUITE(HookOf, Kinds, );

TYPED_TEST(HookOf, SeesEveryLayerOfALanguageModel) {
  const auto sequences = Sequences::of_lengths({6, 3});
  for (const bool causal : {false, true}) {
    for_each_model<TypeParam>(causal, [&](const auto& model) {
      Matrix<float> y;
      const Seen seen = hooked([&](auto& workspace) { y = model.forward(ids, sequences, workspace); });
      Names weights;
      EXPECT_EQ(without_weights(seen, weights), layers_of(model));
      Workspace<float> workspace;
      EXPECT_TRUE(same_bits(y, model.forward(ids, sequences, workspace))) << "a hook must change nothing";
      EXPECT_TRUE(same_bits(seen.at(""), y)) << "the model's own output";
      EXPECT_TRUE(same_bits(seen.at("trunk"), seen.at("trunk.blocks." + std::to_string(model.config.trunk.depth - 1))));
      if (model.head) {
        EXPECT_TRUE(same_bits(seen.at("head"), y));
      }
    });
  }
}

TYPED_TEST(HookOf, SeesTheSameLayersInStreams) {
  for_each_model<TypeParam>(true, [&](const auto& model) {
    Workspace<float> plain;
    const Matrix<float> whole = model.forward(ids, Sequences::single(9), plain);
    const Seen batch = hooked([&](auto& workspace) { model.forward(ids, Sequences::single(9), workspace); });
    auto state = model.start(12);
    Matrix<float> y(8, model.out()), one(1, model.out());
    const Seen prefill = hooked([&](auto& workspace) { model.extend(Tokens(ids).first(8), state, y, workspace); });
    Names weights;
    EXPECT_EQ(without_weights(prefill, weights), layers_of(model));
    EXPECT_TRUE(same_bits(y, whole.topRows(8))) << "a hook must change nothing";
    for (const std::string& path : layers_of(model)) {
      EXPECT_TRUE(same_bits(prefill.at(path), batch.at(path).topRows(8))) << path;
    }
    const Seen step = hooked([&](auto& workspace) { model.step(ids[8], state, one, workspace); });
    EXPECT_EQ(without_weights(step, weights), layers_of(model));
    EXPECT_TRUE(same_bits(one, whole.bottomRows(1)));
    for (const std::string& path : layers_of(model)) {
      EXPECT_TRUE(same_bits(step.at(path), batch.at(path).bottomRows(1))) << path;
    }
  });
}

TYPED_TEST(HookOf, SeesNoLayersDuringStateChecks) {
  for_each_model<TypeParam>(true, [&](const auto& model) {
    auto state = model.start(12);
    const auto twin = model;  // a copy, which checks the state because it did not create it
    Matrix<float> one(1, model.out());
    const Seen seen = hooked([&](auto& workspace) { twin.step(1, state, one, workspace); });
    Names weights;
    EXPECT_EQ(without_weights(seen, weights), layers_of(model)) << "each layer once";
  });
}

// --- Attention weights ---

/// Expects that in each block a hook sees attention weights at exactly these paths: `in_batch` for two sequences of 6 and 3
/// tokens, `in_stream` for a stream of 9 tokens.
template <class Kind>
void expect_weights(const Names& in_batch, const Names& in_stream, const std::string& block = "") {
  const auto prefixed = [&](const Names& endings) {
    Names all;
    for (const std::string& ending : endings) {
      all.insert(block + "weights." + ending);
    }
    return all;
  };
  for (const bool causal : {false, true}) {
    for_each_model<Kind>(causal, [&](const auto& model) {
      Names batch, stream;
      const Seen seen = hooked([&](auto& workspace) { model.forward(ids, Sequences::of_lengths({6, 3}), workspace); });
      without_weights(seen, batch);
      EXPECT_EQ(batch, weights_of(model.config.trunk.depth, prefixed(in_batch)));
      if (causal) {
        auto state = model.start(12);
        Matrix<float> y(9, model.out());
        without_weights(hooked([&](auto& workspace) { model.extend(ids, state, y, workspace); }), stream);
        EXPECT_EQ(stream, weights_of(model.config.trunk.depth, prefixed(in_stream)));
      }
    });
  }
}

TEST(HookOfWeights, SeesWeightsPerSequence) { expect_weights<test::OfGatedAttentionUnits>({"0", "1"}, {"0"}); }

TEST(HookOfWeights, SeesWeightsPerSequenceAndChunk) {
  expect_weights<test::OfMixedChunkAttention>({"0.0", "0.1", "1.0"}, {"0.0", "0.1"});  // chunks of 5 tokens
}

TEST(HookOfWeights, SeesWeightsPerSequenceHeadAndChunk) {
  expect_weights<test::OfChunkedTransformerBlocks>({"0.0.0", "0.0.1", "0.1.0", "0.1.1", "1.0.0", "1.1.0"},  // chunks of 4
                                                   {"0.0.0", "0.0.1", "0.0.2", "0.1.0", "0.1.1", "0.1.2"}, "tokens.mixer.");
}

TEST(HookOfWeights, SeesWeightsPerSequenceAndHead) {
  const auto config = test::OfTransformerBlocks::configs(true)[0];
  ASSERT_EQ(config.block.token_mixer.heads, 2);
  const auto trunk = random_layer<Stack<TransformerBlock<float>>>(config);
  const auto x = random_matrix<float>(9, test::small_channels, 2);
  const Seen seen = hooked([&](auto& workspace) { trunk.forward(x, Sequences::of_lengths({6, 3}), workspace); });
  for (const auto& [path, tokens] : std::map<std::string, Index>{{"0.0", 6}, {"0.1", 6}, {"1.0", 3}, {"1.1", 3}}) {
    const Matrix<float>& weights = seen.at("blocks.0.tokens.mixer.weights." + path);
    EXPECT_EQ(weights.rows(), tokens);
    EXPECT_EQ(weights.cols(), tokens);
    EXPECT_TRUE(weights.rowwise().sum().isOnes(1e-5F)) << "a softmax";
    EXPECT_TRUE(weights.triangularView<Eigen::StrictlyUpper>().toDenseMatrix().isZero(0)) << "no weight for later tokens";
  }
  Matrix<float> y(1, test::small_channels);
  auto state = trunk.start(9);
  Workspace<float> workspace;
  Matrix<float> before(8, test::small_channels);
  trunk.extend(x.topRows(8), state, before, workspace);
  const Seen step = hooked([&](auto& watched) { trunk.extend(x.bottomRows(1), state, y, watched); });
  EXPECT_EQ(step.at("blocks.0.tokens.mixer.weights.0.1").rows(), 1) << "the token's own row";
  EXPECT_EQ(step.at("blocks.0.tokens.mixer.weights.0.1").cols(), 9);
}

TEST(HookOfWeights, SeesTinyAttention) {
  GmlpConfig config = test::small_gmlps(true)[4];
  ASSERT_GT(config.attention_width, 0);
  const auto model = random_model<Gmlp<float>>(config);
  const auto x = random_matrix<float>(9, test::small_channels, 2);
  const Seen seen = hooked([&](auto& workspace) { model.forward(x, Sequences::of_lengths({6, 3}), workspace); });
  EXPECT_EQ(seen.at("blocks.1.attention.weights.0").rows(), 6);
  EXPECT_EQ(seen.at("blocks.1.attention.weights.1").cols(), 3);
  EXPECT_EQ(seen.count("blocks.1.attention.weights.2"), 0u);
}

// --- Image classifiers ---

GmlpImageClassifierConfig classifier_config(Pooling pooling) {
  return {.image = {6, 8},
          .patch = {3, 2},
          .image_channels = 2,
          .classes = 5,
          .pooling = pooling,
          .stem_norm = true,
          .pre_logits = true,
          .trunk = {.channels = 10, .hidden = 24, .depth = 2, .attention_width = 6}};
}

TEST(Hook, SeesEveryLayerOfAClassifier) {
  for (const Pooling pooling : {Pooling::mean, Pooling::class_token, Pooling::tokens}) {
    const auto model = random_model<GmlpImageClassifier<float>>(classifier_config(pooling));
    const auto images = random_matrix<float>(2, 96, 2);
    Matrix<float> y;
    const Seen seen = hooked([&](auto& workspace) { y = model.forward(images, workspace); });
    Names weights;
    EXPECT_EQ(without_weights(seen, weights), layers_of(model));
    EXPECT_EQ(weights, weights_of(2, {"attention.weights.0", "attention.weights.1"})) << "an image is a sequence";
    Workspace<float> workspace;
    EXPECT_TRUE(same_bits(y, model.forward(images, workspace))) << "a hook must change nothing";
    EXPECT_TRUE(same_bits(seen.at("head"), y));
    EXPECT_TRUE(same_bits(seen.at("norm"), model.features(images, workspace)));
  }
}

TEST(Hook, FeaturesShowEveryLayerBelowTheHead) {
  const auto model = random_model<GmlpImageClassifier<float>>(classifier_config(Pooling::mean));
  const auto images = random_matrix<float>(2, 96, 2);
  const Seen features = hooked([&](auto& workspace) { model.features(images, workspace); });
  Seen all = hooked([&](auto& workspace) { model.forward(images, workspace); });
  for (const char* const above : {"", "pre_logits", "head"}) {
    EXPECT_EQ(all.erase(above), 1u) << above;
  }
  EXPECT_EQ(features.size(), all.size());
  for (const auto& [path, output] : all) {
    ASSERT_EQ(features.count(path), 1u) << path;
    EXPECT_TRUE(same_bits(features.at(path), output)) << path;
  }
}

// --- Fused operations ---

TEST(Hook, SeesProjectionsBeforeTheirEpilogue) {
  for (const GmlpConfig& config : test::small_gmlps(false)) {
    const auto model = random_model<Gmlp<float>>(config);
    const auto& block = model.blocks[0];
    const auto x = random_matrix<float>(12, 10, 2);
    const auto sequences = Sequences::single(12);
    const Seen seen = hooked([&](auto& workspace) { model.forward(x, sequences, workspace); });

    const Matrix<double> input =
        config.norm_position == NormPosition::pre ? literal::layer_norm(block.norm, test::wide(x)) : test::wide(x);
    const Matrix<double> shifted = literal::token_shift(input, sequences, config.token_shift, config.causal);
    const Matrix<double> z = literal::linear(block.proj_in, shifted);
    EXPECT_TRUE(test::near(seen.at("blocks.0.proj_in"), z)) << "before the activation: " << test::describe(config);
    const Matrix<double> gated = literal::activate(config.activation, z).rightCols(block.gate.out());
    EXPECT_TRUE(test::near(seen.at("blocks.0.gate.proj"),
                           literal::spatial(block.gate.proj, literal::layer_norm(block.gate.norm, gated), sequences)))
        << "before the gating: " << test::describe(config);
    EXPECT_TRUE(test::near(seen.at("blocks.0.proj_out"), literal::linear(block.proj_out, test::wide(seen.at("blocks.0.gate")))))
        << "before the residual: " << test::describe(config);
    EXPECT_TRUE(test::near(seen.at("blocks.0"), literal::block(block, test::wide(x), sequences))) << test::describe(config);
  }
}

}  // namespace
}  // namespace gated::hook_test
