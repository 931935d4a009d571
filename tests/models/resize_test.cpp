#include "gated/models/resize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gated/io/csv.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/presets.hpp"
#include "tests/core/numbers.hpp"
#include "tests/layers/literal.hpp"

namespace gated::resize_test {
namespace {

using test::message_of;
using test::same_bits;

/// Returns `model` with random parameters.
template <class Model>
Model randomized(Model model, std::uint64_t seed) {
  Random random(seed);
  for_each_parameter([&](const ParameterInfo&, auto values) { fill_normal(values, 0.3, random); }, model);
  return model;
}

template <class T>
SpatialProjection<T> random_projection(const SpatialProjectionConfig& config, std::uint64_t seed) {
  return randomized(SpatialProjection<T>(config), seed);
}

template <class Model>
::testing::AssertionResult same_parameters(const Model& a, const Model& b) {
  auto result = ::testing::AssertionSuccess();
  for_each_parameter(
      [&](const ParameterInfo& info, auto values, auto others) {
        if (!std::equal(values.begin(), values.end(), others.begin(),
                        [](auto x, auto y) { return test::bits_of(x) == test::bits_of(y); })) {
          result = ::testing::AssertionFailure() << info.path() << " differs";
        }
      },
      a, b);
  return result;
}

/// The spatial weight of a convolution over a grid: W[p, p + Δ] = kernel(Δy, Δx) for each patch p and offset Δ = (Δy, Δx).
template <class T, class Kernel>
Matrix<T> translation_invariant(ImageSize grid, const Kernel& kernel) {
  Matrix<T> w(grid.area(), grid.area());
  for (Index p = 0; p < grid.area(); ++p) {
    for (Index q = 0; q < grid.area(); ++q) {
      w(p, q) = static_cast<T>(kernel(q / grid.width - p / grid.width, q % grid.width - p % grid.width));
    }
  }
  return w;
}

double some_kernel(Index dy, Index dx) { return std::sin(1.0 + 2.0 * static_cast<double>(dy) + 0.7 * static_cast<double>(dx)); }

Index place(Index i, Index old_size, Index new_size) {
  return static_cast<Index>(
      std::floor((static_cast<double>(i) + 0.5) * static_cast<double>(old_size) / static_cast<double>(new_size)));
}

/// The patch of the old grid that `by_offset` uses for patch p of the new grid, as documented for resize_grid().
Index old_patch(Index p, ImageSize old_grid, ImageSize new_grid) {
  return place(p / new_grid.width, old_grid.height, new_grid.height) * old_grid.width +
         place(p % new_grid.width, old_grid.width, new_grid.width);
}

const std::vector<std::pair<ImageSize, ImageSize>> grids{{{3, 4}, {5, 6}}, {{5, 6}, {3, 4}}, {{3, 4}, {7, 2}}, {{1, 1}, {3, 3}},
                                                         {{3, 3}, {1, 1}}, {{1, 5}, {1, 8}}, {{4, 4}, {8, 8}}};

template <class T>
class Resize : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Resize, Scalars);

TYPED_TEST(Resize, MovesFiltersByOffset) {
  using T = TypeParam;
  for (const auto& [from, to] : grids) {
    const auto projection = random_projection<T>({.length = from.area(), .heads = 2}, 1);
    const auto resized = resize_grid(projection, from, to, GridResize::by_offset);
    ASSERT_EQ(resized.config.length, to.area());
    for (Index head = 0; head < 2; ++head) {
      for (Index p = 0; p < to.area(); ++p) {
        const Index source = old_patch(p, from, to);
        EXPECT_EQ(resized.bias(head, p), projection.bias(head, source));
        for (Index q = 0; q < to.area(); ++q) {
          const Index y = source / from.width + q / to.width - p / to.width,
                      x = source % from.width + q % to.width - p % to.width;
          const bool known = y >= 0 && y < from.height && x >= 0 && x < from.width;
          EXPECT_EQ(resized.weight(head * to.area() + p, q),
                    known ? projection.weight(head * from.area() + source, y * from.width + x) : T{0})
              << from.height << " × " << from.width << " to " << to.height << " × " << to.width << ", " << p << ", " << q;
        }
      }
    }
  }
}

TYPED_TEST(Resize, ByOffsetShrinksConvolutionsExactly) {
  using T = TypeParam;
  const ImageSize from{6, 7};
  SpatialProjection<T> projection({.length = from.area()});
  projection.weight = translation_invariant<T>(from, some_kernel);
  for (const ImageSize to : {ImageSize{3, 4}, ImageSize{6, 1}, ImageSize{5, 7}, ImageSize{1, 1}}) {
    EXPECT_TRUE(
        same_bits(resize_grid(projection, from, to, GridResize::by_offset).weight, translation_invariant<T>(to, some_kernel)));
  }
}

TYPED_TEST(Resize, ByOffsetKeepsKnownLagsOnALargerGrid) {
  using T = TypeParam;
  const ImageSize from{4, 5}, to{9, 7};
  SpatialProjection<T> projection({.length = from.area()});
  projection.weight = translation_invariant<T>(from, some_kernel);
  const Matrix<T> resized = resize_grid(projection, from, to, GridResize::by_offset).weight;
  const Matrix<T> built = translation_invariant<T>(to, some_kernel);
  for (Index p = 0; p < to.area(); ++p) {
    EXPECT_EQ((resized.row(p).array() != T{0}).count(), from.area()) << "a filter keeps all its values";
    for (Index q = 0; q < to.area(); ++q) {
      EXPECT_TRUE(resized(p, q) == built(p, q) || resized(p, q) == T{0});
    }
  }
}

TYPED_TEST(Resize, InterpolatesBetweenPatchCentres) {
  using T = TypeParam;
  // One dimension, 2 → 4: the new centres are at -1/4 (clamped to 0), 1/4, 3/4 and 5/4 (clamped to 1). The weight of an old
  // token is distributed over new tokens by the same interpolation, scaled so that its shares sum to 1.
  auto projection = random_projection<T>({.length = 2}, 2);
  projection.weight << 1, 2, 3, 4;
  projection.bias << 10, 20;
  const auto resized = resize_grid(projection, {1, 2}, {1, 4}, GridResize::bilinear);
  const Matrix<T> a{{1, 0}, {0.75, 0.25}, {0.25, 0.75}, {0, 1}};
  EXPECT_LT((resized.weight - a * projection.weight * a.transpose() / 2).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LT((resized.bias - projection.bias * a.transpose()).cwiseAbs().maxCoeff(), 1e-5);
  // 4 → 2: the new centres are at 1/2 and 5/2. Triangles of half-width 2 distribute the four old weights: the first new token's
  // shares are (3/4, 3/4, 1/4, 0), the second's (0, 1/4, 3/4, 3/4). Each weight's shares are then scaled to sum to 1.
  auto longer = random_projection<T>({.length = 4}, 3);
  const auto shorter = resize_grid(longer, {4, 1}, {2, 1}, GridResize::bilinear);
  const Matrix<T> half{{0.5, 0.5, 0, 0}, {0, 0, 0.5, 0.5}}, spread{{1, 0.75, 0.25, 0}, {0, 0.25, 0.75, 1}};
  EXPECT_LT((shorter.weight - half * longer.weight * spread.transpose()).cwiseAbs().maxCoeff(), 1e-6);
}

TYPED_TEST(Resize, InterpolatesInBothDimensions) {
  using T = TypeParam;
  for (const auto& [from, to] : grids) {
    const auto projection = random_projection<T>({.length = from.area(), .heads = 2}, 4);
    const auto resized = resize_grid(projection, from, to, GridResize::bilinear);
    // The formula interpolates the rows bilinearly at the new positions, then spreads each row over the new columns.
    const auto weight = [](Index i, Index j, Index size, Index new_size, double reach) {
      const double x =
          std::clamp((static_cast<double>(i) + 0.5) * static_cast<double>(size) / static_cast<double>(new_size) - 0.5, 0.0,
                     static_cast<double>(size - 1));
      return std::max(0.0, 1 - std::abs(x - static_cast<double>(j)) / reach);
    };
    const auto spread = [&](Index i, Index j, Index size, Index new_size) {
      const double reach = std::max(1.0, static_cast<double>(size) / static_cast<double>(new_size));
      double sum = 0;
      for (Index k = 0; k < new_size; ++k) {
        sum += weight(k, j, size, new_size, reach);
      }
      return weight(i, j, size, new_size, reach) / sum;
    };
    for (Index p = 0; p < to.area(); ++p) {
      for (Index q = 0; q < to.area(); ++q) {
        double expected = 0;
        for (Index s = 0; s < from.area(); ++s) {
          for (Index t = 0; t < from.area(); ++t) {
            expected += weight(p / to.width, s / from.width, from.height, to.height, 1) *
                        weight(p % to.width, s % from.width, from.width, to.width, 1) *
                        spread(q / to.width, t / from.width, from.height, to.height) *
                        spread(q % to.width, t % from.width, from.width, to.width) *
                        static_cast<double>(projection.weight(from.area() + s, t));
          }
        }
        ASSERT_NEAR(static_cast<double>(resized.weight(to.area() + p, q)), expected, 1e-6);
      }
    }
  }
}

TYPED_TEST(Resize, KeepsRowSums) {
  using T = TypeParam;
  for (const auto& [from, to] : grids) {
    auto projection = random_projection<T>({.length = from.area()}, 5);
    if (to.height >= from.height && to.width >= from.width) {
      const auto moved = resize_grid(projection, from, to, GridResize::by_offset);
      for (Index p = 0; p < to.area(); ++p) {
        EXPECT_NEAR(static_cast<double>(moved.weight.row(p).sum()),
                    static_cast<double>(projection.weight.row(old_patch(p, from, to)).sum()), 1e-5);
      }
    }
    // The bias is resized like the row sums, so a bias equal to the row sums stays equal.
    projection.bias = projection.weight.rowwise().sum().transpose();
    const auto stretched = resize_grid(projection, from, to, GridResize::bilinear);
    EXPECT_LT((stretched.weight.rowwise().sum().transpose() - stretched.bias).cwiseAbs().maxCoeff(), 2e-6);
  }
}

TYPED_TEST(Resize, KeepsClassTokens) {
  using T = TypeParam;
  const ImageSize from{2, 3}, to{4, 5};
  const auto projection = random_projection<T>({.length = 7, .heads = 2}, 6);
  for (const GridResize method : {GridResize::by_offset, GridResize::bilinear}) {
    const auto resized = resize_grid(projection, from, to, method);
    ASSERT_EQ(resized.config.length, 21);
    for (Index head = 0; head < 2; ++head) {
      const auto w = projection.weight.middleRows(7 * head, 7);
      const auto v = resized.weight.middleRows(21 * head, 21);
      SpatialProjection<T> patches({.length = 6});
      patches.weight = w.bottomRightCorner(6, 6);
      patches.bias = w.col(0).tail(6).transpose();  // weights of the class token are resized like a bias
      const auto alone = resize_grid(patches, from, to, method);
      EXPECT_EQ(v(0, 0), w(0, 0));
      EXPECT_EQ(resized.bias(head, 0), projection.bias(head, 0));
      EXPECT_TRUE(same_bits(v.bottomRightCorner(20, 20).eval(), alone.weight));
      EXPECT_TRUE(same_bits(v.col(0).tail(20).transpose().eval(), alone.bias));
      EXPECT_NEAR(static_cast<double>(v.row(0).sum()), static_cast<double>(w.row(0).sum()), 1e-5);
      EXPECT_GT(static_cast<double>(v.row(0).tail(20).cwiseAbs().minCoeff()), 0.0) << "spread over all patches";
    }
  }
}

TYPED_TEST(Resize, KeepsEveryBitAtTheSameSize) {
  using T = TypeParam;
  const GmlpImageClassifierConfig image{.image = {6, 8},
                                        .patch = {2, 2},
                                        .classes = 3,
                                        .pooling = Pooling::class_token,
                                        .trunk = {.channels = 4, .hidden = 8, .depth = 2, .heads = 2, .attention_width = 2}};
  auto classifier = randomized(GmlpImageClassifier<T>(image), 7);
  classifier.trunk.blocks[0].gate.proj.weight(1, 2) = -T{0};  // a product with the identity would change -0 and NaN
  classifier.trunk.blocks[0].gate.proj.weight(5, 5) = std::numeric_limits<T>::quiet_NaN();
  for (const GridResize method : {GridResize::by_offset, GridResize::bilinear}) {
    EXPECT_TRUE(same_parameters(classifier, resize_grid(classifier, {6, 8}, method)));
  }
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    const auto model =
        randomized(GmlpLanguageModel<T>(
                       {.vocabulary = 5, .trunk = {.length = 6, .channels = 4, .hidden = 8, .depth = 2, .spatial = form}}),
                   8);
    EXPECT_TRUE(same_parameters(model, resize_length(model, 6)));
    EXPECT_TRUE(same_parameters(model, resize_length(model, 6, LengthResize::by_offset)));
  }
}

/// Covers every form except dense non-causal weights, which no method resizes exactly. Dense causal weights grow by_offset.
TYPED_TEST(Resize, KeepsWeightsBetweenCommonTokens) {
  using T = TypeParam;
  const Index n = 9;
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    for (const bool causal : {false, true}) {
      if (form == SpatialForm::dense && !causal) {
        continue;
      }
      const auto projection = random_projection<T>({.length = n, .heads = 2, .causal = causal, .form = form}, 9);
      for (const Index length : {1, 2, 8, 10, 30}) {
        const auto method = form == SpatialForm::dense && length > n ? LengthResize::by_offset : LengthResize::exact;
        const auto resized = resize_length(projection, length, method);
        const Index both = std::min(n, length);
        for (Index head = 0; head < 2; ++head) {
          const Matrix<T> w = resized.effective_weight(head, length);
          EXPECT_TRUE(same_bits(w.topLeftCorner(both, both).eval(),
                                projection.effective_weight(head, n).topLeftCorner(both, both).eval()))
              << name_of(form) << ", " << length;
          EXPECT_TRUE(same_bits(resized.bias.row(head).head(both).eval(), projection.bias.row(head).head(both).eval()));
          for (Index i = n; i < length; ++i) {
            EXPECT_EQ(resized.bias(head, i), projection.bias(head, n - 1));
            EXPECT_EQ(w(i, i - n), T{0}) << "reaches no further back than before";
            if (form != SpatialForm::scaled_toeplitz) {
              EXPECT_EQ(w(i, i - n + 1), w(n - 1, 0)) << "the last filter is repeated";
            } else {
              EXPECT_NEAR(
                  static_cast<double>(w(i, i)),
                  static_cast<double>(w(n - 1, n - 1) / projection.position_y(head, n - 1) * resized.position_y(head, i)),
                  1e-6);
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(Resize, DenseCausalToeplitzResizesLikeTheToeplitzForm) {
  using T = TypeParam;
  const auto toeplitz = random_projection<T>({.length = 7, .causal = true, .form = SpatialForm::toeplitz}, 10);
  SpatialProjection<T> dense({.length = 7, .causal = true});
  dense.weight = toeplitz.effective_weight(0, 7);
  dense.bias = toeplitz.bias;
  for (const Index length : {3, 8, 20}) {
    const auto grown = resize_length(dense, length, LengthResize::by_offset);
    const auto expected = resize_length(toeplitz, length);
    EXPECT_TRUE(same_bits(grown.effective_weight(0, length), expected.effective_weight(0, length)));
    EXPECT_TRUE(same_bits(grown.bias, expected.bias));
  }
}

TYPED_TEST(Resize, ResizesALengthLikeAGridOfOneRow) {
  using T = TypeParam;
  const auto projection = random_projection<T>({.length = 7, .heads = 2}, 11);
  for (const Index length : {3, 12}) {
    EXPECT_TRUE(same_parameters(resize_length(projection, length, LengthResize::by_offset),
                                resize_grid(projection, {1, 7}, {1, length}, GridResize::by_offset)));
  }
}

TYPED_TEST(Resize, ACausalModelPredictsTheSameAtAnyLength) {
  using T = TypeParam;
  const std::vector<Index> tokens{3, 1, 4, 1, 0, 2, 4, 3, 2};
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    const auto model = randomized(GmlpLanguageModel<T>({.vocabulary = 5,
                                                        .head = {.form = HeadForm::untied, .bias = true},
                                                        .trunk = {.length = 6,
                                                                  .channels = 4,
                                                                  .hidden = 8,
                                                                  .depth = 2,
                                                                  .spatial = form,
                                                                  .causal = true,
                                                                  .heads = 2,
                                                                  .attention_width = 2,
                                                                  .token_shift = 1}}),
                                  12);
    Workspace<T> workspace;
    const auto say = [&](const auto& speaker, Index count) {
      return speaker.forward({tokens.data(), static_cast<std::size_t>(count)}, Sequences::single(count), workspace);
    };
    const Matrix<T> before = say(model, 6);
    const auto longer = resize_length(model, 9, LengthResize::by_offset);
    EXPECT_EQ(longer.config.trunk.length, 9);
    EXPECT_TRUE(same_bits(before, say(longer, 9).topRows(6).eval())) << name_of(form);
    EXPECT_TRUE(same_bits(before.topRows(4).eval(), say(resize_length(model, 4), 4)));
    auto state = longer.start();
    Matrix<T> logits(9, 5);
    longer.extend(tokens, state, logits, workspace);
    EXPECT_TRUE(same_bits(logits, say(longer, 9)));
    EXPECT_THROW(say(model, 9), ShapeError);

    const auto trunk = resize_length(model.trunk, 9, LengthResize::by_offset);
    EXPECT_TRUE(same_parameters(trunk, longer.trunk));
  }
}

TYPED_TEST(Resize, HandlesModelsWithAStackOfGmlpBlocks) {
  using T = TypeParam;
  using Trunk = Stack<GmlpBlock<T>>;  // its depth comes from StackConfig, not from the block
  const GmlpConfig block{.length = 6, .channels = 4, .hidden = 8, .depth = 2, .heads = 2, .attention_width = 2};
  const auto trunk = randomized(Gmlp<T>(block), 16);
  const auto other = randomized(Trunk({.depth = 2, .block = block}), 16);
  const auto expected = resize_length(trunk, 9, LengthResize::by_offset);
  const auto resized = resize_length(other, 9, LengthResize::by_offset);
  EXPECT_EQ(resized.config.block.length, 9);
  EXPECT_EQ(resized.config.depth, 2);

  LanguageModel<Trunk> text({.vocabulary = 5, .trunk = other.config});
  text.trunk = other;
  const auto resized_text = resize_length(text, 9, LengthResize::by_offset);
  EXPECT_EQ(resized_text.config.trunk.block.length, 9);

  ImageClassifier<Trunk> images({.image = {4, 6}, .patch = {2, 2}, .classes = 3, .trunk = other.config});
  images.trunk = other;
  const auto resized_images = resize_grid(images, {6, 6}, GridResize::by_offset);
  EXPECT_EQ(resized_images.config.trunk.block.length, 9);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(same_parameters(resized.blocks[i], expected.blocks[i]));
    EXPECT_TRUE(same_parameters(resized_text.trunk.blocks[i], expected.blocks[i]));
    EXPECT_TRUE(same_parameters(resized_images.trunk.blocks[i].gate.proj,
                                resize_grid(trunk.blocks[i].gate.proj, {2, 3}, {3, 3}, GridResize::by_offset)));
  }
}

TYPED_TEST(Resize, AResizedClassifierRuns) {
  using T = TypeParam;
  const auto model =
      randomized(GmlpImageClassifier<T>({.image = {6, 4},
                                         .patch = {2, 2},
                                         .image_channels = 2,
                                         .classes = 3,
                                         .pooling = Pooling::class_token,
                                         .stem_norm = true,
                                         .pre_logits = true,
                                         .trunk = {.channels = 4, .hidden = 8, .depth = 2, .heads = 2, .attention_width = 2}}),
                 13);
  Workspace<T> workspace;
  const Matrix<T> small = test::random_matrix<T>(2, 2 * 6 * 4, 14), large = test::random_matrix<T>(2, 2 * 8 * 10, 15);
  const Matrix<T> before = model.forward(small, workspace);
  for (const GridResize method : {GridResize::by_offset, GridResize::bilinear}) {
    const auto resized = resize_grid(model, {8, 10}, method);
    EXPECT_EQ(resized.config.image, (ImageSize{8, 10}));
    EXPECT_EQ(resized.config.trunk.length, 21);
    const Matrix<T> after = resized.forward(large, workspace);
    EXPECT_TRUE(after.allFinite());
    EXPECT_GT((after.row(0) - after.row(1)).cwiseAbs().maxCoeff(), 1e-5);
    EXPECT_THROW(resized.forward(small, workspace), ShapeError);
    EXPECT_TRUE(same_bits(resized.head->weight, model.head->weight));
    EXPECT_TRUE(same_bits(resized.trunk.blocks[1].attention->qkv.weight, model.trunk.blocks[1].attention->qkv.weight));
    const auto back = from_json<GmlpImageClassifierConfig>(to_json(resized.config));
    EXPECT_EQ(parameter_count(GmlpImageClassifier<T>(back)), parameter_count(resized)) << "the configuration is resized too";
  }
  EXPECT_TRUE(same_bits(before, model.forward(small, workspace)));
}

/// An image of `tokens` equal tokens.
template <class T>
Matrix<T> one_colour(Index tokens) {
  Matrix<T> x(tokens, 3);
  x.col(0).setConstant(T(0.5));
  x.col(1).setConstant(T(-1));
  x.col(2).setConstant(T(2));
  return x;
}

template <class Layer>
void expect_one_colour_stays(const typename Layer::Config& config, Index others) {
  using T = typename Layer::Scalar;
  const auto layer = randomized(Layer(config), 3);
  for (const auto& [from, to] : {std::pair(ImageSize{3, 4}, ImageSize{6, 5}), std::pair(ImageSize{3, 4}, ImageSize{2, 1})}) {
    const Layer resized = resize_grid(layer, from, to, GridResize::bilinear);
    const Index before = others + from.area(), after = others + to.area();
    ASSERT_EQ(resized.config.length, after);
    Workspace<T> workspace;
    const Matrix<T> y = layer.forward(one_colour<T>(before), Sequences::single(before), workspace);
    const Matrix<T> changed = resized.forward(one_colour<T>(after), Sequences::single(after), workspace);
    const Matrix<T> reading =
        detail::on_grid(detail::interpolation<T>(from.height, to.height), detail::interpolation<T>(from.width, to.width));
    EXPECT_TRUE(test::near<T>(changed.topRows(others), test::wide(Matrix<T>(y.topRows(others)))));
    EXPECT_TRUE(test::near<T>(changed.bottomRows(to.area()), test::wide(Matrix<T>(reading * y.bottomRows(from.area())))));
  }
  EXPECT_TRUE(same_parameters(resize_grid(layer, {3, 4}, {3, 4}, GridResize::bilinear), layer));
}

TYPED_TEST(Resize, MixersKeepTheirOutputOnUniformImages) {
  using T = TypeParam;
  for (const Index others : {0, 1}) {
    expect_one_colour_stays<TokenMlp<T>>({.channels = 3, .length = 12 + others, .hidden = 5}, others);
    expect_one_colour_stays<TokenGlu<T>>({.channels = 3, .length = 12 + others, .hidden = 5}, others);
  }
  expect_one_colour_stays<TokenProjection<T>>({.channels = 3, .length = 12}, 0);
}

TYPED_TEST(Resize, ResizesTheWeightOfATokenProjection) {
  using T = TypeParam;
  const auto layer = randomized(TokenProjection<T>({.channels = 3, .length = 12, .causal = true}), 4);
  const auto moved = resize_grid(layer, {3, 4}, {4, 4}, GridResize::by_offset);
  EXPECT_TRUE(same_parameters(moved.proj, resize_grid(layer.proj, {3, 4}, {4, 4}, GridResize::by_offset)));
  const auto shorter = resize_length(layer, 5);
  EXPECT_TRUE(same_parameters(shorter.proj, resize_length(layer.proj, 5)));
  EXPECT_EQ(shorter.longest(), 5);

  using Trunk = Stack<MixerBlock<TokenProjection<T>, FeedForward<T>>>;
  const auto model = randomized(
      LanguageModel<Trunk>(
          {.vocabulary = 5, .trunk = {.depth = 2, .block = {.channels = 4, .token_mixer = {.length = 9, .causal = true}}}}),
      5);
  const auto cut = resize_length(model, 6);
  EXPECT_EQ(cut.config.trunk.block.token_mixer.length, 6);
  const std::vector<Index> tokens{1, 4, 0, 2, 3, 3};
  Workspace<T> workspace;
  EXPECT_TRUE(
      same_bits(cut.forward(tokens, Sequences::single(6), workspace), model.forward(tokens, Sequences::single(6), workspace)));
}

template <class Model>
void expect_resized_runs(typename Model::Config config) {
  using T = typename Model::Scalar;
  config.image = {6, 4};
  config.patch = {2, 2};
  config.trunk.depth = 2;
  if constexpr (requires { config.trunk.block.token_mixer.hidden; }) {
    config.trunk.block.token_mixer.hidden = 5;
  }
  const auto model = randomized(Model(config), 6);
  const auto resized = resize_grid(model, {8, 10}, GridResize::bilinear);
  EXPECT_EQ(resized.tokens_per_image(), 20 + model.tokens_per_image() - 6);
  Workspace<T> workspace;
  EXPECT_TRUE(resized.forward(test::random_matrix<T>(2, 3 * 80, 7), workspace).allFinite());
  EXPECT_TRUE(same_bits(resized.head->weight, model.head->weight));
  EXPECT_TRUE(same_parameters(resized.trunk.blocks[1].channels, model.trunk.blocks[1].channels));
  EXPECT_TRUE(same_parameters(resize_grid(model, {6, 4}, GridResize::bilinear), model));
  if (model.position) {
    EXPECT_TRUE(same_bits(resized.position->weight, model.position->weight));
  }
}

TYPED_TEST(Resize, AResizedMixerRuns) {
  using T = TypeParam;
  expect_resized_runs<MixerImageClassifier<T>>(timm_mixer({.channels = 4}, 3));
  expect_resized_runs<GmixerImageClassifier<T>>(timm_gmixer({.channels = 4}, 3));
  expect_resized_runs<ResmlpImageClassifier<T>>(timm_resmlp({.channels = 4}, 3));
  expect_resized_runs<MixerImageClassifier<T>>(vit_ff({.channels = 4}, 3));
}

TEST(ResizeGrid, HasThePapersParameterCountAt384Pixels) {
  const auto model = resize_grid(GmlpImageClassifier<float>(gmlp_b16_224()), {384, 384}, GridResize::by_offset);
  EXPECT_EQ(parameter_count(model), 81'887'592);
  EXPECT_EQ(parameter_count(model) - parameter_count(*model.head), 81'374'592);
}

/// Checks the figures in the documentation of resize_grid().
TEST(ResizeGrid, ReadsDigitsAtAnotherSize) {
  const std::string folder = GATED_REFERENCE_DIR "/../../examples/classify_digits/";
  const auto model = load_model<GmlpImageClassifier<float>>(folder + "digits_gmlp.safetensors");
  const Matrix<float> table = read_csv<float>(folder + "digits.csv");
  const Index count = table.rows() / 5;
  Matrix<float> images(count, 64);
  for (Index i = 0; i < count; ++i) {
    images.row(i) = table.row(5 * i + 4).head(64) / 16;
  }
  const auto percent_right = [&](const GmlpImageClassifier<float>& classifier, const Matrix<float>& pixels) {
    Workspace<float> workspace;
    const Matrix<float> logits = classifier.forward((pixels.array() - 0.5F) / 0.5F, workspace);
    Index right = 0;
    for (Index i = 0; i < count; ++i) {
      Index label = 0;
      logits.row(i).maxCoeff(&label);
      right += label == static_cast<Index>(table(5 * i + 4, 64)) ? 1 : 0;
    }
    return 100 * static_cast<double>(right) / static_cast<double>(count);
  };
  EXPECT_NEAR(percent_right(model, images), 98.3, 0.1);

  const Matrix<float> scale = detail::interpolation<float>(8, 12);
  const Matrix<float> scaled = images * detail::on_grid(scale, scale).transpose();
  EXPECT_NEAR(percent_right(resize_grid(model, {12, 12}, GridResize::bilinear), scaled), 96.9, 0.5);
  EXPECT_NEAR(percent_right(resize_grid(model, {12, 12}, GridResize::by_offset), scaled), 45.1, 0.5);

  Matrix<float> framed = Matrix<float>::Zero(count, 81);
  for (Index y = 0; y < 8; ++y) {
    framed.middleCols(9 * y, 8) = images.middleCols(8 * y, 8);
  }
  EXPECT_NEAR(percent_right(resize_grid(model, {9, 9}, GridResize::bilinear), framed), 70.5, 0.5);
  EXPECT_NEAR(percent_right(resize_grid(model, {9, 9}, GridResize::by_offset), framed), 81.9, 0.5);
}

TEST(ResizeGrid, ErrorsNameTheExpectedValue) {
  const GmlpImageClassifier<float> model(
      {.image = {4, 6}, .patch = {2, 3}, .classes = 0, .trunk = {.channels = 2, .hidden = 4, .depth = 1}});
  EXPECT_EQ(message_of<ArgumentError>([&] {
              resize_grid(model, {0, 6}, GridResize::by_offset);
            }),
            "resize_grid: the new image has 0 × 6 pixels, expected at least those of a patch, 2 × 3.");
  for (const ImageSize image : {ImageSize{4, 0}, ImageSize{-4, -6}, ImageSize{1, 1}}) {
    EXPECT_THROW(resize_grid(model, image, GridResize::bilinear), ArgumentError) << image.height << ", " << image.width;
  }
  const SpatialProjection<float> toeplitz({.length = 4, .form = SpatialForm::toeplitz});
  EXPECT_EQ(
      message_of<ArgumentError>([&] {
        resize_grid(toeplitz, {2, 2}, {3, 3}, GridResize::by_offset);
      }),
      "resize_grid: the spatial weights are toeplitz, expected dense: Toeplitz weights have no two-dimensional filters. Use "
      "resize_length().");
  const SpatialProjection<float> causal({.length = 4, .causal = true});
  EXPECT_EQ(message_of<ArgumentError>([&] {
              resize_grid(causal, {2, 2}, {3, 3}, GridResize::bilinear);
            }),
            "resize_grid: bilinear filters cross the causal mask. Use by_offset.");
  EXPECT_NO_THROW(resize_grid(causal, {2, 2}, {3, 3}, GridResize::by_offset));
  EXPECT_EQ(message_of<ShapeError>([&] {
              resize_grid(causal, {2, 3}, {3, 3}, GridResize::by_offset);
            }),
            "resize_grid: a grid of 2 × 3 has 6 patches, expected at most 4, the length of the projection.");
  EXPECT_THROW(resize_grid(causal, {2, 2}, {0, 3}, GridResize::by_offset), ArgumentError);
  EXPECT_THROW(resize_grid(causal, {-2, -2}, {3, 3}, GridResize::by_offset), ArgumentError);
}

TEST(ResizeGrid, RefusesByOffsetForMlpsOverTokens) {
  const TokenMlp<float> layer({.channels = 2, .length = 5, .hidden = 3});
  EXPECT_EQ(message_of<ArgumentError>([&] {
              resize_grid(layer, {2, 2}, {3, 3}, GridResize::by_offset);
            }),
            "resize_grid: an MLP over tokens has no filters to move. Use bilinear.");
  EXPECT_EQ(
      message_of<ArgumentError>([&] {
        resize_grid(layer, {2, 3}, {3, 3}, GridResize::bilinear);
      }),
      "resize_grid: the old grid has 2 × 3 patches, the new one 3 × 3, and the layer 5 tokens, expected non-empty grids and at "
      "most 5 old patches.");
}

TEST(Resize, ChangesOnlyTheLengthOfAModelWithoutSpatialWeights) {
  const auto model =
      randomized(Gmlp<double>({.length = 4, .channels = 6, .hidden = 8, .depth = 2, .gate = GateForm::identity}), 1);
  const Matrix<double> x = Matrix<double>::Random(6, 6);
  for (const LengthResize method : {LengthResize::exact, LengthResize::by_offset}) {
    const auto resized = resize_length(model, 6, method);
    EXPECT_EQ(resized.config.length, 6);
    EXPECT_TRUE(same_bits(resized.forward(x).topRows(4).eval(), model.forward(x.topRows(4))));
  }
  const auto classifier =
      randomized(GmlpImageClassifier<double>(
                     {.image = {4, 4}, .patch = {2, 2}, .trunk = {.channels = 2, .hidden = 4, .gate = GateForm::identity}}),
                 2);
  const auto larger = resize_grid(classifier, {8, 4}, GridResize::bilinear);
  EXPECT_EQ(larger.config.trunk.length, 8);
  EXPECT_TRUE(same_parameters(larger, classifier));
}

TEST(Resize, RefusesProjectionsToOtherNumbersOfTokens) {
  const TokenMlp<float> layer({.channels = 4, .length = 16, .hidden = 3});
  const std::string rest = ": outputs = 3, expected 0: the rows of W must be tokens of x.";
  EXPECT_EQ(message_of<ArgumentError>([&] { resize_length(layer.proj_in, 8, LengthResize::by_offset); }),
            "resize_length" + rest);
  EXPECT_EQ(message_of<ArgumentError>([&] {
              resize_grid(layer.proj_in, {4, 4}, {5, 5}, GridResize::bilinear);
            }),
            "resize_grid" + rest);
}

TEST(ResizeGrid, SetsTheLengthOfEveryKindOfBlock) {
  MixerImageClassifierConfig config{.image = {8, 8}, .patch = {2, 2}};
  config.trunk.block = {.channels = 8, .token_mixer = {.hidden = 4}, .channel_mixer = {.hidden = 16}};
  config.trunk.depth = 2;
  config.trunk.others = {config.trunk.block};
  config.trunk.others[0].channel_mixer.activation = Activation::silu;
  config.trunk.kinds = {0, 1};
  const auto model = randomized(MixerImageClassifier<float>(config), 3);
  const auto larger = resize_grid(model, {16, 16}, GridResize::bilinear);
  EXPECT_EQ(larger.trunk.blocks[1].tokens.mixer.config.length, 64);
  Workspace<float> workspace;
  EXPECT_TRUE(larger.forward(Matrix<float>::Ones(1, larger.in()), workspace).allFinite());
}

TEST(ResizeLength, ErrorsNameTheExpectedValue) {
  const Gmlp<float> model({.length = 4, .channels = 2, .hidden = 4});
  EXPECT_EQ(message_of<ArgumentError>([&] { resize_length(model, 0); }),
            "resize_length: length = 0, expected at least one token.");
  EXPECT_EQ(message_of<ArgumentError>([&] { resize_length(model, -1, LengthResize::by_offset); }),
            "resize_length: length = -1, expected at least one token.");
  EXPECT_EQ(message_of<ArgumentError>([&] { resize_length(model, 3); }),
            "resize_length: from 4 to 3 tokens: the spatial weights are dense and not causal, so no exact weight of this "
            "length exists. Use LengthResize::by_offset and fine-tune, or set length_policy = slice.");
  const GmlpLanguageModel<float> causal({.vocabulary = 2, .trunk = {.length = 4, .channels = 2, .hidden = 4, .causal = true}});
  EXPECT_EQ(message_of<ArgumentError>([&] { resize_length(causal, 5); }),
            "resize_length: from 4 to 5 tokens: the spatial weights are dense, so no exact weight of this length exists. Use "
            "LengthResize::by_offset and fine-tune.");
  EXPECT_NO_THROW(resize_length(causal, 3));
}

}  // namespace
}  // namespace gated::resize_test
