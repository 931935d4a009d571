#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gated/io/json.hpp"

/// @file
/// Writes JSON.

namespace gated::detail {

/// Writes JSON in document order, indented by `indent` spaces per level, or on one line if `indent` is negative.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = -1) : indent_(indent) {}

  void null() { literal("null"); }
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void integer(long long value) { literal(gated::text(value)); }
  void whole(unsigned long long value) { literal(gated::text(value)); }
  void real(double value);  ///< `value` must be finite
  void string(std::string_view value);
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  /// Writes the key of the next value.
  void key(std::string_view name);
  /// Writes parsed JSON: one value, or an array of `values`.
  void value(const Json& value);
  void array(std::span<const Json> values);

  const std::string& text() const { return text_; }

  /// Returns the text. Raises `E`, with a message that begins with `where`, if a key or string value is not UTF-8.
  template <class E>
  std::string finish(std::string_view where) {
    require<E>(not_utf8_.empty(), where, ": the string \"", not_utf8_, "\" is not valid UTF-8.");
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
  std::string not_utf8_;  ///< the first string that is not UTF-8, cut after 80 bytes; empty if there is none
  int indent_, depth_ = 0;
  bool is_first_ = true, follows_key_ = false;
};

/// `value` as JSON, for an error message.
std::string shown_json(const Json& value);
/// The array of `values` as JSON, for an error message.
std::string shown_json(std::span<const Json> values);

}  // namespace gated::detail

#if !defined(GATED_COMPILED)
#include "gated/io/json_writer.inl"
#endif
