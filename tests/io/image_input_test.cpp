#include "gated/io/image_input.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "gated/models/gmlp.hpp"
#include "image_cases.hpp"
#include "tests/core/allocations.hpp"

namespace gated::image_input_test {
namespace {

using test::image_case, test::image_cases, test::largest_difference;

TEST(ImageInput, CropsLikeTorchvision) {
  const double shares[] = {0.875, 0.875, 1.0, 0.9, 0.875, 0.875};
  int cases = 0;
  for (; image_cases().tensors().count(text("crop.", cases, ".in")) > 0; ++cases) {
    const Image expected = image_case(text("crop.", cases, ".out"));
    const Image got =
        evaluation_crop(image_case(text("crop.", cases, ".in")), {expected.height, expected.width}, shares[cases]);
    EXPECT_EQ(largest_difference(got, expected), 0) << "case " << cases;
  }
  EXPECT_EQ(cases, 6);
}

TEST(ImageInput, CropsToNonSquareSizes) {
  for (const ImageSize size : {ImageSize{8, 24}, ImageSize{24, 8}, ImageSize{7, 7}}) {
    for (const char* const name : {"crop.0.in", "crop.1.in", "resize.6.in", "resize.7.in"}) {
      const Image got = evaluation_crop(image_case(name), size);
      EXPECT_EQ(got.height, size.height) << name;
      EXPECT_EQ(got.width, size.width) << name;
    }
  }
}

TEST(ImageInput, NormalizesEachChannel) {
  const Image image{2, 1, 3, {0, 51, 102, 153, 204, 255}};
  GmlpImageClassifierConfig config{
      .image = {1, 2}, .patch = {1, 1}, .pixel_mean = 0.5, .pixel_deviation = 0.25, .crop_share = 1};
  Matrix<double> expected(1, 6);
  expected << -2, 0.4, -1.2, 1.2, -0.4, 2;
  EXPECT_LT((image_input<double>(image, config) - expected).cwiseAbs().maxCoeff(), 1e-15);
  config.pixel_mean = {0, 0.2, 0.4};
  config.pixel_deviation = {1, 2, 4};
  expected << 0, 0.6, 0, 0.3, 0, 0.15;
  EXPECT_LT((image_input<double>(image, config) - expected).cwiseAbs().maxCoeff(), 1e-15);
  Matrix<double> pixels(1, 6);
  pixels << 0, 0.6, 0.2, 0.8, 0.4, 1;
  scale_pixels<double>(pixels, config);
  EXPECT_LT((pixels - expected).cwiseAbs().maxCoeff(), 1e-15);
}

/// The three-channel `image` as a frame in the given pixel order, with `gap` bytes after each row.
std::vector<std::uint8_t> as_frame(const Image& image, PixelOrder order, Index gap) {
  std::vector<std::uint8_t> bytes;
  for (Index y = 0; y < image.height; ++y) {
    for (Index x = 0; x < image.width; ++x) {
      const std::uint8_t* const p = image.pixels.data() + 3 * (y * image.width + x);
      switch (order) {
        case PixelOrder::grey:
          bytes.push_back(p[0]);
          break;
        case PixelOrder::grey_alpha:
          bytes.insert(bytes.end(), {p[0], 7});
          break;
        case PixelOrder::rgb:
          bytes.insert(bytes.end(), {p[0], p[1], p[2]});
          break;
        case PixelOrder::rgba:
          bytes.insert(bytes.end(), {p[0], p[1], p[2], 7});
          break;
        case PixelOrder::bgr:
          bytes.insert(bytes.end(), {p[2], p[1], p[0]});
          break;
        case PixelOrder::bgra:
          bytes.insert(bytes.end(), {p[2], p[1], p[0], 7});
          break;
      }
    }
    bytes.insert(bytes.end(), static_cast<std::size_t>(gap), 99);
  }
  return bytes;
}

TEST(ImageInput, ReadsFramesOfEveryPixelOrderInPlace) {
  const Image image = image_case("crop.0.in");
  for (const Index channels : {1, 3}) {
    const GmlpImageClassifierConfig config{.image = {16, 24}, .patch = {8, 8}, .image_channels = channels};
    for (const PixelOrder order :
         {PixelOrder::grey, PixelOrder::grey_alpha, PixelOrder::rgb, PixelOrder::rgba, PixelOrder::bgr, PixelOrder::bgra}) {
      Image shown = image;
      if (bytes_of(order) < 3) {  // as_frame() takes grey from the first channel
        for (std::size_t i = 0; i < shown.pixels.size(); ++i) {
          shown.pixels[i] = shown.pixels[i - i % 3];
        }
      }
      // The expected input follows from with_channels(), evaluation_crop() and the formula for one pixel.
      const Image seen = evaluation_crop(with_channels(shown, channels), config.image);
      Matrix<float> expected(1, channels * 16 * 24), row(1, channels * 16 * 24);
      for (Index i = 0; i < expected.size(); ++i) {
        const auto byte = seen.pixels[static_cast<std::size_t>(i % (16 * 24) * channels + i / (16 * 24))];
        expected(0, i) = static_cast<float>((byte / 255.0 - 0.5) / 0.5);
      }
      ImageInput<float> prepare(config);
      for (const Index gap : {0, 13}) {
        const auto bytes = as_frame(image, order, gap);
        const Index stride = image.width * bytes_of(order) + gap;
        const PixelView frame{bytes.data(), image.width, image.height, stride, order};
        prepare(frame, row);
        EXPECT_EQ(row, expected) << static_cast<int>(order) << ", " << gap << ", " << channels;
        const PixelView flipped{bytes.data() + (image.height - 1) * stride, image.width, image.height, -stride, order};
        EXPECT_EQ(test::allocations_during([&] { prepare(flipped, row); }), 0);
        EXPECT_NE(row, expected);
      }
    }
  }
}

TEST(ImageInput, AllocatesNothingForTheNextFrame) {
  const Image frame = image_case("crop.0.in");
  const GmlpImageClassifierConfig config{.image = {16, 16}, .patch = {8, 8}};
  ImageInput<float> prepare(config);
  Matrix<float> row(1, 3 * 16 * 16);
  prepare(frame, row);
  EXPECT_EQ(test::allocations_during([&] { prepare(frame, row); }), 0);
  EXPECT_EQ(row, image_input<float>(frame, config));
}

TEST(EvaluationCrop, RoundsAsTimmIfHeightAndWidthDiffer) {
  // 128 × 256 / 0.875 is 146 × 292: timm scales 482 × 640 to round(482 · 292 / 640) × 292, and 300 × 301 to 291 × 292.
  const auto expect_scaled = [](ImageSize from, ImageSize to, ImageSize scaled) {
    const auto plan = detail::evaluation_plan("test", from, to, 0.875, 3, Interpolation::bilinear);
    EXPECT_EQ(plan.to.height, scaled.height) << from.height << " × " << from.width;
    EXPECT_EQ(plan.to.width, scaled.width) << from.height << " × " << from.width;
  };
  expect_scaled({482, 640}, {128, 256}, {220, 292});
  expect_scaled({300, 301}, {128, 256}, {291, 292});
  expect_scaled({640, 482}, {256, 128}, {292, 220});
  expect_scaled({482, 640}, {128, 128}, {146, 193});  // 193.9, rounded down as in torchvision
}

TEST(ImageInput, ConvertsColourImagesToGrey) {
  const GmlpImageClassifierConfig grey{.image = {16, 16}, .patch = {4, 4}, .image_channels = 1};
  const Matrix<float> row = image_input<float>(image_case("crop.0.in"), grey);
  EXPECT_EQ(row.rows(), 1);
  EXPECT_EQ(row.cols(), 256);
  EXPECT_GE(row.minCoeff(), -1);
  EXPECT_LE(row.maxCoeff(), 1);
}

TEST(ImageInput, RefusesMismatchedSizes) {
  const GmlpImageClassifierConfig config{.image = {2, 2}, .patch = {1, 1}};
  const std::vector<std::uint8_t> bytes(12);
  Matrix<float> row(1, 12), narrow(1, 11);
  ImageInput<float> prepare(config);
  test::expect_error<ShapeError>([&] { prepare({bytes.data(), 2, 2, 6, PixelOrder::rgb}, narrow); }, {"row is 1 × 11"});
  test::expect_error<ArgumentError>(
      [&] {
        prepare({bytes.data(), 2, 2, 5, PixelOrder::rgb}, row);
      },
      {"stride = 5, expected at least the 6 bytes of a row"});
  test::expect_error<ArgumentError>([&] { prepare({bytes.data(), 0, 2, 6, PixelOrder::rgb}, row); }, {"the picture is 0 × 2"});
  test::expect_error<ArgumentError>([&] { prepare({nullptr, 2, 2, 6, PixelOrder::rgb}, row); }, {"a pointer to its pixels"});
  test::expect_error<ShapeError>([&] { prepare(Image{2, 2, 3, {1, 2}}, row); }, {"the image has 2 bytes"});
  test::expect_error<ArgumentError>([&] { evaluation_crop({1, 1, 3, {1, 2, 3}}, {2, 2}, 1.5); }, {"crop_share = 1.5"});
  test::expect_error<ArgumentError>([] { ImageInput<float>(GmlpImageClassifierConfig{.image_channels = 2}); },
                                    {"the model takes 2 channels, expected 1 or 3"});
}

}  // namespace
}  // namespace gated::image_input_test
