#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "gated/core/matrix.hpp"
#include "gated/core/settings.hpp"

/// @file
/// The element types of safetensors files.

namespace gated {

/// The type of a tensor's elements, named as in the file format.
enum class Dtype { F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL };

constexpr auto names_of(Dtype) {
  return words_for<Dtype>("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL");
}

/// Bytes per element: 8, 4, 2 or 1.
constexpr std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64:
    case Dtype::I64:
    case Dtype::U64:
      return 8;
    case Dtype::F32:
    case Dtype::I32:
    case Dtype::U32:
      return 4;
    case Dtype::F16:
    case Dtype::BF16:
    case Dtype::I16:
    case Dtype::U16:
      return 2;
    case Dtype::I8:
    case Dtype::U8:
    case Dtype::BOOL:
      break;
  }
  return 1;
}

/// True for F64, F32, F16 and BF16.
constexpr bool is_floating(Dtype dtype) {
  return dtype == Dtype::F64 || dtype == Dtype::F32 || dtype == Dtype::F16 || dtype == Dtype::BF16;
}

/// The dtype of a C++ arithmetic type: `dtype_of<float>()` is Dtype::F32.
template <class T>
constexpr Dtype dtype_of() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  if constexpr (std::is_same_v<T, bool>) {
    return Dtype::BOOL;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 8 ? Dtype::F64 : Dtype::F32;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 8 ? Dtype::I64 : sizeof(T) == 4 ? Dtype::I32 : sizeof(T) == 2 ? Dtype::I16 : Dtype::I8;
  } else {
    return sizeof(T) == 8 ? Dtype::U64 : sizeof(T) == 4 ? Dtype::U32 : sizeof(T) == 2 ? Dtype::U16 : Dtype::U8;
  }
}

/// The size of a tensor in bytes; nullopt if a dimension is negative or the product overflows Index.
inline std::optional<std::size_t> byte_count(Dtype dtype, std::span<const Index> shape) {
  Index bytes = static_cast<Index>(size_of(dtype));
  for (const Index size : shape) {
    if (size < 0 || (size > 0 && bytes > std::numeric_limits<Index>::max() / size)) {
      return std::nullopt;
    }
    bytes *= size;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace gated
