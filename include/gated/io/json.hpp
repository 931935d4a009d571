#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/error.hpp"

/// @file
/// JSON that is read from untrusted files, and JSON that is written.
///
/// nlohmann/json spells it; json.inl alone includes that library, of which the values here keep no type.

namespace gated::detail {

/// A value of a JSON text. Integers are kept apart by their sign, so that all of 64 bits are held.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() = default;
  explicit Json(bool value) : kind_(Kind::boolean), value_{.truth = value} {}
  explicit Json(std::int64_t value) : kind_(Kind::integer), value_{.integer = value} {}
  explicit Json(std::uint64_t value) : kind_(Kind::whole), value_{.whole = value} {}
  explicit Json(double value) : kind_(Kind::real), value_{.real = value} {}
  explicit Json(std::string value);
  static Json array();
  static Json object();

  Json(Json&& other) noexcept : kind_(std::exchange(other.kind_, Kind::null)), value_(other.value_) {}
  Json& operator=(Json&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Json();

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::whole; }
  bool is_whole() const { return kind_ == Kind::whole; }  ///< an integer without a sign
  bool is_number() const { return is_integer() || kind_ == Kind::real; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  // Each expects that the value is of its kind.
  bool truth() const { return value_.truth; }
  std::int64_t integer() const { return is_whole() ? static_cast<std::int64_t>(value_.whole) : value_.integer; }
  std::uint64_t whole() const { return value_.whole; }
  double number() const;
  const std::string& text() const { return *value_.text; }
  const Array& elements() const { return *value_.array; }
  Array& elements() { return *value_.array; }
  const Object& entries() const { return *value_.object; }
  Object& entries() { return *value_.object; }

  /// The value under `key`; nullptr where there is none, or where this is no object.
  const Json* find(std::string_view key) const;
  /// True for the string `word`.
  bool is(std::string_view word) const { return is_string() && text() == word; }

 private:
  enum class Kind : std::uint8_t { null, boolean, integer, whole, real, string, array, object };
  union Value {
    bool truth;
    std::int64_t integer;
    std::uint64_t whole;
    double real;
    std::string* text;  // this and those below are owned
    Array* array;
    Object* object;
  };

  Kind kind_ = Kind::null;
  Value value_{.whole = 0};
};

/// A value for a message.
std::string shown_json(const Json& value);
/// The list of some values for a message.
std::string shown_json(std::span<const Json> values);

/// Reads the value that `json` spells to `out`. Returns what keeps it from doing so, empty if nothing does: malformed text,
/// invalid UTF-8, a key that stands twice, numbers beyond a double, and nesting deeper than `max_depth`.
std::string read_json_text(std::string_view json, std::size_t max_depth, Json& out);

/// The value that `json` spells. Raises `E`, beginning with `where`, where read_json_text() has something to say.
template <class E>
Json parse_json(std::string_view json, std::string_view where, std::size_t max_depth) {
  Json root;
  const std::string problem = read_json_text(json, max_depth, root);
  require<E>(problem.empty(), where, ": ", problem);
  return root;
}

/// Writes JSON from left to right: on one line, or indented by `indent` spaces.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = -1) : indent_(indent) {}

  void null() { literal("null"); }
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void integer(long long value) { literal(gated::text(value)); }
  void whole(unsigned long long value) { literal(gated::text(value)); }
  void real(double value);  ///< finite
  void string(std::string_view value);
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  /// The key of the value that comes next.
  void key(std::string_view name);
  /// Values that were read, one or a list.
  void value(const Json& value);
  void array(std::span<const Json> values);

  const std::string& text() const { return text_; }

  /// What was written. Raises `E`, beginning with `where`, if a string in it is not UTF-8.
  template <class E>
  std::string finish(std::string_view where) {
    require<E>(is_utf8_, where, ": a text is not valid UTF-8.");
    return std::move(text_);
  }

 private:
  void literal(std::string_view spelt);
  void begin(char bracket);
  void end(char bracket);
  void separate();
  void break_line();
  void quote(std::string_view value);

  std::string text_;
  int indent_, depth_ = 0;
  bool is_first_ = true, follows_key_ = false, is_utf8_ = true;
};

}  // namespace gated::detail

#if !defined(GATED_COMPILED)
#include "gated/io/json.inl"
#endif
