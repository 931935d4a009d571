#include "gated/models/image_classifier.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "gated/models/mixer_image_classifiers.hpp"
#include "gated/models/presets.hpp"
#include "tests/core/allocations.hpp"
#include "trunks.hpp"

namespace gated::image_classifier_test {
namespace {

using test::allocations_during;
using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::same_bits;
using test::wide;

/// A kind of trunk and a scalar type.
template <class K, class Scalar>
struct Case {
  using Kind = K;
  using T = Scalar;
  using Model = ImageClassifier<typename K::template Trunk<T>>;
};

/// Configurations that cover all poolings, options and trunks. Images of 6 × 8 pixels and 2 channels are cut into patches of
/// 3 × 2, so a sequence has 8 tokens, or 9 with a class token.
template <class C>
auto configs_of() {
  const auto trunks = C::Kind::configs(false);
  std::vector<typename C::Model::Config> all;
  for (std::size_t i = 0; i < std::max<std::size_t>(trunks.size(), 6); ++i) {
    typename C::Model::Config config{
        .image = {6, 8}, .patch = {3, 2}, .image_channels = 2, .classes = 5, .trunk = trunks[i % trunks.size()]};
    config.pooling = std::array{Pooling::mean, Pooling::class_token, Pooling::tokens}[i % 3];
    config.pre_logits = i == 1 || i == 2;
    config.stem_norm = i >= 3;
    config.position_grid = std::array{ImageSize{0, 0}, ImageSize{2, 4}, ImageSize{3, 3}, ImageSize{2, 2}}[i % 4];
    config.classes = i == 4 || i == 5 ? 0 : 5;
    detail::for_each_length(config.trunk, [](Index& length) { length = 0; });  // computed from the grid
    if constexpr (requires { config.trunk.length; }) {
      config.trunk.length_policy = LengthPolicy::exact;
    }
    all.push_back(config);
  }
  return all;
}

template <class C>
class ImageClassifierOf : public ::testing::Test {
 protected:
  using M = typename C::Model;
  using S = typename C::T;

  /// Calls `f(model)` with a random model of each configuration.
  template <class F>
  static void for_each_model(const F& f) {
    int number = 0;
    for (const auto& config : configs_of<C>()) {
      SCOPED_TRACE(text(M::architecture, ", number ", number++, ", ", name_of(config.pooling)));
      f(random_layer<M>(config));
    }
  }

  static Matrix<S> run(const M& model, const Matrix<S>& images, int threads = 1) {
    Workspace<S> workspace(Threads{threads});
    return model.forward(images, workspace);
  }
};

using Cases = ::testing::Types<Case<test::OfGmlpBlocks, float>, Case<test::OfGmlpBlocks, double>,
                               Case<test::OfTransformerBlocks, float>, Case<test::OfMixedChunkAttention, float>,
                               Case<test::OfMixerBlocks, float>, Case<test::OfPlainBlocks, float>>;
TYPED_TEST_SUITE(ImageClassifierOf, Cases, );

TYPED_TEST(ImageClassifierOf, RunsItsLayersInOrder) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    const Pooling pooling = model.config.pooling;
    const Index tokens = pooling == Pooling::class_token ? 9 : 8;
    ASSERT_EQ(model.tokens_per_image(), tokens);
    const auto images = random_matrix<T>(3, 96, 2);
    Workspace<T> workspace;

    Matrix<T> patches(24, 10);
    model.patch_embedding.forward(images, patches, workspace);
    Matrix<double> x(3 * tokens, 10);
    for (Index b = 0; b < 3; ++b) {
      if (tokens == 9) {
        x.row(9 * b) = model.class_token.transpose().template cast<double>();
      }
      x.middleRows(b * tokens + tokens - 8, 8) = patches.middleRows(8 * b, 8).template cast<double>();
    }
    x = model.stem_norm ? literal::norm(*model.stem_norm, x) : x;
    if (model.position) {
      Matrix<T> placed(x.rows(), x.cols());
      model.position->forward(x.template cast<T>().eval(), Sequences::uniform(3, tokens), placed, workspace);
      x = test::wide(placed);
    }
    EXPECT_EQ(model.position.has_value(), model.config.has_positions());
    for (const auto& block : model.trunk.blocks) {
      x = test::literal_block(block, x, Sequences::uniform(3, tokens), {});
    }
    x = literal::norm(model.norm, x);
    EXPECT_TRUE(near(model.features(images, workspace), x));

