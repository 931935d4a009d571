#include "gated/models/gmlp_image_classifier.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "gmlps.hpp"

namespace gated {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::random_model;
using test::same_bits;
using test::wide;

using Model = GmlpImageClassifier<float>;

/// Images of 6 × 8 pixels and 2 channels in patches of 3 × 2: 8 tokens.
std::vector<GmlpImageClassifierConfig> small_models() {
  const GmlpImageClassifierConfig plain{
      .image = {6, 8}, .patch = {3, 2}, .image_channels = 2, .classes = 5, .trunk = {.channels = 10, .hidden = 24, .depth = 2}};
  std::vector<GmlpImageClassifierConfig> configs(6, plain);
  configs[1].readout = Readout::class_token;
  configs[1].pre_logits = true;
  configs[2].readout = Readout::tokens;
  configs[3].stem_norm = true;
  configs[3].trunk.attention = 6;
  configs[3].trunk.heads = 3;
  configs[4].classes = 0;
  configs[4].trunk.token_shift = 1;
  configs[5].readout = Readout::class_token;
  configs[5].stem_norm = true;
  configs[5].classes = 0;
  configs[5].trunk.norm_position = NormPosition::post;
  return configs;
}

Matrix<float> run(const Model& model, const Matrix<float>& images, int threads = 1) {
  Workspace<float> workspace(Threads{threads});
  return model.forward(images, workspace);
}

TEST(GmlpImageClassifier, IsItsLayersOneAfterTheOther) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const Index tokens = config.readout == Readout::class_token ? 9 : 8;
    ASSERT_EQ(model.tokens_per_image(), tokens);
    const auto images = random_matrix<float>(3, 96, 2);
    Workspace<float> workspace;

    Matrix<float> patches(24, 10);
    model.patch_embedding.forward(images, patches, workspace);
    Matrix<double> x(3 * tokens, 10);
    for (Index b = 0; b < 3; ++b) {
      if (tokens == 9) {
        x.row(9 * b) = model.class_token.transpose().cast<double>();
      }
      x.middleRows(b * tokens + tokens - 8, 8) = patches.middleRows(8 * b, 8).cast<double>();
    }
    x = model.stem_norm ? literal::layer_norm(*model.stem_norm, x) : x;
    for (const auto& block : model.trunk.blocks) {
      x = literal::block(block, x, Sequences::uniform(3, tokens));
    }
    x = literal::layer_norm(model.norm, x);
    EXPECT_TRUE(near(model.features(images, workspace), x));

    if (config.readout != Readout::tokens) {
      Matrix<double> pooled(3, 10);
      for (Index b = 0; b < 3; ++b) {
        pooled.row(b) = tokens == 9 ? x.row(9 * b).eval() : x.middleRows(8 * b, 8).colwise().mean().eval();
      }
      x = pooled;
    }
    x = model.pre_logits ? literal::activate(Activation::tanh, literal::linear(*model.pre_logits, x)) : x;
    x = model.head ? literal::linear(*model.head, x) : x;
    EXPECT_TRUE(near(run(model, images), x)) << name_of(config.readout);
  }
}

TEST(GmlpImageClassifier, ABatchEqualsItsImagesOneByOneToTheBit) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const auto images = random_matrix<float>(7, 96, 2);
    const Matrix<float> y = run(model, images);
    const Index rows = model.output_rows(1);
    for (Index b = 0; b < 7; ++b) {
      EXPECT_TRUE(same_bits(y.middleRows(b * rows, rows), run(model, images.row(b)))) << name_of(config.readout) << ' ' << b;
    }
    EXPECT_TRUE(same_bits(run(model, images.colwise().reverse()).bottomRows(rows), y.topRows(rows))) << "in another order";
  }
}

TEST(GmlpImageClassifier, GivesEqualBitsForAnyNumberOfThreads) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const auto images = random_matrix<float>(9, 96, 2);
    const Matrix<float> y = run(model, images);
    EXPECT_TRUE(same_bits(run(model, images, 2), y));
    EXPECT_TRUE(same_bits(run(model, images, 3), y));
  }
}

