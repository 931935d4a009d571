#include "gated/io/image_input.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "image_cases.hpp"

namespace gated {
namespace {

using test::image_case, test::image_cases, test::largest_difference;

TEST(ImageInput, ShowsTheModelWhatTorchvisionWouldShow) {
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

TEST(ImageInput, CoversASizeThatIsNotSquare) {
  for (const ImageSize size : {ImageSize{8, 24}, ImageSize{24, 8}, ImageSize{7, 7}}) {
    for (const char* const name : {"crop.0.in", "crop.1.in", "resize.6.in", "resize.7.in"}) {
      const Image got = evaluation_crop(image_case(name), size);
      EXPECT_EQ(got.height, size.height) << name;
      EXPECT_EQ(got.width, size.width) << name;
    }
  }
}

TEST(ImageInput, IsNormalisedChannelByChannel) {
  const GmlpImageClassifierConfig config{.image = {1, 2}, .patch = {1, 1}, .pixel_mean = 0.5, .pixel_deviation = 0.25};
  Matrix<double> row(1, 6);
  write_image_row<double>({2, 1, 3, {0, 51, 102, 153, 204, 255}}, config, row);
  Matrix<double> expected(1, 6);
  expected << -2, 0.4, -1.2, 1.2, -0.4, 2;
  EXPECT_LT((row - expected).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(ImageInput, TakesAnyPicture) {
  const GmlpImageClassifierConfig grey{.image = {16, 16}, .patch = {4, 4}, .image_channels = 1};
  const Matrix<float> row = image_input<float>(image_case("crop.0.in"), grey);
  EXPECT_EQ(row.rows(), 1);
  EXPECT_EQ(row.cols(), 256);
  EXPECT_GE(row.minCoeff(), -1);
  EXPECT_LE(row.maxCoeff(), 1);
}

TEST(ImageInput, RefusesWhatDoesNotFit) {
  const GmlpImageClassifierConfig config{.image = {2, 2}, .patch = {1, 1}};
  Matrix<float> row(1, 12);
  test::expect_error<ShapeError>(
      [&] {
        write_image_row<float>({1, 1, 3, {1, 2, 3}}, config, row);
      },
      {"the image is 1 × 1 with 3 channels, expected 2 × 2 with 3"});
  Matrix<float> narrow(1, 11);
  test::expect_error<ShapeError>(
      [&] {
        write_image_row<float>({2, 2, 3, std::vector<std::uint8_t>(12)}, config, narrow);
      },
      {"row is 1 × 11"});
  test::expect_error<ArgumentError>([&] { image_input<float>({1, 1, 3, {1, 2, 3}}, config, 1.5); }, {"crop_share = 1.5"});
}

}  // namespace
}  // namespace gated
