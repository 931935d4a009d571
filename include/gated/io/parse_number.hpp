#pragma once

#include "gated/core/compiler.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

/// @file
/// Locale-independent parsing of numbers.

namespace gated {

namespace detail {

#if defined(__unix__) || defined(__APPLE__)
/// Implements std::from_chars() with strtod(). libc++ (also Apple's) lacks from_chars() for some or all floating types.
template <std::floating_point T>
std::from_chars_result from_chars_by_strtod(const char* first, const char* last, T& out) {
  static const ::locale_t classic = ::newlocale(LC_ALL_MASK, "C", ::locale_t{});
  // Unlike std::from_chars(), strtod() also accepts leading blanks, a plus sign and hexadecimal digits.
  constexpr std::string_view beginnings = "-.0123456789iInN";
  if (first == last || beginnings.find(*first) == std::string_view::npos) {
    return {first, std::errc::invalid_argument};
  }
  const std::string_view field(first, static_cast<std::size_t>(last - first));
  const std::string text(field.substr(0, field.find_first_of("xX")));  // null-terminated
  const int errno_before = std::exchange(errno, 0);
  char* end = nullptr;
  T value;
  if constexpr (std::is_same_v<T, float>) {
    value = ::strtof_l(text.c_str(), &end, classic);
  } else {
    value = static_cast<T>(::strtod_l(text.c_str(), &end, classic));
  }
  const bool out_of_range = std::exchange(errno, errno_before) == ERANGE && (value == 0 || std::isinf(value));
  const char* const stop = first + (end - text.c_str());
  if (stop == first) {
    return {first, std::errc::invalid_argument};
  }
  if (out_of_range) {
    return {stop, std::errc::result_out_of_range};
  }
  out = value;
  return {stop, std::errc{}};
}
#endif

template <std::floating_point T>
std::from_chars_result from_chars(const char* first, const char* last, T& out) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, out);
#else
  return from_chars_by_strtod(first, last, out);
#endif
}

}  // namespace detail

/// Parses one number in C syntax, nan and inf included, with optional blanks around it. Returns false and leaves `out`
/// unchanged for anything else, on overflow, and if a double underflows.
/// Cost: one pass.
template <std::floating_point T>
bool parse_number(std::string_view field, T& out) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = field.find_first_not_of(blanks);
  if (first == std::string_view::npos) {
    return false;
  }
  field = field.substr(first, field.find_last_not_of(blanks) - first + 1);
  if (field.starts_with('+') && !field.starts_with("+-")) {
    field.remove_prefix(1);
  }
  const char* const end = field.data() + field.size();
  T number{};
  auto [stop, error] = detail::from_chars(field.data(), end, number);
  if (error == std::errc::result_out_of_range && sizeof(T) < sizeof(double)) {
    double wide = 0;  // a float may underflow to zero or a subnormal; overflow is an error
    stop = detail::from_chars(field.data(), end, wide).ptr;
    if (wide > -1 && wide < 1 && wide != 0) {
      number = static_cast<T>(wide);
      error = {};
    }
  }
  if (error != std::errc{} || stop != end) {
    return false;
  }
  out = number;
  return true;
}

}  // namespace gated