    if (pooling != Pooling::tokens) {
      Matrix<double> pooled(3, 10);
      for (Index b = 0; b < 3; ++b) {
        pooled.row(b) = tokens == 9 ? x.row(9 * b).eval() : x.middleRows(8 * b, 8).colwise().mean().eval();
      }
      x = pooled;
    }
    x = model.pre_logits ? literal::activate(Activation::tanh, literal::linear(*model.pre_logits, x)) : x;
    x = model.head ? literal::linear(*model.head, x) : x;
    EXPECT_TRUE(near(TestFixture::run(model, images), x));
    EXPECT_EQ(model.out(), model.config.classes > 0 ? model.config.classes : 10);
  });
}

TYPED_TEST(ImageClassifierOf, ABatchIsBitEqualToEachImageAlone) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    const auto images = random_matrix<T>(7, 96, 2);
    const Matrix<T> y = TestFixture::run(model, images);
    const Index rows = model.contract().output_rows(1);
    for (Index b = 0; b < 7; ++b) {
      EXPECT_TRUE(same_bits(y.middleRows(b * rows, rows), TestFixture::run(model, images.row(b)))) << b;
    }
    EXPECT_TRUE(same_bits(TestFixture::run(model, images.colwise().reverse()).bottomRows(rows), y.topRows(rows)))
        << "in a different order";
  });
}

TYPED_TEST(ImageClassifierOf, IsBitEqualForAnyNumberOfThreads) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    const auto images = random_matrix<T>(9, 96, 2);
    const Matrix<T> y = TestFixture::run(model, images);
    EXPECT_TRUE(same_bits(TestFixture::run(model, images, 2), y));
    EXPECT_TRUE(same_bits(TestFixture::run(model, images, 3), y));
  });
}

TYPED_TEST(ImageClassifierOf, ServesConcurrentThreads) {
  using T = typename TypeParam::T;
  const auto model = random_layer<typename TypeParam::Model>(configs_of<TypeParam>()[3]);
  const Matrix<T> images[] = {random_matrix<T>(4, 96, 2), random_matrix<T>(6, 96, 3)};
  const Matrix<T> expected[] = {TestFixture::run(model, images[0]), TestFixture::run(model, images[1])};
  bool right[] = {true, true};
  const auto serve = [&](std::size_t i) {
    Workspace<T> workspace;
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

TYPED_TEST(ImageClassifierOf, KeepsNaNInItsImage) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    Matrix<T> images = random_matrix<T>(3, 96, 2);
    const Matrix<T> clean = TestFixture::run(model, images);
    const Index rows = model.contract().output_rows(1);
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
      images(1, 50) = bad;
      const Matrix<T> y = TestFixture::run(model, images);
      EXPECT_TRUE(same_bits(y.topRows(rows), clean.topRows(rows)));
      EXPECT_TRUE(same_bits(y.bottomRows(rows), clean.bottomRows(rows)));
      EXPECT_TRUE(y.middleRows(rows, rows).array().isNaN().any());
    }
  });
}

TYPED_TEST(ImageClassifierOf, HandlesEmptyBatches) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    const Matrix<T> y = TestFixture::run(model, Matrix<T>(0, 96));
    EXPECT_EQ(y.rows(), 0);
    EXPECT_EQ(y.cols(), model.out());
  });
}

TYPED_TEST(ImageClassifierOf, AWarmCallAllocatesNothing) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    const auto images = random_matrix<T>(4, 96, 2);
    Matrix<T> y(model.contract().output_rows(4), model.out());
    for (const int threads : {1, 2}) {
      Workspace<T> workspace(Threads{threads});
      const auto forward = [&] { model.forward(images, y, workspace); };
      forward();
      EXPECT_EQ(allocations_during(forward), 0) << threads << " threads";
    }
  });
}

TYPED_TEST(ImageClassifierOf, ChargesItsParametersToTheBudget) {
  using Model = typename TypeParam::Model;
  for (auto config : configs_of<TypeParam>()) {
    SCOPED_TRACE(name_of(config.pooling));
    for (const Index classes : {0, 7}) {
      config.classes = classes;
      test::expect_fair_spending<Model>(config);
    }
    config.classes = Count::most;
    const ParameterBudget budget(1 << 20, "too many values");
    EXPECT_EQ(message_of<FileError>([&] { Model{config}; }), "too many values");
  }
}

TYPED_TEST(ImageClassifierOf, InitializesItsHeadToZero) {
  using T = typename TypeParam::T;
  Random random(1);
  const typename TypeParam::Model model(configs_of<TypeParam>()[0], random);
  EXPECT_TRUE((TestFixture::run(model, random_matrix<T>(2, 96, 2)).array() == 0).all());
  EXPECT_GT(model.patch_embedding.weight.cwiseAbs().maxCoeff(), 0);
}