TEST(GmlpImageClassifier, ServesTwoThreadsAtOnce) {
  const auto model = random_model<Model>(small_models()[3]);
  const Matrix<float> images[] = {random_matrix<float>(4, 96, 2), random_matrix<float>(6, 96, 3)};
  const Matrix<float> expected[] = {run(model, images[0]), run(model, images[1])};
  bool right[] = {true, true};
  const auto serve = [&](std::size_t i) {
    Workspace<float> workspace;
    for (int round = 0; round < 50; ++round) {
      right[i] = right[i] && same_bits(model.forward(images[i], workspace), expected[i]);
    }
  };
  std::thread other(serve, 1);
  serve(0);
  other.join();
  EXPECT_TRUE(right[0]);
  EXPECT_TRUE(right[1]);
}

TEST(GmlpImageClassifier, KeepsABadImageToItself) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    Matrix<float> images = random_matrix<float>(3, 96, 2);
    const Matrix<float> clean = run(model, images);
    const Index rows = model.output_rows(1);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      images(1, 50) = bad;
      const Matrix<float> y = run(model, images);
      EXPECT_TRUE(same_bits(y.topRows(rows), clean.topRows(rows)));
      EXPECT_TRUE(same_bits(y.bottomRows(rows), clean.bottomRows(rows)));
      EXPECT_TRUE(y.middleRows(rows, rows).array().isNaN().any());
    }
  }
}

TEST(GmlpImageClassifier, GivesNothingForAnEmptyBatch) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const Matrix<float> y = run(model, Matrix<float>(0, 96));
    EXPECT_EQ(y.rows(), 0);
    EXPECT_EQ(y.cols(), model.out());
  }
}

TEST(GmlpImageClassifier, WorksOnImagesOfOnePatch) {
  const auto model = random_model<Model>(
      {.image = {2, 2}, .patch = {2, 2}, .image_channels = 1, .classes = 3, .trunk = {.channels = 4, .hidden = 8, .depth = 2}});
  EXPECT_EQ(model.tokens_per_image(), 1);
  EXPECT_TRUE(run(model, random_matrix<float>(5, 4, 1)).allFinite());
}

TEST(GmlpImageClassifier, StartsWithAHeadOfZeros) {
  Random random(1);
  const Model model(small_models()[0], random);
  EXPECT_TRUE((run(model, random_matrix<float>(2, 96, 2)).array() == 0).all());
  EXPECT_GT(model.patch_embedding.weight.cwiseAbs().maxCoeff(), 0);
}

TEST(GmlpImageClassifier, RefusesOtherShapesBeforeWriting) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    Workspace<float> workspace;
    const auto refuse = [&](Index images, Index pixels, Index rows, Index columns) {
      Matrix<float> y = test::sentinel<float>(rows, columns);
      EXPECT_THROW(model.forward(Matrix<float>::Zero(images, pixels), y, workspace), ShapeError);
      EXPECT_TRUE(test::is_sentinel(y));
    };
    refuse(2, 95, model.output_rows(2), model.out());
    refuse(2, 96, model.output_rows(2) + 1, model.out());
    refuse(2, 96, model.output_rows(2), model.out() + 1);
    Matrix<float> tokens = test::sentinel<float>(2 * model.tokens_per_image(), 10);
    EXPECT_THROW(model.features(Matrix<float>::Zero(2, 97), tokens, workspace), ShapeError);
    EXPECT_THROW(model.features(Matrix<float>::Zero(3, 96), tokens, workspace), ShapeError);
    EXPECT_TRUE(test::is_sentinel(tokens));
  }
}

TEST(GmlpImageClassifier, RefusesToBeBuiltFromConfigurationsThatMakeNoSense) {
  const auto refused = [](auto change) {
    GmlpImageClassifierConfig config = small_models()[0];
    change(config);
    EXPECT_THROW(Model{config}, ArgumentError);
  };
  refused([](auto& c) { c.classes = -1; });
  refused([](auto& c) { c.patch.width = 3; });
  refused([](auto& c) { c.image = {0, 0}; });
  refused([](auto& c) { c.trunk.channels = -1; });
  refused([](auto& c) { c.trunk.heads = 5; });
  refused([](auto& c) { c.norm_eps = -1; });
  GmlpImageClassifierConfig config = small_models()[1];
  config.trunk.length = 8;
  EXPECT_EQ(message_of<ArgumentError>([&] { Model{config}; }),
            "GmlpImageClassifier: trunk.length = 8, but image and patch give 9 tokens. Leave it 0 to have it computed.");
  config.trunk.length = 9;
  EXPECT_NO_THROW(Model{config});
}

}  // namespace
}  // namespace gated
