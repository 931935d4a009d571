#pragma once

#include <cstddef>
#include <span>

#include "gated/core/matrix.hpp"

/// @file
/// Little-endian numbers in files.

namespace gated::detail {

/// The number stored in the `size` bytes at `at`, which must lie inside `bytes`.
inline std::size_t little_endian(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value * 256 + std::to_integer<std::size_t>(bytes[at + i]);
  }
  return value;
}

/// Appends the low `size` bytes of `value` to a string or a vector of bytes.
template <class Bytes>
void append_little_endian(Bytes& out, std::size_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i, value /= 256) {
    out.push_back(static_cast<typename Bytes::value_type>(value % 256));
  }
}

}  // namespace gated::detail
