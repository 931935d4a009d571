#pragma once

#include <filesystem>
#include <string>

#include "gated/io/image_pixels.hpp"
#include "gated/io/safetensors.hpp"

/// Small pictures and Pillow's results for them, written by image_cases.py.

namespace gated::test {

inline const SafetensorsFile& image_cases() {
  static const SafetensorsFile file(std::filesystem::path(GATED_REFERENCE_DIR) / "../io/image_cases.safetensors");
  return file;
}

/// The image in tensor `name`, whose shape is height × width × channels.
inline Image image_case(const std::string& name) {
  const TensorEntry& entry = image_cases().tensor(name);
  const auto size = [&](std::size_t i) { return static_cast<Index>(entry.shape[i]); };
  Image image{size(1), size(0), size(2)};
  for (const std::byte byte : entry.bytes) {
    image.pixels.push_back(std::to_integer<std::uint8_t>(byte));
  }
  return image;
}

/// The largest difference between bytes of two images, or 256 if their sizes differ.
inline int largest_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels || a.pixels.size() != b.pixels.size()) {
    return 256;
  }
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  }
  return largest;
}

}  // namespace gated::test
