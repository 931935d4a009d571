#pragma once

#include "gated/core/compiler.hpp"

#include <charconv>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// The exceptions of gated and their messages.
///
/// Every error is a gated::Error. Its message says where it was raised, what was expected, what was given, and the remedy.
/// Arguments are checked before the first write: a failed call changes nothing. With `-fno-exceptions`, the handler of
/// set_error_handler() receives the message, and the program aborts.

namespace gated {

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define GATED_HAS_EXCEPTIONS 1
#else
#define GATED_HAS_EXCEPTIONS 0
#endif

/// The layer and the function that raise an error, such as "GmlpBlock::extend".
struct Where {
  const char* layer;
  const char* call = nullptr;

  constexpr Where(const char* layer_, const char* call_ = nullptr) : layer(layer_), call(call_) {}
};

/// Base class of all gated exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A matrix, batch or image has the wrong size.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A configuration or an argument has an invalid value.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// An allocation of the requested size failed.
class MemoryError : public Error {
 public:
  using Error::Error;
};

/// A file is missing, unreadable or malformed, or does not fit the model.
class FileError : public Error {
 public:
  using Error::Error;
};

/// Receives error messages in programs compiled without exceptions.
using ErrorHandler = void (*)(const char* message);

namespace detail {

inline void print_error(const char* message) { std::fprintf(stderr, "gated: %s\n", message); }

inline ErrorHandler& error_handler() {
  static ErrorHandler handler = &print_error;
  return handler;
}

/// Appends the shortest decimal that reads back as `value`, as std::to_chars does. Uses only the C library.
template <std::floating_point T>
void append_by_printf(std::string& out, T value) {
  const auto number = static_cast<double>(value);
  char scientific[32], fixed[32];
  int digits = 0;
  do {
    std::snprintf(scientific, sizeof(scientific), "%.*e", digits++, number);
  } while (static_cast<T>(std::strtod(scientific, nullptr)) != value && digits < std::numeric_limits<T>::max_digits10);
  const char* shortest = scientific;
  if (const char* const exponent = std::strchr(scientific, 'e')) {  // not in nan and inf
    const int decimals = digits - 1 - std::atoi(exponent + 1);
    const int size = std::snprintf(fixed, sizeof(fixed), "%.*f", decimals < 0 ? 0 : decimals, number);
    shortest = size <= static_cast<int>(std::strlen(scientific)) ? fixed : scientific;
  }
  for (; *shortest != '\0'; ++shortest) {
    out += *shortest == ',' ? '.' : *shortest;  // some locales print a decimal comma
  }
}

template <class Number>
void append(std::string& out, Number value) {
#if defined(__cpp_lib_to_chars)
  constexpr bool in_library = true;
#else
  constexpr bool in_library = std::is_integral_v<Number>;  // libc++ has floating-point to_chars only on some systems
#endif
  if constexpr (in_library) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    out.append(buffer, static_cast<std::size_t>(end - buffer));
  } else {
    append_by_printf(out, value);
  }
}

/// One part of a message. It is type-erased, so join() is compiled once instead of once per list of types.
class TextPart {
 public:
  // Overloads, not templates: a template would be instantiated for each length of a string literal.
  TextPart(const char* part) : kind_(Kind::text), text_(part) {}
  TextPart(std::string_view part) : kind_(Kind::text), text_(part) {}
  TextPart(const std::string& part) : kind_(Kind::text), text_(part) {}
  TextPart(const Where& part) : kind_(Kind::where), where_(part) {}
  TextPart(bool part) = delete;
  TextPart(int part) : TextPart(static_cast<long long>(part)) {}
  TextPart(long part) : TextPart(static_cast<long long>(part)) {}
  TextPart(long long part) : kind_(Kind::signed_integer), signed_(part) {}
  TextPart(unsigned part) : TextPart(static_cast<unsigned long long>(part)) {}
  TextPart(unsigned long part) : TextPart(static_cast<unsigned long long>(part)) {}
  TextPart(unsigned long long part) : kind_(Kind::unsigned_integer), unsigned_(part) {}
  TextPart(float part) : kind_(Kind::single_precision), single_(part) {}
  TextPart(double part) : kind_(Kind::double_precision), double_(part) {}

  void append_to(std::string& out) const {
    switch (kind_) {
      case Kind::text:
        out += text_;
        break;
      case Kind::where:
        out += where_.layer;
        if (where_.call != nullptr) {
          out += "::";
          out += where_.call;
        }
        break;
      case Kind::signed_integer:
        append(out, signed_);
        break;
      case Kind::unsigned_integer:
        append(out, unsigned_);
        break;
      case Kind::single_precision:
        append(out, single_);
        break;
      case Kind::double_precision:
        append(out, double_);
        break;
    }
  }

 private:
  enum class Kind { text, where, signed_integer, unsigned_integer, single_precision, double_precision } kind_;
  union {
    std::string_view text_;
    Where where_;
    long long signed_;
    unsigned long long unsigned_;
    float single_;
    double double_;
  };
};

inline std::string join(std::initializer_list<TextPart> parts) {
  std::string out;
  for (const TextPart& part : parts) {
    part.append_to(out);
  }
  return out;
}

}  // namespace detail

/// Sets the function that receives error messages under `-fno-exceptions`, and returns the previous one. The function may log
/// the message, or leave by longjmp. No effect if exceptions are enabled.
inline ErrorHandler set_error_handler(ErrorHandler handler) { return std::exchange(detail::error_handler(), handler); }

/// Concatenates texts and numbers: `text("x has ", 3, " rows")`.
template <class... Parts>
std::string text(const Parts&... parts) {
  return detail::join({detail::TextPart(parts)...});
}

namespace detail {

template <class E>
[[noreturn]] void raise_joined(std::initializer_list<TextPart> parts) {
#if GATED_HAS_EXCEPTIONS
  throw E(join(parts));
#else
  error_handler()(join(parts).c_str());
  std::abort();
#endif
}

}  // namespace detail

/// Raises `E` with the message text(parts...).
template <class E, class... Parts>
[[noreturn]] void raise(const Parts&... parts) {
  detail::raise_joined<E>({detail::TextPart(parts)...});
}

/// `raise<E>(parts...)` unless `condition` holds.
template <class E, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    raise<E>(parts...);
  }
}

}  // namespace gated
