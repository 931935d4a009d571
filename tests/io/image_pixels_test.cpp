#include "gated/io/image_pixels.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "image_cases.hpp"

namespace gated::image_pixels_test {
namespace {

TEST(ImagePixels, GreyMatchesPillow) {
  EXPECT_EQ(test::largest_difference(with_channels(test::image_case("grey.in"), 1), test::image_case("grey.out")), 0);
}

TEST(ImagePixels, DropsAlphaAndRepeatsGrey) {
  EXPECT_EQ(with_channels({1, 1, 4, {1, 2, 3, 9}}, 3).pixels, (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(with_channels({2, 1, 2, {7, 9, 8, 9}}, 3).pixels, (std::vector<std::uint8_t>{7, 7, 7, 8, 8, 8}));
  EXPECT_EQ(with_channels({2, 1, 2, {7, 9, 8, 9}}, 1).pixels, (std::vector<std::uint8_t>{7, 8}));
  EXPECT_EQ(with_channels({1, 1, 4, {255, 255, 255, 0}}, 1).pixels, (std::vector<std::uint8_t>{255}));
}

TEST(ImagePixels, RefusesUnsupportedChannelCounts) {
  test::expect_error<ArgumentError>([] { with_channels({1, 1, 1, {5}}, 4); }, {"channels = 4, expected 1 or 3"});
  test::expect_error<ArgumentError>([] { with_channels({}, 3); }, {"the image is 0 × 0"});
}

}  // namespace
}  // namespace gated::image_pixels_test
