#include "gated/layers/image_convolution.hpp"

#include <limits>

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::image_convolution_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;

struct Sizes {
  Index channels;
  ImageSize image;
  Index maps, kernel;
};

/// Kernels of one pixel, smaller than the image, as large as the image, and larger; one output map and many.
constexpr Sizes all_sizes[] = {{3, {4, 5}, 4, 3}, {2, {3, 2}, 5, 1}, {1, {3, 4}, 1, 3},
                               {2, {2, 3}, 7, 7}, {5, {1, 1}, 3, 5}, {4, {9, 1}, 2, 3}};

template <class T>
ImageConvolution<T> convolution_of(const Sizes& s) {
  ImageConvolution<T> layer(s.channels, s.image, s.maps, s.kernel);
  test::randomize(layer, 1);
  return layer;
}

/// A convolution with zero padding, as plain loops.
template <class T>
Matrix<double> literal_convolution(const ImageConvolution<T>& layer, const Matrix<T>& images) {
  const Index height = layer.image.height, width = layer.image.width, maps = layer.weight.rows(), k = layer.kernel;
  Matrix<double> y(images.rows() * maps, height * width);
  for (Index b = 0; b < images.rows(); ++b) {
    for (Index map = 0; map < maps; ++map) {
      for (Index i = 0; i < height; ++i) {
        for (Index j = 0; j < width; ++j) {
          double sum = static_cast<double>(layer.bias(map));
          for (Index c = 0; c < layer.channels; ++c) {
            for (Index u = 0; u < k; ++u) {
              for (Index v = 0; v < k; ++v) {
                const Index row = i + u - k / 2, column = j + v - k / 2;
                if (row >= 0 && row < height && column >= 0 && column < width) {
                  sum += static_cast<double>(layer.weight(map, (c * k + u) * k + v)) *
                         static_cast<double>(images(b, (c * height + row) * width + column));
                }
              }
            }
          }
          y(b * maps + map, i * width + j) = sum;
        }
      }
    }
  }
  return y;
}

TEST(ImageConvolution, KeepsItsPromises) {
  for (const Sizes& s : all_sizes) {
    SCOPED_TRACE(text("kernel ", s.kernel));
    test::expect_promises([&](auto zero) { return ImageConvolution<decltype(zero)>(s.channels, s.image, s.maps, s.kernel); },
                          {.streams = false});
  }
}

template <class T>
class ImageConvolutionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ImageConvolutionOf, Scalars, );

TYPED_TEST(ImageConvolutionOf, EqualsItsFormula) {
  using T = TypeParam;
  for (const Sizes& s : all_sizes) {
    const auto layer = convolution_of<T>(s);
    const auto images = random_matrix<T>(3, layer.in(), 2);
    EXPECT_TRUE(near(layer.forward(images), literal_convolution(layer, images))) << "kernel " << s.kernel;
  }
}

TYPED_TEST(ImageConvolutionOf, PadsTheImageWithZeros) {
  using T = TypeParam;
  ImageConvolution<T> layer(1, {2, 3}, 1, 3);
  layer.weight.setOnes();
  layer.bias << 100;
  Matrix<T> image(1, 6), expected(1, 6);
  image << 1, 2, 3,  //
      4, 5, 6;
  expected << 112, 121, 116,  //
      112, 121, 116;
  EXPECT_TRUE(test::same_bits(layer.forward(image), expected));
}

TEST(ImageConvolution, ReportsKernelShapeAndSizes) {
  const ImageConvolution<float> layer(3, {4, 5}, 6, 7);
  EXPECT_EQ(layer.kernel_shape(), (Shape{6, 3, 7, 7}));
  EXPECT_EQ(layer.in(), 60);
  EXPECT_EQ(layer.out(), 20);
  EXPECT_EQ(layer.contract().output_rows(2), 12);
  EXPECT_EQ(parameter_count(layer), 6 * 3 * 49 + 6);
}

TEST(ImageConvolution, InitializesWithLecunNormal) {
  ImageConvolution<double> layer(30, {2, 2}, 50, 5);
  Random random(1);
  layer.initialize(random);
  EXPECT_NEAR(layer.weight.squaredNorm() / static_cast<double>(layer.weight.size()), 1.0 / 750, 0.03 / 750);
  EXPECT_TRUE((layer.bias.array() == 0).all());
}

TEST(ImageConvolution, RefusesImagesOfOtherSizesBeforeWriting) {
  const auto layer = convolution_of<float>(all_sizes[0]);
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(8, 20, 7);
  EXPECT_EQ(
      message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 59), y, workspace); }),
      "ImageConvolution::forward: x has 59 columns, expected in = 60 (channels × height × width, one row per image; resize "
      "or crop the image first).");
  EXPECT_THROW(layer.forward(Matrix<float>::Zero(3, 60), y, workspace), ShapeError);
  EXPECT_TRUE((y.array() == 7).all());
}

TEST(ImageConvolution, RefusesInvalidSizes) {
  EXPECT_EQ(message_of<ArgumentError>([] {
              ImageConvolution<float>(3, {4, 4}, 2, 4);
            }),
            "ImageConvolution: kernel = 4, expected an odd number: an even kernel has no centre.");
  EXPECT_EQ(message_of<ArgumentError>([] {
              ImageConvolution<float>(3, {0, 4}, 2, 3);
            }),
            "ImageConvolution: 3 channels, image 0 × 4, 2 maps must all be positive.");
  EXPECT_THROW(ImageConvolution<float>(0, {4, 4}, 2, 3), ArgumentError);
  EXPECT_THROW(ImageConvolution<float>(3, {4, 4}, 0, 3), ArgumentError);
  EXPECT_THROW(ImageConvolution<float>(3, {4, 4}, 2, -1), ArgumentError);
  const Index huge = std::numeric_limits<Index>::max() / 4;
  EXPECT_EQ(message_of<ArgumentError>([&] {
              ImageConvolution<float>(3, {huge, huge}, 2, 3);
            }),
            text("ImageConvolution: an image of ", huge, " × ", huge, " pixels in 3 channels is too large."));
}

TEST(ImageConvolution, RefusesToRunIfMovedFrom) {
  auto layer = convolution_of<float>(all_sizes[0]);
  const auto moved = std::move(layer);
  EXPECT_EQ(message_of<ArgumentError>([&] { layer.forward(Matrix<float>::Zero(2, 60)); }),
            "ImageConvolution: the weights are empty, perhaps moved from. Use the model they were moved to.");
}

}  // namespace
}  // namespace gated::image_convolution_test
