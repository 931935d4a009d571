#pragma once

#include "gated/io/json_writer.hpp"
#include "gated/io/nearest_name.hpp"

namespace gated::detail {

GATED_INLINE std::string shown_json(const Json& value) {
  JsonWriter writer;
  writer.value(value);
  return printable(writer.text());
}

GATED_INLINE std::string shown_json(std::span<const Json> values) {
  JsonWriter writer;
  writer.array(values);
  return printable(writer.text());
}

GATED_INLINE void JsonWriter::real(double value) {
  const std::string shortest = gated::text(value);
  literal(shortest.find_first_of(".e") == std::string::npos ? shortest + ".0" : shortest);
}

GATED_INLINE void JsonWriter::string(std::string_view value) {
  separate();
  quote(value);
}

GATED_INLINE void JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += indent_ < 0 ? ":" : ": ";
  follows_key_ = true;
}

GATED_INLINE void JsonWriter::value(const Json& value) {
  if (value.is_string()) {
    string(value.text());
  } else if (value.is_array()) {
    array(value.elements());
  } else if (value.is_object()) {
    begin_object();
    for (const auto& [name, entry] : value.entries()) {
      key(name);
      this->value(entry);
    }
    end_object();
  } else if (value.is_whole()) {
    whole(value.whole());
  } else if (value.is_integer()) {
    integer(value.integer());
  } else if (value.is_number()) {
    real(value.number());
  } else if (value.is_boolean()) {
    boolean(value.truth());
  } else {
    null();
  }
}

GATED_INLINE void JsonWriter::array(std::span<const Json> values) {
  begin_array();
  for (const Json& element : values) {
    value(element);
  }
  end_array();
}

GATED_INLINE void JsonWriter::literal(std::string_view spelt) {
  separate();
  text_ += spelt;
}

GATED_INLINE void JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
  ++depth_;
  is_first_ = true;
}

GATED_INLINE void JsonWriter::end(char bracket) {
  --depth_;
  if (!is_first_) {
    break_line();
  }
  text_ += bracket;
  is_first_ = false;
}

/// Writes the comma and line break before a value or key.
GATED_INLINE void JsonWriter::separate() {
  if (!std::exchange(follows_key_, false) && depth_ > 0) {
    text_ += is_first_ ? "" : ",";
    break_line();
  }
  is_first_ = false;
}

GATED_INLINE void JsonWriter::break_line() {
  if (indent_ >= 0) {
    text_ += '\n';
    text_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
  }
}

GATED_INLINE void JsonWriter::quote(std::string_view value) {
  constexpr std::string_view special = "\"\\\b\t\n\f\r", letters = "\"\\btnfr", digits = "0123456789abcdef";
  if (not_utf8_.empty() && !is_utf8(value)) {
    not_utf8_ = value.substr(0, 80);
  }
  text_ += '"';
  for (const char c : value) {
    if (const std::size_t found = special.find(c); found != std::string_view::npos) {
      text_ += '\\';
      text_ += letters[found];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += "\\u00";
      text_ += digits[static_cast<std::size_t>(c) / 16];
      text_ += digits[static_cast<std::size_t>(c) % 16];
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

}  // namespace gated::detail
