#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <span>
#include <vector>

#include "gated/io/dtype.hpp"

/// @file
/// Conversions between C++ arithmetic types and the dtypes of files.
///
/// Floating values are rounded to nearest, ties to even. NaN and infinity are kept; a finite value that would overflow to
/// infinity does not fit. An integer fits if the target type represents it exactly. Floating tensors are never read as
/// integers. Bytes may be unaligned.

namespace gated {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian: gated needs a little-endian machine");

namespace detail {

/// A type to which tensor elements can be converted.
template <class T>
concept Readable = std::floating_point<T> ||(std::integral<T> && !std::same_as<T, bool>);

/// Calls `f(From{})`, where From is the C++ type of `dtype`'s elements: bool for BOOL, Eigen's types for F16 and BF16.
template <class F>
decltype(auto) with_type(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::F64:
      return f(double{});
    case Dtype::F32:
      return f(float{});
    case Dtype::F16:
      return f(Eigen::half{});
    case Dtype::BF16:
      return f(Eigen::bfloat16{});
    case Dtype::I64:
      return f(std::int64_t{});
    case Dtype::I32:
      return f(std::int32_t{});
    case Dtype::I16:
      return f(std::int16_t{});
    case Dtype::I8:
      return f(std::int8_t{});
    case Dtype::U64:
      return f(std::uint64_t{});
    case Dtype::U32:
      return f(std::uint32_t{});
    case Dtype::U16:
      return f(std::uint16_t{});
    case Dtype::U8:
      return f(std::uint8_t{});
    case Dtype::BOOL:
      break;
  }
  return f(bool{});
}

/// The element at `bytes`. F16 and BF16 become float, which is exact; a BOOL becomes 0 or 1.
template <class From>
auto load_value(const std::byte* bytes) {
  if constexpr (std::same_as<From, Eigen::half> || std::same_as<From, Eigen::bfloat16>) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    return static_cast<float>(Eigen::numext::bit_cast<From>(bits));
  } else if constexpr (std::same_as<From, bool>) {
    return static_cast<std::uint8_t>(*bytes != std::byte{0});
  } else {
    From value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
}

/// True if `value` fits `T`, as defined at the top of this file.
template <class T, class From>
bool fits(From value) {
  if constexpr (std::floating_point<From>) {
    return sizeof(T) >= sizeof(From) || !std::isfinite(value) || std::isfinite(static_cast<T>(value));
  } else if constexpr (std::floating_point<T>) {
    auto magnitude = static_cast<std::uint64_t>(value);
    if (value < 0) {
      magnitude = 0 - magnitude;
    }
    return magnitude == 0 || std::bit_width(magnitude >> std::countr_zero(magnitude)) <= std::numeric_limits<T>::digits;
  } else {
    return std::in_range<T>(value);
  }
}

}  // namespace detail

/// True if tensors of `dtype` can be read as `T`: always, unless `dtype` is floating and `T` an integer type.
template <detail::Readable T>
constexpr bool is_readable_as(Dtype dtype) {
  return std::floating_point<T> || !is_floating(dtype);
}

/// The index of the first element in `bytes` that does not fit `T`, or the number of elements if all fit. Requires
/// is_readable_as<T>(dtype).
/// Cost: one pass; constant between equal types, and from a floating type to one at least as wide.
template <detail::Readable T>
std::size_t first_misfit(Dtype dtype, std::span<const std::byte> bytes) {
  return detail::with_type(dtype, [&](auto from) {
    using From = decltype(from);
    using Loaded = decltype(detail::load_value<From>(nullptr));
    const std::size_t count = bytes.size() / size_of(dtype);
    constexpr bool always =
        (std::floating_point<Loaded> && std::floating_point<T> && sizeof(T) >= sizeof(Loaded)) || std::same_as<Loaded, T>;
    if constexpr (!always && (std::floating_point<T> || std::integral<Loaded>)) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!detail::fits<T>(detail::load_value<From>(bytes.data() + i * size_of(dtype)))) {
          return i;
        }
      }
    }
    return count;
  });
}

/// Converts the elements in `bytes` to `T` and writes them to `out`, which has the same number of elements. All elements must
/// fit (first_misfit()).
/// Cost: one pass; a plain copy if the types are equal.
template <detail::Readable T>
void convert(Dtype dtype, std::span<const std::byte> bytes, std::span<T> out) {
  eigen_assert(bytes.size() == out.size() * size_of(dtype) && is_readable_as<T>(dtype));
  if (out.empty()) {
    return;
  }
  detail::with_type(dtype, [&](auto from) {
    using From = decltype(from);
    if constexpr (std::same_as<From, T>) {
      std::memcpy(out.data(), bytes.data(), bytes.size());
    } else if constexpr (std::floating_point<T> || std::integral<decltype(detail::load_value<From>(nullptr))>) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = static_cast<T>(detail::load_value<From>(bytes.data() + i * size_of(dtype)));
      }
    }
  });
}

/// Converts floating `values` to a floating `dtype` and returns their bytes; nullopt if a finite value overflows. A double is
/// converted to F16 or BF16 through float, and so rounded twice.
/// Cost: one pass and one allocation.
template <std::floating_point T>
std::optional<std::vector<std::byte>> bytes_of(std::span<const T> values, Dtype dtype) {
  eigen_assert(is_floating(dtype));
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  const bool all_fit = detail::with_type(dtype, [&](auto to) {
    using To = decltype(to);
    if constexpr (!std::integral<To>) {
      using Through = std::conditional_t<std::floating_point<To>, To, float>;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const To stored(static_cast<Through>(values[i]));
        if (std::isfinite(values[i]) && !std::isfinite(static_cast<Through>(stored))) {
          return false;
        }
        std::memcpy(bytes.data() + i * sizeof(To), &stored, sizeof(To));
      }
    }
    return true;
  });
  return all_fit ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace gated