TYPED_TEST(ImageClassifierOf, RefusesMismatchedShapesBeforeWriting) {
  using T = typename TypeParam::T;
  TestFixture::for_each_model([](const auto& model) {
    Workspace<T> workspace;
    const auto refuse = [&](Index images, Index pixels, Index rows, Index columns, const std::string& part) {
      Matrix<T> y = test::untouched<T>(rows, columns);
      const std::string said =
          message_of<ShapeError>([&] { model.forward(Matrix<T>::Zero(images, pixels).eval(), y, workspace); });
      EXPECT_NE(said.find(part), std::string::npos) << said;
      EXPECT_TRUE(test::is_untouched(y));
    };
    const Index rows = model.contract().output_rows(2), out = model.out();
    refuse(2, 95, rows, out,
           "ImageClassifier::forward: x has 95 columns, expected in = 96 (channels × height × width, one row per image; resize "
           "or crop the image first, or convert the model with resize_grid()).");
    refuse(2, 96, rows + 1, out,
           text("ImageClassifier::forward: y is ", rows + 1, " × ", out, ", expected ", rows, " × ", out));
    refuse(2, 96, rows, out + 1,
           text("ImageClassifier::forward: y is ", rows, " × ", out + 1, ", expected ", rows, " × ", out));
    Matrix<T> tokens = test::untouched<T>(2 * model.tokens_per_image(), 10);
    EXPECT_THROW(model.features(Matrix<T>::Zero(2, 97).eval(), tokens, workspace), ShapeError);
    EXPECT_NE(message_of<ShapeError>([&] {
                model.features(Matrix<T>::Zero(3, 96).eval(), tokens, workspace);
              }).find("ImageClassifier::features: tokens is "),
              std::string::npos);
    EXPECT_TRUE(test::is_untouched(tokens));
  });
}

TYPED_TEST(ImageClassifierOf, RefusesInvalidConfigurations) {
  using Model = typename TypeParam::Model;
  const auto refused = [](auto change) {
    auto config = configs_of<TypeParam>()[0];
    change(config);
    EXPECT_THROW(Model{config}, ArgumentError);
  };
  refused([](auto& c) { c.classes = -1; });
  refused([](auto& c) { c.patch.width = c.image.width + 1; });
  refused([](auto& c) { c.patch = {0, 2}; });
  refused([](auto& c) { c.patch = {0, 0}; });
  refused([](auto& c) { c.image = {0, 0}; });
  refused([](auto& c) { c.norm_eps = -1; });
  refused([](auto& c) { c.pixel_deviation = 0; });
  refused([](auto& c) { c.pixel_deviation = {1, 0, 1}; });
  refused([](auto& c) { c.crop_share = 0; });
  refused([](auto& c) { c.crop_share = 1.5; });
  refused([](auto& c) { c.trunk.depth = -1; });
}

TYPED_TEST(ImageClassifierOf, RefusesThreePixelScalesWithoutThreeChannels) {
  for (const Index channels : {1, 2, 4}) {
    auto config = configs_of<TypeParam>()[0];
    config.image_channels = channels;
    config.pixel_deviation = {0.1, 0.2, 0.3};
    const auto model = random_layer<typename TypeParam::Model>(config);
    using T = typename TypeParam::Model::Scalar;
    Matrix<T> images = Matrix<T>::Random(2, channels * config.image.area());
    Workspace<T> workspace;
    EXPECT_TRUE(model.forward(images, workspace).allFinite());
    EXPECT_THROW(scale_pixels<T>(images, config), ArgumentError);
    config.pixel_deviation = 0.1;
    scale_pixels<T>(images, config);
  }
}

// --- gMLP ---

TEST(GmlpImageClassifier, HandlesImagesOfOnePatch) {
  const auto model = random_layer<GmlpImageClassifier<float>>(
      {.image = {2, 2}, .patch = {2, 2}, .image_channels = 1, .classes = 3, .trunk = {.channels = 4, .hidden = 8, .depth = 2}});
  EXPECT_EQ(model.tokens_per_image(), 1);
  Workspace<float> workspace;
  EXPECT_TRUE(model.forward(random_matrix<float>(5, 4, 1), workspace).allFinite());
}

