#include "gated/io/image.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "stb_reader.hpp"

namespace gated::image_test {
namespace {

Image gradient(Index width, Index height, Index channels) {
  Image image{width, height, channels};
  for (Index i = 0; i < width * height * channels; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i * 7 % 256));
  }
  return image;
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

TEST(Image, WritesItsSizeIntoThePngHeader) {
  const auto path = test::temporary("x.png");
  write_png(path, gradient(5, 3, 3));
  const std::string png = test::read_text(path);
  ASSERT_GT(png.size(), 33u);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1A\n");
  EXPECT_EQ(big_endian(png, 8), 13u);
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_EQ(big_endian(png, 16), 5u);
  EXPECT_EQ(big_endian(png, 20), 3u);
  EXPECT_EQ(png[24], 8);  // bits per channel
  EXPECT_EQ(png[25], 2);  // colour type: RGB
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
}

TEST(Image, EncodedPixelsDecodeUnchanged) {
  for (Index channels = 1; channels <= 4; ++channels) {
    const Image image = gradient(67, 33, channels);
    const std::vector<std::byte> png = encode_png(image);
    int width = 0, height = 0, got = 0;
    stbi_uc* const pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(png.data()), static_cast<int>(png.size()),
                                                  &width, &height, &got, 0);
    ASSERT_NE(pixels, nullptr);
    EXPECT_EQ(width, 67);
    EXPECT_EQ(height, 33);
    ASSERT_EQ(got, channels);
    EXPECT_TRUE(std::equal(image.pixels.begin(), image.pixels.end(), pixels));
    stbi_image_free(pixels);
  }
}

TEST(Image, RefusesInvalidSizesAndChannels) {
  test::expect_error<ArgumentError>([] { encode_png({}); }, {"0 × 0 with 1 channels, expected at least 1 × 1"});
  test::expect_error<ArgumentError>([] { encode_png(gradient(2, 2, 5)); }, {"with 5 channels"});
  test::expect_error<ArgumentError>([] { encode_png({1 << 30, 1 << 30, 3}); }, {"is too large"});
  test::expect_error<ArgumentError>([] { encode_png({Index{1} << 62, 1, 4}); }, {"is too large"});
  test::expect_error<ShapeError>(
      [] {
        encode_png({2, 2, 3, {1, 2, 3}});
      },
      {"has 3 bytes, expected width × height × channels = 12"});
}

TEST(Image, NamesThePathThatCannotBeWritten) {
  const auto path = test::temporary("nowhere") / "x.png";
  test::expect_error<FileError>([&] { write_png(path, gradient(1, 1, 1)); }, {path.string() + ": cannot create"});
}

}  // namespace
}  // namespace gated::image_test
