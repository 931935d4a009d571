#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gated/core/error.hpp"
#include "gated/io/json_writer.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/parse_number.hpp"

/// @file
/// JSON from untrusted files.

namespace gated::detail {

/// A JSON value. Numbers without fraction and exponent are whole; those below 0 are signed.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  ///< sorted by key

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) { *this = Json(static_cast<std::int64_t>(value)); }
  Json(std::int64_t value) {
    value < 0 ? void(value_.emplace<std::int64_t>(value))
              : void(value_.emplace<std::uint64_t>(static_cast<std::uint64_t>(value)));
  }
  Json(std::uint64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  bool is_null() const { return is<std::nullptr_t>(); }
  bool is_boolean() const { return is<bool>(); }
  bool is_string() const { return is<std::string>(); }
  bool is_array() const { return is<Array>(); }
  bool is_object() const { return is<Object>(); }
  bool is_natural() const { return is<std::uint64_t>(); }
  bool is_whole() const { return is<std::int64_t>() || is<std::uint64_t>(); }
  bool is_number() const { return is_whole() || is<double>(); }

  // Of a value of that kind:
  bool boolean() const { return *std::get_if<bool>(&value_); }
  const std::string& string() const { return *std::get_if<std::string>(&value_); }
  const Array& array() const { return *std::get_if<Array>(&value_); }
  const Object& object() const { return *std::get_if<Object>(&value_); }
  double number() const {
    const auto* const fraction = std::get_if<double>(&value_);
    return fraction != nullptr ? *fraction : is_natural() ? static_cast<double>(*natural()) : static_cast<double>(*negative());
  }
  /// A whole number, if T can hold it.
  template <std::integral T>
  std::optional<T> whole() const {
    const bool fits = is_natural() ? std::in_range<T>(*natural()) : std::in_range<T>(*negative());
    return !fits ? std::nullopt
                 : std::optional(static_cast<T>(is_natural() ? *natural() : static_cast<std::uint64_t>(*negative())));
  }

  /// The member of that key; nullptr if there is none, or this is no object.
  const Json* find(std::string_view key) const;
  /// The elements of an array; 0 for everything else.
  std::size_t size() const { return is_array() ? array().size() : 0; }
  const Json& operator[](std::size_t i) const { return array()[i]; }

  void write(JsonWriter& writer) const;
  /// On one line.
  std::string dump() const {
    JsonWriter writer;
    write(writer);
    return writer.json();
  }

  /// The same kind and value; numbers by their value.
  friend bool operator==(const Json& a, const Json& b) {
    return a.is_number() && b.is_number() ? a.number() == b.number() : a.value_ == b.value_;
  }

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  const std::uint64_t* natural() const { return std::get_if<std::uint64_t>(&value_); }
  const std::int64_t* negative() const { return std::get_if<std::int64_t>(&value_); }

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

inline const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  const auto found = std::lower_bound(object().begin(), object().end(), key,
                                      [](const Member& member, std::string_view name) { return member.first < name; });
  return found != object().end() && found->first == key ? &found->second : nullptr;
}

inline void Json::write(JsonWriter& writer) const {
  if (is_array()) {
    writer.open('[');
    for (const Json& element : array()) {
      element.write(writer);
    }
    writer.close(']');
  } else if (is_object()) {
    writer.open('{');
    for (const auto& [key, value] : object()) {
      writer.key(key);
      value.write(writer);
    }
    writer.close('}');
  } else {
    std::visit(
        [&](const auto& value) {
          if constexpr (requires { writer.write(value); }) {
            writer.write(value);
          }
        },
        value_);
  }
}