TEST(GmlpImageClassifier, ComputesTheLengthOfItsTrunk) {
  using Model = GmlpImageClassifier<float>;
  GmlpImageClassifierConfig config{.image = {6, 8},
                                   .patch = {3, 2},
                                   .image_channels = 2,
                                   .classes = 5,
                                   .pooling = Pooling::class_token,
                                   .trunk = {.channels = 10, .hidden = 24, .depth = 2}};
  EXPECT_EQ(Model(config).config.trunk.length, 9);
  config.trunk.length = 8;
  EXPECT_EQ(message_of<ArgumentError>([&] { Model{config}; }),
            "ImageClassifier: the trunk's length = 8, but images have 9 tokens. Leave it at 0 to have it computed.");
  config.trunk.length = 9;
  EXPECT_NO_THROW(Model{config});
  config.trunk.channels = -1;
  const std::string negative = message_of<ArgumentError>([&] { Model{config}; });
  EXPECT_NE(negative.find("-1 output channels"), negative.npos) << negative;
  config.trunk.channels = 10;
  config.trunk.heads = 5;
  EXPECT_THROW(Model{config}, ArgumentError);
}

TEST(GmlpImageClassifier, AcceptsFramesAsRowsOrColumns) {
  GmlpImageClassifierConfig frames = kw_mlp(7);
  frames.trunk.depth = 2;
  const auto by_rows = random_layer<GmlpImageClassifier<float>>(frames);
  frames.image = {40, 98};
  frames.patch = {40, 1};
  const auto by_columns = random_layer<GmlpImageClassifier<float>>(frames);
  const Matrix<float> mfcc = random_matrix<float>(98, 40, 2), turned = mfcc.transpose();
  const auto scores = [](const auto& model, const Matrix<float>& image) {
    Workspace<float> workspace;
    return model.forward(Matrix<float>(Eigen::Map<const Matrix<float>>(image.data(), 1, image.size())), workspace);
  };
  EXPECT_TRUE(same_bits(scores(by_rows, mfcc), scores(by_columns, turned)));
}

TEST(MixerImageClassifier, ComputesTheLengthOfEveryKindOfTokenMixer) {
  const auto expect = [](auto config) {
    using Model = ImageClassifierFor<decltype(config), float>;
    config.image = {6, 8};
    config.patch = {3, 2};
    EXPECT_EQ(Model(config).config.trunk.block.token_mixer.length, 8);
    EXPECT_EQ(Model(config).trunk.longest(), 8);
    config.trunk.block.token_mixer.length = 7;
    EXPECT_EQ(message_of<ArgumentError>([&] { Model{config}; }),
              "ImageClassifier: the trunk's length = 7, but images have 8 tokens. Leave it at 0 to have it computed.");
    config.trunk.block.token_mixer.length = 8;
    EXPECT_NO_THROW(Model{config});
  };
  expect(MixerImageClassifierConfig{
      .trunk = {.block = {.channels = 6, .token_mixer = {.hidden = 5}, .channel_mixer = {.hidden = 7}}}});
  expect(GmixerImageClassifierConfig{
      .trunk = {.block = {.channels = 6, .token_mixer = {.hidden = 5}, .channel_mixer = {.hidden = 7}}}});
  expect(ResmlpImageClassifierConfig{.norm = NormForm::affine, .trunk = {.block = {.channels = 6, .layer_scale = 0.1}}});
}

TEST(ResmlpImageClassifier, HasAffineNormsOnly) {
  const ResmlpImageClassifier<float> model({.image = {4, 4},
                                            .patch = {2, 2},
                                            .classes = 3,
                                            .stem_norm = true,
                                            .norm = NormForm::affine,
                                            .trunk = {.block = {.channels = 6}}});
  EXPECT_EQ(model.norm.form, NormForm::affine);
  EXPECT_EQ(model.stem_norm->form, NormForm::affine);
}

TEST(GmlpImageClassifier, ChargesItsParametersToTheBudget) {
  using Model = GmlpImageClassifier<float>;
  for (const Pooling pooling : {Pooling::mean, Pooling::class_token, Pooling::tokens}) {
    for (const Index classes : {0, 7}) {
      const GmlpImageClassifierConfig config{.image = {8, 12},
                                             .patch = {4, 2},
                                             .image_channels = 2,
                                             .classes = classes,
                                             .pooling = pooling,
                                             .stem_norm = classes == 0,
                                             .pre_logits = classes > 0,
                                             .trunk = {.channels = 3, .hidden = 4, .depth = 2, .attention_width = 5}};
      SCOPED_TRACE(text(name_of(pooling), ", ", classes));
      test::expect_fair_spending<Model>(config);
    }
  }
}

}  // namespace
}  // namespace gated::image_classifier_test
