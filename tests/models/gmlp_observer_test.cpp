#include <gtest/gtest.h>

#include <map>
#include <set>

#include "gated/models/gmlp_image_classifier.hpp"
#include "gated/models/gmlp_language_model.hpp"
#include "gmlps.hpp"

namespace gated {
namespace {

using test::random_matrix;
using test::random_model;
using test::same_bits;

/// The paths of the layers that own parameters: a parameter's path without its last name.
template <class Model>
std::set<std::string> layers_of(const Model& model) {
  std::set<std::string> layers;
  for_each_parameter(
      [&](const ParameterInfo& info, auto) {
        const std::string path = info.path();
        if (const std::size_t dot = path.rfind('.'); dot != std::string::npos) {  // a class token belongs to the model itself
          layers.insert(path.substr(0, dot));
        }
      },
      model);
  return layers;
}

/// What an observer of `run(workspace)` sees, by path.
template <class Run>
std::map<std::string, Matrix<float>> observed(Run&& run) {
  std::map<std::string, Matrix<float>> seen;
  Workspace<float> workspace;
  workspace.observe([&](const std::string& path, ConstView<float> output) {
    EXPECT_TRUE(seen.emplace(path, output).second) << path << " is shown twice";
  });
  run(workspace);
  return seen;
}

GmlpImageClassifierConfig classifier_config() {
  return {.image = {6, 8},
          .patch = {3, 2},
          .image_channels = 2,
          .classes = 5,
          .readout = Readout::class_token,
          .stem_norm = true,
          .pre_logits = true,
          .trunk = {.channels = 10, .hidden = 24, .depth = 2, .attention = 6}};
}

TEST(Observer, SeesEveryLayerOfAClassifierUnderItsParameterPath) {
  const auto model = random_model<GmlpImageClassifier<float>>(classifier_config());
  const auto images = random_matrix<float>(2, 96, 2);
  Matrix<float> y;
  const auto seen = observed([&](auto& workspace) { y = model.forward(images, workspace); });
  for (const std::string& layer : layers_of(model)) {
    EXPECT_EQ(seen.count(layer), 1u) << layer;
  }
  for (const char* const whole : {"trunk.blocks.0", "trunk.blocks.1", "trunk.blocks.1.gate", "trunk.blocks.1.attention",
                                  "trunk.blocks.1.attention.attention_map.0", "trunk.blocks.1.attention.attention_map.1"}) {
    EXPECT_EQ(seen.count(whole), 1u) << whole;
  }
  Workspace<float> workspace;
  EXPECT_TRUE(same_bits(y, model.forward(images, workspace))) << "an observer changes nothing";
  EXPECT_TRUE(same_bits(seen.at("head"), y));
}

TEST(Observer, SeesEveryLayerOfALanguageModelUnderItsParameterPath) {
  for (const GmlpConfig& trunk : test::small_gmlps(true)) {
    const auto model = random_model<GmlpLanguageModel<float>>({.vocabulary = 7, .tied = false, .trunk = trunk});
    const std::vector<Index> ids{1, 2, 3, 4, 5, 6};
    Matrix<float> y;
    const auto seen = observed([&](auto& workspace) { y = model.forward(ids, Sequences::of_lengths({4, 2}), workspace); });
    for (const std::string& layer : layers_of(model)) {
      EXPECT_EQ(seen.count(layer), 1u) << layer << ": " << test::describe(trunk);
    }
    Workspace<float> workspace;
    EXPECT_TRUE(same_bits(y, model.forward(ids, Sequences::of_lengths({4, 2}), workspace))) << test::describe(trunk);
    EXPECT_TRUE(same_bits(seen.at(""), y)) << "the model's own output";
  }
}

TEST(Observer, SeesProjectionsBeforeWhatIsFusedBehindThem) {
  for (const GmlpConfig& config : test::small_gmlps(false)) {
    const auto model = random_model<Gmlp<float>>(config);
    const auto& block = model.blocks[0];
    const auto x = random_matrix<float>(12, 10, 2);
    const auto sequences = Sequences::single(12);
    const auto seen = observed([&](auto& workspace) { model.forward(x, sequences, workspace); });

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
        << "before the shortcut: " << test::describe(config);
    EXPECT_TRUE(test::near(seen.at("blocks.0"), literal::block(block, test::wide(x), sequences))) << test::describe(config);
  }
}

TEST(Observer, SeesTheSameLayersInAStream) {
  for (const GmlpConfig& config : test::small_gmlps(true)) {
    const auto model = random_model<Gmlp<float>>(config);
    const auto x = random_matrix<float>(1, 10, 2);
    Matrix<float> y(1, 10), unobserved(1, 10);
    const auto seen = observed([&](auto& workspace) {
      auto state = model.start();
      model.extend(x, state, y, workspace);
    });
    for (const std::string& layer : layers_of(model)) {
      EXPECT_EQ(seen.count(layer), 1u) << layer << ": " << test::describe(config);
    }
    Workspace<float> workspace;
    auto state = model.start();
    model.extend(x, state, unobserved, workspace);
    EXPECT_TRUE(same_bits(y, unobserved)) << test::describe(config);
  }
}

}  // namespace
}  // namespace gated