/// Reads a JSON text (RFC 8259) and stops at the first character that does not belong there. No text makes it nest deeper than
/// the limit, and nothing throws.
class JsonReader {
 public:
  JsonReader(std::string_view json, std::size_t max_depth) : json_(json), depth_left_(max_depth) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    at_ = json.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  }

  /// The whole text as one value; false, with a problem, if it is none.
  bool read(Json& value) {
    skip_blanks();
    if (!read_value(value)) {
      return false;
    }
    skip_blanks();
    return at_ == json_.size() || fail("expected the end of the text");
  }
  /// What is wrong, for a message.
  const std::string& problem() const { return problem_; }

 private:
  /// The next character; 0 at the end, which no text contains.
  char next() const { return at_ < json_.size() ? json_[at_] : '\0'; }
  bool accept(char c) {
    const bool found = next() == c;
    at_ += found ? 1 : 0;
    return found;
  }
  void skip_blanks() {
    while (next() == ' ' || next() == '\n' || next() == '\r' || next() == '\t') {
      ++at_;
    }
  }

  bool fail(const char* what) {
    const std::string_view before = json_.substr(0, at_);
    const std::size_t line = before.rfind('\n') + 1;  // 0 where there is none
    problem_ = text("invalid JSON: parse error at line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
                    at_ - line + 1, ": ", what, at_ == json_.size() ? ", found the end." : ".");
    return false;
  }

  bool read_value(Json& value) {
    switch (next()) {
      case '{':
        return read_object(value);
      case '[':
        return read_array(value);
      case '"': {
        std::string read;
        const bool well = read_string(read);
        value = std::move(read);
        return well;
      }
      default:
        return read_word("null", nullptr, value) || read_word("true", true, value) || read_word("false", false, value) ||
               read_number(value);
    }
  }

  bool read_word(std::string_view word, Json meaning, Json& value) {
    if (!json_.substr(at_).starts_with(word)) {
      return false;
    }
    at_ += word.size();
    value = std::move(meaning);
    return true;
  }

  bool descend() {
    if (depth_left_ == 0) {
      problem_ = text("JSON is nested more than ", depth_, " deep.");
      return false;
    }
    --depth_left_;
    ++depth_;
    ++at_;
    skip_blanks();
    return true;
  }
  void ascend() {
    ++depth_left_;
    --depth_;
  }

  bool read_array(Json& value) {
    Json::Array elements;
    if (!descend()) {
      return false;
    }
    if (!accept(']')) {
      do {
        skip_blanks();
        if (!read_value(elements.emplace_back())) {
          return false;
        }
        skip_blanks();
      } while (accept(','));
      if (!accept(']')) {
        return fail("expected ',' or ']'");
      }
    }
    ascend();
    value = std::move(elements);
    return true;
  }

  bool read_object(Json& value) {
    Json::Object members;
    if (!descend()) {
      return false;
    }
    if (!accept('}')) {
      do {
        skip_blanks();
        if (next() != '"') {
          return fail("expected '\"' and a key");
        }
        auto& member = members.emplace_back();
        if (!read_string(member.first)) {
          return false;
        }
        skip_blanks();
        if (!accept(':')) {
          return fail("expected ':'");
        }
        skip_blanks();
        if (!read_value(member.second)) {
          return false;
        }
        skip_blanks();
      } while (accept(','));
      if (!accept('}')) {
        return fail("expected ',' or '}'");
      }
    }
    ascend();
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto twice =
        std::adjacent_find(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != members.end()) {
      problem_ = text("duplicate key \"", printable(twice->first), "\".");
      return false;
    }
    value = std::move(members);
    return true;
  }

  bool read_string(std::string& out) {
    ++at_;
    while (!accept('"')) {
      if (at_ == json_.size()) {
        return fail("expected '\"'");
      }
      if (static_cast<unsigned char>(next()) < 0x20) {
        return fail("expected \\n, \\t or the like for a control character");
      }
      if (accept('\\')) {
        if (!read_escape(out)) {
          return false;
        }
        continue;
      }
      const std::size_t length = utf8_length(json_.substr(at_));
      if (length == 0) {
        return fail("ill-formed UTF-8");
      }
      out += json_.substr(at_, length);
      at_ += length;
    }
    return true;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = letters.find(next()); i != std::string_view::npos && at_ < json_.size()) {
      out += meanings[i];
      ++at_;
      return true;
    }
    unsigned code = 0, low = 0;
    if (!read_code(code)) {
      return false;
    }
    const auto is_low = [](unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; };
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (!accept('\\') || !read_code(low) || !is_low(low)) {
        return fail("expected the second of two surrogates");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (is_low(code)) {
      return fail("a second surrogate without a first");
    }
    const auto add = [&](unsigned byte) { out += static_cast<char>(byte); };
    const auto add_rest = [&](int shift) { add(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xC0 | code >> 6);
      add_rest(0);
    } else if (code < 0x10000) {
      add(0xE0 | code >> 12);
      add_rest(6);
      add_rest(0);
    } else {
      add(0xF0 | code >> 18);
      add_rest(12);
      add_rest(6);
      add_rest(0);
    }
    return true;
  }

  /// u and four hexadecimal digits.
  bool read_code(unsigned& code) {
    const char* const first = json_.data() + at_ + 1;
    if (next() != 'u' || json_.size() - at_ < 5 || std::from_chars(first, first + 4, code, 16).ptr != first + 4) {
      return fail("expected one of the escapes of JSON");
    }
    at_ += 5;
    return true;
  }

  bool read_number(Json& value) {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t from = at_;
      while (next() >= '0' && next() <= '9') {
        ++at_;
      }
      return at_ > from;
    };
    const bool negative = accept('-');
    if (!accept('0') && !digits()) {
      return fail(negative ? "expected a digit" : "expected a value");
    }
    bool is_whole = true;
    if (accept('.')) {
      is_whole = false;
      if (!digits()) {
        return fail("expected a digit");
      }
    }
    if (next() == 'e' || next() == 'E') {
      is_whole = false;
      ++at_;
      accept('+') || accept('-');
      if (!digits()) {
        return fail("expected a digit");
      }
    }
    const char *const first = json_.data() + begin, *const last = json_.data() + at_;
    const auto reads = [&](auto number) {
      if (from_chars(first, last, number).ec != std::errc{}) {
        return false;
      }
      value = Json(number);
      return true;
    };
    if (is_whole && (negative ? reads(std::int64_t{}) : reads(std::uint64_t{}))) {
      return true;
    }
    at_ = begin;  // for the message
    if (!reads(double{})) {
      return fail("a number beyond those that a double can hold");
    }
    at_ = static_cast<std::size_t>(last - json_.data());
    return true;
  }
  static std::from_chars_result from_chars(const char* first, const char* last, std::integral auto& out) {
    return std::from_chars(first, last, out);
  }
  static std::from_chars_result from_chars(const char* first, const char* last, double& out) {
    return detail::from_chars(first, last, out);
  }

  std::string_view json_;
  std::size_t at_ = 0, depth_ = 0, depth_left_;
  std::string problem_;
};

/// The value that `json` spells. Raises `E`, beginning with `where`, for malformed text, invalid UTF-8, duplicate keys, numbers
/// beyond a double, and nesting deeper than `max_depth`.
template <class E>
Json parse_json(std::string_view json, std::string_view where, std::size_t max_depth) {
  const std::size_t zero = json.find('\0');
  require<E>(zero == std::string_view::npos, where, ": invalid JSON: a zero byte at position ", zero, ".");
  Json value;
  JsonReader reader(json, max_depth);
  if (!reader.read(value)) {
    raise<E>(where, ": ", reader.problem());
  }
  return value;
}

/// What was written. Raises `E`, beginning with `where`, if a text in it is not UTF-8.
template <class E>
std::string written_json(const JsonWriter& writer, std::string_view where) {
  require<E>(writer.is_utf8(), where, ": a text is not valid UTF-8.");
  return writer.json();
}

/// A JSON value for a message.
inline std::string shown_json(const Json& value) { return printable(value.dump()); }

}  // namespace gated::detail
