#include "gated/io/image_resize.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "image_cases.hpp"
#include "tests/core/allocations.hpp"

namespace gated::image_resize_test {
namespace {

using test::image_case, test::image_cases, test::largest_difference;

TEST(ImageResize, MatchesPillow) {
  int cases = 0;
  for (; image_cases().tensors().count(text("resize.", cases, ".in")) > 0; ++cases) {
    const Image image = image_case(text("resize.", cases, ".in"));
    for (const auto& [name, interpolation] :
         {std::pair(".out", Interpolation::bicubic), {".bilinear", Interpolation::bilinear}}) {
      const Image expected = image_case(text("resize.", cases, name));
      const Image got = resize(image, expected.width, expected.height, interpolation);
      EXPECT_EQ(largest_difference(got, expected), 0) << "case " << cases << name;
    }
  }
  EXPECT_EQ(cases, 13);
}

TEST(ImageResize, IsTheIdentityForTheSameSize) {
  const Image image = image_case("grey.in");
  EXPECT_EQ(resize(image, image.width, image.height).pixels, image.pixels);
}

TEST(ImageResize, KeepsAConstantPictureConstant) {
  const Image grey{31, 17, 3, std::vector<std::uint8_t>(31 * 17 * 3, 201)};
  for (const auto& [width, height] : {std::pair<Index, Index>{5, 90}, {90, 5}, {1, 1}}) {
    const Image resized = resize(grey, width, height);
    EXPECT_EQ(resized.pixels, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height), 201));
  }
}

TEST(ImageResize, ResizingAPartEqualsCroppingTheResizedImage) {
  const Image image = image_case("resize.10.in");  // 97 × 64 pixels
  Resizer resizer;
  for (const Interpolation interpolation : {Interpolation::bicubic, Interpolation::bilinear}) {
    for (const auto& size : {std::pair<Index, Index>{24, 16}, {130, 70}, {97, 64}}) {
      const Index width = size.first;  // no structured binding: lambdas cannot capture one in clang++ 14
      const Index height = size.second;
      const Image whole = resize(image, width, height, interpolation);
      Image part{9, 5, 3, std::vector<std::uint8_t>(9 * 5 * 3)};
      const auto run = [&] {
        resizer.run(
            {.from = {64, 97},
             .to = {height, width},
             .left = 3,
             .top = 7,
             .part = {5, 9},
             .channels = 3,
             .interpolation = interpolation},
            [&](Index y) { return image.pixels.data() + y * 97 * 3; }, part.pixels.data());
      };
      run();
      EXPECT_EQ(largest_difference(part, crop(whole, 3, 7, 9, 5)), 0) << width;
      EXPECT_EQ(test::allocations_during(run), 0);
    }
  }
}

TEST(ImageResize, CropsTheRequestedPart) {
  Image image{4, 3, 2};
  for (int i = 0; i < 24; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i));
  }
  const Image part = crop(image, 1, 1, 2, 2);
  EXPECT_EQ(part.pixels, (std::vector<std::uint8_t>{10, 11, 12, 13, 18, 19, 20, 21}));
}

TEST(ImageResize, RefusesInvalidSizes) {
  const Image image{2, 2, 1, {1, 2, 3, 4}};
  test::expect_error<ArgumentError>([&] { resize(image, 0, 3); }, {"resize: 0 × 3 pixels"});
  test::expect_error<ArgumentError>([&] { resize(image, Index{1} << 20, Index{1} << 20); }, {"at most"});
  test::expect_error<ShapeError>([] { resize({2, 2, 1, {1, 2}}, 1, 1); }, {"resize: the image has 2 bytes"});
  test::expect_error<ArgumentError>([&] { crop(image, 1, 0, 2, 2); }, {"at (1, 0) do not lie inside the image of 2 × 2"});
  test::expect_error<ArgumentError>([&] { crop(image, -1, 0, 1, 1); }, {"do not lie inside"});
}

}  // namespace
}  // namespace gated::image_resize_test
