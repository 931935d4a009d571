#include <gtest/gtest.h>

#include "files.hpp"
#include "gated/io/image.hpp"

// A program's own copy of the image writer, in the same translation unit as ours.
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

namespace gated {
namespace {

TEST(Image, StandsBesideAProgramsOwnStb) {
  const auto ours = test::temporary("ours.png"), theirs = test::temporary("theirs.png");
  const Image image{2, 1, 1, {0, 255}};
  write_png(ours, image);
  ASSERT_NE(stbi_write_png(theirs.string().c_str(), 2, 1, 1, image.pixels.data(), 2), 0);
  EXPECT_EQ(test::read_text(ours), test::read_text(theirs));
}

}  // namespace
}  // namespace gated
