#include "gated/io/image_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "files.hpp"
#include "gated/core/random.hpp"
#include "gated/io/image.hpp"
#include "image_cases.hpp"
#include "stb_reader.hpp"

namespace gated::image_reader_test {
namespace {

using test::image_case, test::image_cases, test::largest_difference;

Image decoded(const std::string& name) { return decode_image(image_cases().tensor(name + ".file").bytes); }

TEST(ImageReader, RoundTripsThroughTheWriter) {
  for (Index channels = 1; channels <= 4; ++channels) {
    Image image{23, 14, channels};
    Random random(5);
    for (Index i = 0; i < 23 * 14 * channels; ++i) {
      image.pixels.push_back(static_cast<std::uint8_t>(random.bits()));
    }
    const auto path = test::temporary("x.png");
    write_png(path, image);
    EXPECT_EQ(largest_difference(read_image(path), image), 0) << channels << " channels";
  }
}

TEST(ImageReader, PngPalettesAndTransparencyMatchPillow) {
  for (const char* const name : {"palette", "grey_alpha"}) {
    EXPECT_EQ(largest_difference(with_channels(decoded(name), 3), image_case(std::string(name) + ".pixels")), 0) << name;
  }
}

TEST(ImageReader, JpegMatchesPillowWithinAFewLevels) {
  EXPECT_LE(largest_difference(decoded("jpeg"), image_case("jpeg.pixels")), 4);
  EXPECT_EQ(decoded("jpeg_grey").channels, 1);
  EXPECT_LE(largest_difference(with_channels(decoded("jpeg_grey"), 3), image_case("jpeg_grey.pixels")), 1);
}

TEST(ImageReader, RefusesFilesThatAreNeitherJpegNorPng) {
  const auto path = test::temporary("x.jpg");
  test::expect_error<FileError>([&] { read_image(path); }, {path.string(), "cannot open"});
  test::write_text(path, "no picture");
  test::expect_error<FileError>([&] { read_image(path); }, {path.string() + ": cannot be read as a JPEG or PNG picture"});
  test::write_text(path, "GIF89a\x01\x00\x01\x00");
  EXPECT_THROW(read_image(path), FileError);
}

TEST(ImageReader, RefusesAPngFileWithAnyBitFlipped) {
  Image image{5, 3, 3};
  for (int i = 0; i < 45; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i * i));
  }
  auto png = encode_png(image);
  EXPECT_EQ(largest_difference(decode_image(png), image), 0);
  for (std::size_t bit = 0; bit < 8 * png.size(); ++bit) {
    const std::byte before = png[bit / 8];
    png[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_THROW(decode_image(png), FileError) << "bit " << bit % 8 << " of byte " << bit / 8;
    png[bit / 8] = before;
  }
  png[8 + 25 + 10] ^= std::byte{4};  // in the pixel data
  test::expect_error<FileError>([&] { decode_image(png, "x.png"); },
                                {"x.png: the file is damaged: chunk \"IDAT\" has a wrong checksum"});
}

TEST(ImageReader, ReadsAPngFileWithBytesAfterItsEnd) {
  auto png = encode_png({1, 1, 1, {7}});
  png.insert(png.end(), 40, std::byte{7});
  EXPECT_EQ(decode_image(png).pixels.at(0), 7);
}

TEST(ImageReader, RefusesHugePicturesBeforeDecoding) {
  auto png = encode_png({1, 1, 1, {7}});
  for (const std::size_t at : {18U, 22U}) {  // the last two bytes of width and height
    png[at] = std::byte{0x4E};
    png[at + 1] = std::byte{0x20};
  }
  const std::uint32_t sum = detail::crc32(std::span(png).subspan(12, 17));  // the header's checksum
  for (std::size_t i = 0; i < 4; ++i) {
    png[29 + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
  }
  test::expect_error<FileError>([&] { decode_image(png, "bomb"); },
                                {"bomb: the picture has 20000 × 20000 = 400000000 pixels, expected fewer than 268435456",
                                 "Scale it down or cut it into parts first"});
}

/// A JPEG file with more than 256 codes in its first Huffman table.
std::vector<std::byte> with_oversized_table() {
  const auto bytes = image_cases().tensor("jpeg.file").bytes;
  std::vector<std::byte> damaged(bytes.begin(), bytes.end());
  for (std::size_t i = 0; i + 21 < damaged.size(); ++i) {
    if (damaged[i] == std::byte{0xFF} && damaged[i + 1] == std::byte{0xC4}) {
      damaged[i + 20] = std::byte{0xFF};  // the number of 16-bit codes
      damaged[i + 19] = std::byte{0xFF};  // the number of 15-bit codes
      break;
    }
  }
  return damaged;
}

TEST(ImageReader, RefusesHuffmanTablesWithTooManyCodes) {
  std::vector<std::byte> damaged = with_oversized_table();
  for (int fill = 0; fill < 3; ++fill) {
    test::expect_error<FileError>([&] { decode_image(damaged, "x"); }, {"x: cannot be read", "more than 256 codes"});
    damaged.insert(damaged.begin(), std::byte{0xFF});  // any number of 0xFF may precede a marker
  }
}

TEST(ImageReader, RefusesMorePixelsThanTheFileCanHold) {
  const auto bytes = image_cases().tensor("jpeg.file").bytes;
  std::vector<std::byte> huge(bytes.begin(), bytes.end());
  const std::byte frame[] = {std::byte{0xFF}, std::byte{0xC0}};
  const auto at = std::search(huge.begin(), huge.end(), std::begin(frame), std::end(frame));
  ASSERT_LT(at - huge.begin() + 9, static_cast<std::ptrdiff_t>(huge.size()));
  at[5] = at[7] = std::byte{0x3F};  // height and width are now above 16,000
  test::expect_error<FileError>([&] { decode_image(huge, "bomb"); }, {"bomb: ", "pixels are more than a file of"});
}

TEST(ImageReader, RefusesPicturesThatTakeFarMoreTimeOrMemoryThanTheirSize) {
  const auto bytes = image_cases().tensor("jpeg.file").bytes;
  std::vector<std::byte> slow(bytes.begin(), bytes.end());
  const std::byte frame[] = {std::byte{0xFF}, std::byte{0xC0}};
  const auto at = std::search(slow.begin(), slow.end(), std::begin(frame), std::end(frame));
  at[5] = at[7] = std::byte{0x0F};  // height and width are now about 4,000
  std::vector<std::byte> scans;
  for (int i = 0; i < 4000; ++i) {  // each without data: stb decodes zeros
    for (const int byte : {0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0}) {
      scans.push_back(static_cast<std::byte>(byte));
    }
  }
  slow.insert(slow.end() - 2, scans.begin(), scans.end());  // before the end of the picture
  test::expect_error<FileError>([&] { decode_image(slow, "bomb"); }, {"bomb: 4001 scans of", "take too long"});

  auto png = encode_png({1024, 1024, 1, std::vector<std::uint8_t>(1 << 20)});
  for (const std::size_t edge : {16U, 20U}) {  // the picture is now 1 × 1, with a megabyte of data
    png[edge + 2] = std::byte{0};
    png[edge + 3] = std::byte{1};
  }
  const std::uint32_t sum = detail::crc32(std::span(png).subspan(12, 17));
  for (std::size_t i = 0; i < 4; ++i) {
    png[29 + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
  }
  test::expect_error<FileError>([&] { decode_image(png, "bomb"); }, {"bomb: cannot be read"});
}

TEST(ImageReader, IgnoresBytesAfterTheEndOfAPicture) {
  const auto bytes = image_cases().tensor("jpeg.file").bytes;
  const Image image = decode_image(bytes);
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  const auto film = with_oversized_table();
  longer.insert(longer.end(), film.begin(), film.end());
  EXPECT_EQ(decode_image(longer).pixels, image.pixels);
}

void expect_picture_or_refusal(std::span<const std::byte> file) {
  try {
    const Image image = decode_image(file);
    EXPECT_EQ(static_cast<Index>(image.pixels.size()), image.width * image.height * image.channels);
  } catch (const FileError&) {  // a refusal is correct too
  }
}

TEST(ImageReader, SurvivesTruncatedFiles) {
  for (const char* const name : {"palette.file", "grey_alpha.file", "jpeg.file", "jpeg_grey.file"}) {
    const auto bytes = image_cases().tensor(name).bytes;
    for (std::size_t length = 0; length < bytes.size(); length += 3) {
      const std::vector<std::byte> start(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      expect_picture_or_refusal(start);
    }
  }
}

// Tests PNG only: damaged JPEG files can make products in stb_image overflow, which the sanitizer reports.
TEST(ImageReader, SurvivesDamagedPngFiles) {
  for (const char* const name : {"palette.file", "grey_alpha.file"}) {
    const auto bytes = image_cases().tensor(name).bytes;
    Random random(11);
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::byte> damaged(bytes.begin(), bytes.end());
      for (int k = 0; k < 5; ++k) {
        damaged[random.bits() % damaged.size()] = static_cast<std::byte>(random.bits());
      }
      expect_picture_or_refusal(damaged);
    }
  }
}

TEST(ImageReader, CoexistsWithAProgramsOwnStb) {
  const unsigned char gif[] = {'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0, 0x80, 0, 0, 9,  9, 9, 1,  2,
                               3,   ',', 0,   0,   0,   0,   1, 0, 1, 0, 0,    2, 2, 68, 1, 0, ';'};
  int width = 0, height = 0, channels = 0;
  EXPECT_NE(stbi_info_from_memory(gif, static_cast<int>(sizeof gif), &width, &height, &channels), 0);
  EXPECT_EQ(width, 1);
}

}  // namespace
}  // namespace gated::image_reader_test
