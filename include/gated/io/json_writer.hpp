#pragma once

#include "gated/core/compiler.hpp"

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

/// @file
/// JSON text (RFC 8259), written piece by piece.

namespace gated::detail {

/// The bytes of the character that `text` begins with in UTF-8; 0 if they are ill-formed (Unicode 15, table 3-7).
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xBF) {
    return byte(i) >= least && byte(i) <= most;
  };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return text.empty() ? 0 : 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {  // no longer spelling than needed, no surrogates
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

/// Writes one JSON value: `open('{'); key("depth"); write(4); close('}');`. On one line, or indented by `indent` spaces.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = -1) : indent_(indent) {}

  const std::string& json() const { return json_; }
  /// False once a text was not UTF-8.
  bool is_utf8() const { return is_utf8_; }

  /// '{' or '['.
  void open(char bracket) {
    begin();
    json_ += bracket;
    ++depth_;
    is_first_ = true;
  }
  void close(char bracket) {
    --depth_;
    if (!is_first_) {
      break_line();
    }
    json_ += bracket;
    is_first_ = false;
  }
  void key(std::string_view name) {
    write(name);
    json_ += indent_ < 0 ? ":" : ": ";
    is_member_ = true;
  }

  void write(std::string_view text) {
    begin();
    json_ += '"';
    for (std::size_t i = 0, length; i < text.size(); i += length) {
      length = utf8_length(text.substr(i));
      if (length == 0) {
        is_utf8_ = false;
        return;
      }
      if (length > 1) {
        json_ += text.substr(i, length);
      } else {
        write_character(text[i]);
      }
    }
    json_ += '"';
  }
  void write(const char* text) { write(std::string_view(text)); }
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(std::nullptr_t) { write_word("null"); }
  void write(bool value) { write_word(value ? "true" : "false"); }
  template <std::integral T>
  void write(T value) {
    char digits[24];
    write_word({digits, std::to_chars(digits, digits + sizeof(digits), value).ptr});
  }
  /// The shortest digits that give the same number when read. Must be finite.
  void write(double value) {
    char text[40];
    const auto digits = [&](std::chars_format format) {
      return std::string_view(text, std::to_chars(text, text + sizeof(text), value, format).ptr);
    };
    const std::string_view scientific = digits(std::chars_format::scientific);
    const std::size_t e = scientific.find('e');
    int exponent = 0;
    std::from_chars(text + e + (text[e + 1] == '+' ? 2 : 1), text + scientific.size(), exponent);
    if (exponent < -4 || exponent > 14) {
      return write_word(scientific);
    }
    const std::string_view fixed = digits(std::chars_format::fixed);
    write_word(fixed);
    json_ += fixed.find('.') == std::string_view::npos ? ".0" : "";  // a fraction stays one
  }

 private:
  void write_word(std::string_view word) {
    begin();
    json_ += word;
  }
  void write_character(char c) {
    constexpr std::string_view escaped = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    if (const std::size_t i = escaped.find(c); i != std::string_view::npos) {
      json_ += '\\';
      json_ += letters[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* hexadecimal = "0123456789abcdef";
      json_ += c < 0x10 ? "\\u000" : "\\u001";
      json_ += hexadecimal[c & 15];
    } else {
      json_ += c;
    }
  }

  /// What stands before a value or a key.
  void begin() {
    if (is_member_) {
      is_member_ = false;
      return;
    }
    json_ += is_first_ ? "" : ",";
    if (depth_ > 0) {
      break_line();
    }
    is_first_ = false;
  }
  void break_line() {
    if (indent_ >= 0) {
      json_ += '\n';
      json_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
    }
  }

  int indent_, depth_ = 0;
  bool is_first_ = true;    // in its container
  bool is_member_ = false;  // its key stands there
  bool is_utf8_ = true;
  std::string json_;
};

}  // namespace gated::detail
