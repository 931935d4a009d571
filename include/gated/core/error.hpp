#pragma once

#include "gated/core/compiler.hpp"

#include <charconv>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// The errors that gated raises, and what their texts say.
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

/// An allocation of the requested size failed.
class MemoryError : public Error {
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

/// One part of a message. One type for all, so that what joins them is compiled once and not for each list of types.
class TextPart {
 public:
  // No templates: literals differ in their lengths, and each would be compiled for itself.
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

/// Replaces the function that receives error texts under `-fno-exceptions` (it may log, or leave by longjmp); returns the
/// one that was there. Has no effect where exceptions are enabled.
inline ErrorHandler set_error_handler(ErrorHandler handler) { return std::exchange(detail::error_handler(), handler); }

/// Joins texts and numbers into one string: `text("x has ", 3, " rows")`.
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

/// Raises `E` with the joined text of `parts`.
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
