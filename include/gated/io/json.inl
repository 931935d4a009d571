#pragma once

#include <algorithm>
#include <charconv>
#include <system_error>

#include "gated/io/json.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/parse_number.hpp"
#include "gated/io/text_encoding.hpp"

namespace gated::detail {

GATED_INLINE const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  const auto found = entries().find(key);
  return found == entries().end() ? nullptr : &found->second;
}

GATED_INLINE bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t offset) { return i + offset < text.size() ? text[i + offset] & 0xFF : 0; };
    const int first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    const int least = first == 0xE0   ? 0xA0
                      : first == 0xF0 ? 0x90
                                      : 0x80,
              most = first == 0xED   ? 0x9F
                     : first == 0xF4 ? 0x8F
                                     : 0xBF;
    bool valid = length == 1 || (length > 1 && byte(1) >= least && byte(1) <= most);
    for (std::size_t j = 2; j < length; ++j) {
      valid = valid && (byte(j) & 0xC0) == 0x80;
    }
    if (!valid) {
      return false;
    }
    i += length;
  }
  return true;
}

/// A single-pass parser of RFC 8259. Its functions return false at the first error, which `problem` describes.
class JsonReader {
 public:
  JsonReader(std::string_view json, std::size_t max_depth, std::size_t max_elements)
      : json_(json), max_depth_(max_depth), max_elements_(max_elements) {}

  std::string problem;

  bool read(Json& out) {
    skip("\xEF\xBB\xBF");  // a byte order mark
    return read_value(out, 0) && (next() == end_of_text || fault("expected the end of the text"));
  }

 private:
  static constexpr int end_of_text = -1;

  bool read_value(Json& out, std::size_t depth) {
    const int first = next();
    if (first == '{' || first == '[') {
      return read_container(out, depth);
    }
    if (first == '"') {
      std::string value;
      const bool done = read_string(value);
      out = Json(std::move(value));
      return done;
    }
    if (first == '-' || is_digit(first)) {
      return read_number(out);
    }
    if (const bool truth = skip("true"); truth || skip("false")) {
      out = Json(truth);
      return true;
    }
    out = Json();
    return skip("null") || fault("expected a value");
  }

  bool read_container(Json& out, std::size_t depth) {
    if (depth == max_depth_) {
      problem = text("JSON is nested more than ", max_depth_, " deep.");
      return false;
    }
    const bool is_object = json_[at_++] == '{';
    const char* const end = is_object ? "}" : "]";
    out = is_object ? Json(Json::Object()) : Json(Json::Array());
    if (next(); skip(end)) {
      return true;
    }
    do {
      if (!is_object && out.elements().size() == max_elements_) {
        problem = text("JSON has an array of more than ", max_elements_, " elements.");
        return false;
      }
      Json* const place = is_object ? read_key(out.entries()) : &out.elements().emplace_back();
      if (place == nullptr || !read_value(*place, depth + 1)) {
        return false;
      }
      next();
    } while (skip(","));
    return skip(end) || fault(text("expected ',' or '", end, "'"));
  }

  /// Reads a key and returns where to store its value; nullptr on error.
  Json* read_key(Json::Object& entries) {
    std::string name;
    if (next() != '"') {
      fault("expected a key in double quotes");
    } else if (read_string(name)) {
      const auto [entry, is_new] = entries.try_emplace(std::move(name));
      if (!is_new) {
        problem = text("duplicate key \"", printable(entry->first), "\".");
      } else if (next(); skip(":") || fault("expected ':'")) {
        return &entry->second;
      }
    }
    return nullptr;
  }

  bool read_string(std::string& out) {
    const std::size_t begin = at_++;
    for (int byte = peek(); byte != '"'; byte = peek()) {
      if (byte < 0x20) {
        return fault(byte == end_of_text ? "unterminated string" : "a control character in a string, expected an escape");
      }
      if (byte != '\\') {
        out += json_[at_++];
      } else if (!read_escape(out)) {
        return false;
      }
    }
    ++at_;
    if (!is_utf8(out)) {
      at_ = begin;
      return fault("ill-formed UTF-8 in the string");
    }
    return true;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    ++at_;
    if (const auto found = letters.find(at_ < json_.size() ? json_[at_] : '\0'); found != std::string_view::npos) {
      out += meant[found];
      ++at_;
      return true;
    }
    std::uint32_t code = 0, low = 0;
    if (!skip("u") || !read_hexadecimal(code)) {
      return fault("an unknown escape, expected one of \"\\/bfnrt, or u and four hexadecimal digits");
    }
    if (code >= 0xD800 && code < 0xE000) {
      if (code >= 0xDC00 || !skip("\\u") || !read_hexadecimal(low) || low < 0xDC00 || low >= 0xE000) {
        return fault("an unpaired surrogate");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // number of bytes after the first, 6 bits each
      out += static_cast<char>(0xF0U << (3 - more) | code >> 6 * more);
      for (unsigned i = more; i-- > 0;) {
        out += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
      }
    }
    return true;
  }

  bool read_hexadecimal(std::uint32_t& out) {
    const std::string_view digits = json_.substr(at_, 4);
    const char* const end = digits.data() + digits.size();
    at_ += digits.size();
    return digits.size() == 4 && std::from_chars(digits.data(), end, out, 16).ptr == end;
  }

  bool read_number(Json& out) {
    const char* const begin = json_.data() + at_;
    const bool is_negative = skip("-");
    bool is_valid = skip("0") || skip_digits(), is_whole = true;
    if (is_valid && skip(".")) {
      is_valid = skip_digits();
      is_whole = false;
    }
    if (is_valid && (skip("e") || skip("E"))) {
      is_valid = (skip("+") || skip("-"), skip_digits());
      is_whole = false;
    }
    if (!is_valid) {
      return fault("expected a digit");
    }
    const auto fits = [&]<class Number>(Number value) {
      using std::from_chars, detail::from_chars;
      const bool done = from_chars(begin, json_.data() + at_, value).ec == std::errc{};
      out = done ? Json(value) : Json();
      return done;
    };
    return (is_whole && (is_negative ? fits(std::int64_t{}) : fits(std::uint64_t{}))) || fits(double{}) ||
           fault("a number out of the range of double");
  }

  bool skip_digits() {
    const std::size_t begin = at_;
    while (is_digit(peek())) {
      ++at_;
    }
    return at_ > begin;
  }

  static bool is_digit(int byte) { return byte >= '0' && byte <= '9'; }
  int peek() const { return at_ < json_.size() ? static_cast<unsigned char>(json_[at_]) : end_of_text; }

  /// Skips blanks and returns the next byte.
  int next() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') {
      ++at_;
    }
    return peek();
  }

  bool skip(std::string_view expected) {
    const bool found = json_.substr(at_, expected.size()) == expected;
    at_ += found ? expected.size() : 0;
    return found;
  }

  bool fault(std::string_view what) {
    const std::string_view before = json_.substr(0, at_);
    const std::size_t line = before.rfind('\n');  // on line 1, npos acts as -1
    problem = text("invalid JSON at line ", 1 + std::count(before.begin(), before.end(), '\n'), ", column ", at_ - line, ": ",
                   what, ".");
    return false;
  }

  std::string_view json_;
  std::size_t max_depth_, max_elements_, at_ = 0;
};

GATED_INLINE std::string read_json_text(std::string_view json, std::size_t max_depth, Json& out, std::size_t max_elements) {
  if (std::string problem = encoding_problem(json); !problem.empty()) {
    return problem;
  }
  JsonReader reader(json, max_depth, max_elements);
  reader.read(out);
  return std::move(reader.problem);
}

}  // namespace gated::detail
