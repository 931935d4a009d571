#include <gtest/gtest.h>

#include <cstdlib>

// Options that a program may set for its own copy of stb. The copy in gated must ignore them.
#define STBI_NO_JPEG
#define STBI_NO_FAILURE_STRINGS
#define STBI_MAX_DIMENSIONS 1
#define STBI_MALLOC(size) std::malloc(static_cast<std::size_t>(size) + 64)
#define STBI_REALLOC(memory, size) std::realloc(memory, static_cast<std::size_t>(size) + 64)
#define STBI_FREE(memory) std::abort()
#define STBIW_MALLOC(size) STBI_MALLOC(size)
#define STBIW_REALLOC(memory, size) STBI_REALLOC(memory, size)
#define STBIW_FREE(memory) std::free(memory)

#include "files.hpp"
#include "gated/io/image.hpp"
#include "gated/io/image_reader.hpp"

// A program's own copy of stb's image writer, in the same translation unit as the copy in gated.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif
#define STB_IMAGE_WRITE_IMPLEMENTATION
#if __has_include(<stb/stb_image_write.h>)
#include <stb/stb_image_write.h>
#else
#include <stb_image_write.h>
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace gated::image_beside_stb_test {
namespace {

TEST(Image, CoexistsWithAProgramsOwnStb) {
  const auto ours = test::temporary("ours.png"), theirs = test::temporary("theirs.png");
  const Image image{2, 1, 1, {0, 255}};
  write_png(ours, image);
  ASSERT_NE(stbi_write_png(theirs.string().c_str(), 2, 1, 1, image.pixels.data(), 2), 0);
  EXPECT_EQ(test::read_text(ours), test::read_text(theirs));
  EXPECT_EQ(read_image(theirs).pixels, image.pixels);
  test::expect_error<FileError>([] { decode_image(std::as_bytes(std::span("no picture"))); }, {"unknown image type"});
}

}  // namespace
}  // namespace gated::image_beside_stb_test
