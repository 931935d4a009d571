#include "gated/io/image.hpp"

#include "gated/io/image_reader.hpp"
#include "tests/fuzz/fuzz.hpp"

// The input is a JPEG or PNG file. A picture that is accepted comes back the same from the PNG file that is written of it.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  fuzz::accepted([&] {
    const Image image = decode_image(std::as_bytes(std::span(data, size)), "input");
    if (image.pixels.size() > (1 << 20)) {
      return;  // to compress it takes long
    }
    const Image again = decode_image(encode_png(image), "output");
    fuzz::promise(again.width == image.width && again.height == image.height && again.channels == image.channels &&
                      again.pixels == image.pixels,
                  "a picture that is written reads the same");
  });
  return 0;
}
