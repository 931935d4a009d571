#pragma once

#include "gated/core/compiler.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// CRC-32, the checksum of ZIP and PNG.

namespace gated::detail {

/// Slicing-by-8 tables.
inline constexpr auto crc32_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ (value % 2 == 1 ? 0xEDB88320u : 0u);
    }
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before % 256];
    }
  }
  return tables;
}();

/// The CRC-32 (reversed polynomial 0xEDB88320) of `bytes`, continued from `sum`, the CRC-32 of the bytes before them.
/// Cost: one pass, eight bytes at a time.
inline std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t sum = 0) {
  const auto& tables = crc32_tables;
  sum = ~sum;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      const std::uint32_t carried = k < 4 ? sum >> 8 * k : 0;
      next ^= tables[7 - k][(carried ^ std::to_integer<std::uint32_t>(bytes[at + k])) % 256];
    }
    sum = next;
  }
  for (; at < bytes.size(); ++at) {
    sum = (sum >> 8) ^ tables[0][(sum ^ std::to_integer<std::uint32_t>(bytes[at])) % 256];
  }
  return ~sum;
}

}  // namespace gated::detail
