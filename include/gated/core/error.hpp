#pragma once

#include "gated/core/compiler.hpp"

#include <charconv>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// How gated says that something is wrong.
///
/// Every refusal is a gated::Error whose text names the place, the dimensions, what was expected and what came, and a hint.
/// Nothing is half done when an error is raised: arguments are checked before the first write.
/// With `-fno-exceptions` the same text goes to the handler that set_error_handler() installed, and the program then aborts,
/// because there is no other way to leave a function that cannot do its work.

namespace gated {

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define GATED_HAS_EXCEPTIONS 1
#else
#define GATED_HAS_EXCEPTIONS 0
#endif

/// Where an error is raised: a layer, and what was asked of it. Part of a message: "GmlpBlock::extend".
struct Where {
  const char* layer;
  const char* call = nullptr;

  constexpr Where(const char* layer_, const char* call_ = nullptr) : layer(layer_), call(call_) {}
};

/// The base of everything that gated throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A matrix, a batch or an image has another size than the callee was built for.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A configuration or an argument has a value that makes no sense.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// A file is missing, unreadable, malformed or does not fit the model.
class FileError : public Error {
 public:
  using Error::Error;
};

/// Receives an error's text in programs that are compiled without exceptions.
using ErrorHandler = void (*)(const char* message);

namespace detail {

inline void print_error(const char* message) { std::fprintf(stderr, "gated: %s\n", message); }

inline ErrorHandler& error_handler() {
  static ErrorHandler handler = &print_error;
  return handler;
}

inline void append(std::string& out, std::string_view text) { out += text; }
template <std::same_as<Where> W>  // no conversions
void append(std::string& out, const W& where) {
  out += where.layer;
  if (where.call != nullptr) {
    out += "::";
    out += where.call;
  }
}

/// The shortest digits that give `value` back, by means of the C library.
template <std::floating_point T>
void append_by_printf(std::string& out, T value) {
  char buffer[32];
  for (int digits = 1; digits <= std::numeric_limits<T>::max_digits10; ++digits) {
    std::snprintf(buffer, sizeof(buffer), "%.*g", digits, static_cast<double>(value));
    if (static_cast<T>(std::strtod(buffer, nullptr)) == value) {
      break;
    }
  }
  for (char* c = buffer; *c != '\0'; ++c) {
    out += *c == ',' ? '.' : *c;  // the point of some locales
  }
}

template <class Number>
requires std::is_arithmetic_v<Number>
void append(std::string& out, Number value) {
#if defined(__cpp_lib_to_chars)
  constexpr bool in_library = true;
#else
  constexpr bool in_library = std::is_integral_v<Number>;  // libc++, which has the rest on some systems only
#endif
  if constexpr (in_library) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    out.append(buffer, static_cast<std::size_t>(end - buffer));
  } else {
    append_by_printf(out, value);
  }
}

}  // namespace detail

/// Replaces the function that receives error texts under `-fno-exceptions` (it may log, or leave by longjmp); returns the
/// one that was there. Has no effect where exceptions are enabled.
inline ErrorHandler set_error_handler(ErrorHandler handler) { return std::exchange(detail::error_handler(), handler); }

/// Joins texts and numbers into one string: `text("x has ", 3, " rows")`.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// Raises `E` with the joined text of `parts`.
template <class E, class... Parts>
[[noreturn]] void raise(const Parts&... parts) {
#if GATED_HAS_EXCEPTIONS
  throw E(text(parts...));
#else
  detail::error_handler()(text(parts...).c_str());
  std::abort();
#endif
}

/// `raise<E>(parts...)` unless `condition` holds.
template <class E, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    raise<E>(parts...);
  }
}

}  // namespace gated
