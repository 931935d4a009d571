#include "gated/io/image.hpp"

#include "gated/io/image_reader.hpp"
#include "tests/fuzz/fuzz.hpp"

// The input is a JPEG or PNG file. An accepted picture round-trips through a PNG file.

namespace {

/// The file with the checksums of its PNG chunks corrected. Otherwise, nearly every input would be refused.
std::vector<std::byte> sealed(std::span<const std::byte> file) {
  std::vector<std::byte> png(file.begin(), file.end());
  for (std::size_t at = 8, length = 0; at + 12 <= png.size(); at += 12 + length) {
    length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length = length << 8 | std::to_integer<std::size_t>(png[at + i]);
    }
    if (length > png.size() - at - 12) {
      break;
    }
    const std::uint32_t sum = gated::detail::crc32(std::span(png).subspan(at + 4, 4 + length));
    for (std::size_t i = 0; i < 4; ++i) {
      png[at + 8 + length + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    }
  }
  return png;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  fuzz::accepted([&] {
    const auto file = std::as_bytes(std::span(data, size));
    const bool png = size > 1 && data[0] == 0x89 && data[1] == 'P';
    const Image image = decode_image(png ? std::span<const std::byte>(sealed(file)) : file, "input");
    if (image.pixels.size() > (1 << 20)) {
      return;  // slow to compress
    }
    const Image again = decode_image(encode_png(image), "output");
    fuzz::promise(again.width == image.width && again.height == image.height && again.channels == image.channels &&
                      again.pixels == image.pixels,
                  "a picture round-trips");
  });
  return 0;
}
