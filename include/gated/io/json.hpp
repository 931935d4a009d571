#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gated/core/error.hpp"

/// @file
/// Reads JSON (RFC 8259) from untrusted files.

namespace gated::detail {

/// A JSON value. Negative integers are stored as int64, other integers as uint64, so all 64-bit integers are exact.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() = default;  ///< null
  template <class T>
  explicit Json(T value) : value_(std::move(value)) {}
  Json(Json&&) = default;
  Json& operator=(Json&&) = default;

  bool is_null() const { return holds<std::monostate>(); }
  bool is_boolean() const { return holds<bool>(); }
  bool is_integer() const { return holds<std::int64_t>() || is_whole(); }
  bool is_whole() const { return holds<std::uint64_t>(); }  ///< an integer ≥ 0
  bool is_number() const { return is_integer() || holds<double>(); }
  bool is_string() const { return holds<std::string>(); }
  bool is_array() const { return holds<Array>(); }
  bool is_object() const { return holds<Object>(); }

  // Each accessor requires a value of its type.
  bool truth() const { return *std::get_if<bool>(&value_); }
  std::int64_t integer() const { return is_whole() ? static_cast<std::int64_t>(whole()) : *std::get_if<std::int64_t>(&value_); }
  std::uint64_t whole() const { return *std::get_if<std::uint64_t>(&value_); }
  double number() const {
    return is_whole()     ? static_cast<double>(whole())
           : is_integer() ? static_cast<double>(integer())
                          : *std::get_if<double>(&value_);
  }
  const std::string& text() const { return *std::get_if<std::string>(&value_); }
  const Array& elements() const { return *std::get_if<Array>(&value_); }
  Array& elements() { return *std::get_if<Array>(&value_); }
  const Object& entries() const { return *std::get_if<Object>(&value_); }
  Object& entries() { return *std::get_if<Object>(&value_); }

  /// The value under `key`; nullptr if absent, or if this is not an object.
  const Json* find(std::string_view key) const;
  /// True if this is the string `word`.
  bool is(std::string_view word) const { return is_string() && text() == word; }

 private:
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

/// True if `text` is valid UTF-8: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

/// Parses `json` into `out`. Returns the error message; empty on success.
/// Errors: malformed JSON, invalid UTF-8, duplicate keys, numbers out of the range of double, nesting deeper than `max_depth`,
/// and arrays of more than `max_elements`.
std::string read_json_text(std::string_view json, std::size_t max_depth, Json& out,
                           std::size_t max_elements = std::numeric_limits<std::size_t>::max());

/// Parses `json`. Raises `E`, with a message that begins with `where`, if read_json_text() fails.
template <class E>
Json parse_json(std::string_view json, std::string_view where, std::size_t max_depth,
                std::size_t max_elements = std::numeric_limits<std::size_t>::max()) {
  Json root;
  const std::string problem = read_json_text(json, max_depth, root, max_elements);
  require<E>(problem.empty(), where, ": ", problem);
  return root;
}

}  // namespace gated::detail

#if !defined(GATED_COMPILED)
#include "gated/io/json.inl"
#endif
