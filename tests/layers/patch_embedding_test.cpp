#include "gated/layers/patch_embedding.hpp"

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::patch_embedding_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;

template <class T>
class PatchEmbeddingOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PatchEmbeddingOf, Scalars, );

/// A convolution whose stride equals its kernel size, as plain loops.
template <class T>
Matrix<double> convolution(const PatchEmbedding<T>& layer, const Matrix<T>& images) {
  const ImageSize image = layer.image, patch = layer.patch;
  const Index down = image.height / patch.height, across = image.width / patch.width;
  Matrix<double> tokens(images.rows() * down * across, layer.weight.rows());
  for (Index b = 0; b < images.rows(); ++b) {
    for (Index i = 0; i < down; ++i) {
      for (Index j = 0; j < across; ++j) {
        for (Index out = 0; out < tokens.cols(); ++out) {
          double sum = layer.bias(out);
          for (Index c = 0; c < layer.channels; ++c) {
            for (Index y = 0; y < patch.height; ++y) {
              for (Index x = 0; x < patch.width; ++x) {
                const Index row = i * patch.height + y, column = j * patch.width + x;
                sum += static_cast<double>(images(b, (c * image.height + row) * image.width + column)) *
                       static_cast<double>(layer.weight(out, (c * patch.height + y) * patch.width + x));
              }
            }
          }
          tokens((b * down + i) * across + j, out) = sum;
        }
      }
    }
  }
  return tokens;
}

template <class T>
Matrix<T> embed(const PatchEmbedding<T>& layer, const Matrix<T>& images) {
  Workspace<T> workspace;
  return layer.forward(images, workspace);
}

TEST(PatchEmbedding, KeepsItsPromises) {
  test::expect_promises([](auto zero) { return PatchEmbedding<decltype(zero)>(3, {8, 12}, {4, 6}, 5); }, {.streams = false});
  test::expect_promises(
      [](auto zero) {
        return PatchEmbedding<decltype(zero)>(2, {3, 2}, {3, 2}, 12);
      },
      {.streams = false});  // in = out
  test::expect_promises(
      [](auto zero) {
        return PatchEmbedding<decltype(zero)>(2, {7, 9}, {2, 4}, 5);
      },
      {.streams = false});  // the last row and the last column are not read
}

TYPED_TEST(PatchEmbeddingOf, SumsEachPatchWithAKernelOfOnes) {
  using T = TypeParam;
  PatchEmbedding<T> layer(1, {2, 4}, {2, 2}, 1);
  layer.weight.setOnes();
  layer.bias << 100;
  Matrix<T> image(1, 8), expected(2, 1);
  image << 1, 2, 3, 4,  //
      5, 6, 7, 8;
  expected << 114, 122;
  EXPECT_TRUE(test::same_bits(embed(layer, image), expected));
}

TYPED_TEST(PatchEmbeddingOf, EqualsAConvolutionWithStrideEqualToKernel) {
  using T = TypeParam;
  struct Case {
    Index channels;
    ImageSize image, patch;
    Index out, images;
  };
  for (const auto& [channels, image, patch, out, images] :
       {Case{3, {8, 8}, {4, 4}, 5, 2}, Case{1, {6, 10}, {3, 5}, 7, 3}, Case{3, {4, 12}, {4, 2}, 33, 1},
        Case{2, {7, 9}, {2, 4}, 5, 3}, Case{2, {5, 7}, {1, 1}, 3, 2}, Case{4, {6, 4}, {6, 4}, 1, 1},
        Case{1, {1, 1}, {1, 1}, 1, 1}}) {
    PatchEmbedding<T> layer(channels, image, patch, out);
    test::randomize(layer, 1);
    const auto x = random_matrix<T>(images, layer.pixels(), 2);
    EXPECT_TRUE(near(embed(layer, x), convolution(layer, x))) << image.height << " × " << image.width;
  }
}

TEST(PatchEmbedding, ReportsItsWeightAsAConvolutionKernel) {
  const PatchEmbedding<float> layer(3, {8, 12}, {4, 6}, 5);
  EXPECT_EQ(layer.kernel_shape(), (Shape{5, 3, 4, 6}));
  EXPECT_EQ(layer.grid(), (ImageSize{2, 2}));
  EXPECT_EQ(layer.pixels(), 288);
  EXPECT_EQ(layer.contract().output_rows(3), 12);
  EXPECT_EQ(parameter_count(layer), 5 * 72 + 5);
}

TEST(PatchEmbedding, InitializesLecunNormalWeights) {
  PatchEmbedding<double> layer(3, {16, 16}, {16, 16}, 50);
  Random random(1);
  layer.initialize(random);
  EXPECT_NEAR(layer.weight.squaredNorm() / static_cast<double>(layer.weight.size()), 1.0 / 768, 0.03 / 768);
  EXPECT_TRUE((layer.bias.array() == 0).all());
}

TEST(PatchEmbedding, RefusesImagesOfOtherSizesBeforeWriting) {
  const PatchEmbedding<float> layer(3, {8, 8}, {4, 4}, 5);
  Workspace<float> workspace;
  Matrix<float> tokens = Matrix<float>::Constant(8, 5, 7);
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 191), tokens, workspace); }),
            "PatchEmbedding::forward: x has 191 columns, expected in = 192 (channels × height × width, one row per image; "
            "resize or crop the image first, or convert the model with resize_grid()).");
  EXPECT_THROW(layer.forward(Matrix<float>::Zero(3, 192), tokens, workspace), ShapeError);
  EXPECT_TRUE((tokens.array() == 7).all());
}

TEST(PatchEmbedding, RefusesToRunIfMovedFrom) {
  PatchEmbedding<float> layer(3, {8, 8}, {4, 4}, 5);
  const auto moved = std::move(layer);
  Workspace<float> workspace;
  EXPECT_EQ(message_of<ArgumentError>([&] { layer.forward(Matrix<float>::Zero(2, 192), workspace); }),
            "PatchEmbedding: the weights are empty, perhaps moved from. Use the model they were moved to.");
}

TEST(PatchEmbedding, RefusesEmptySizesAndImagesSmallerThanAPatch) {
  EXPECT_EQ(message_of<ArgumentError>([] {
              PatchEmbedding<float>(3, {8, 3}, {4, 4}, 5);
            }),
            "PatchEmbedding: an image of 8 × 3 pixels is smaller than a patch of 4 × 4.");
  EXPECT_THROW(PatchEmbedding<float>(3, {2, 2}, {4, 4}, 5), ArgumentError);
  EXPECT_THROW(PatchEmbedding<float>(3, {8, 8}, {0, 4}, 5), ArgumentError);
  EXPECT_THROW(PatchEmbedding<float>(0, {8, 8}, {4, 4}, 5), ArgumentError);
  EXPECT_THROW(PatchEmbedding<float>(3, {8, 8}, {4, 4}, 0), ArgumentError);
  EXPECT_THROW(PatchEmbedding<float>(3, {-8, 8}, {-4, 4}, 5), ArgumentError);
}

}  // namespace
}  // namespace gated::patch_embedding_test
