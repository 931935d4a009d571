#pragma once

#include <nlohmann/json.hpp>

#include "gated/io/json.hpp"
#include "gated/io/nearest_name.hpp"

namespace gated::detail {

// --- Values ---

GATED_INLINE Json::Json(std::string value) : kind_(Kind::string), value_{.text = new std::string(std::move(value))} {}

GATED_INLINE Json Json::array() {
  Json value;
  value.value_.array = new Array;
  value.kind_ = Kind::array;
  return value;
}

GATED_INLINE Json Json::object() {
  Json value;
  value.value_.object = new Object;
  value.kind_ = Kind::object;
  return value;
}

GATED_INLINE Json::~Json() {  // as deep as the parser allowed
  if (kind_ == Kind::string) {
    delete value_.text;
  } else if (kind_ == Kind::array) {
    delete value_.array;
  } else if (kind_ == Kind::object) {
    delete value_.object;
  }
}

GATED_INLINE double Json::number() const {
  return kind_ == Kind::real ? value_.real
         : is_whole()        ? static_cast<double>(value_.whole)
                             : static_cast<double>(value_.integer);
}

GATED_INLINE const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  const auto found = value_.object->find(key);
  return found == value_.object->end() ? nullptr : &found->second;
}

// --- Reading ---

/// Builds a value from the parser's events and stops at the first that is not wanted: a second entry under one key, or nesting
/// beyond a limit. The parser keeps no call stack, so text of any depth is refused without harm, and nothing throws.
class StrictJsonBuilder {
 public:
  StrictJsonBuilder(std::size_t max_depth, Json& root) : max_depth_(max_depth), root_(root) {}

  std::string problem;

  bool null() { return add(Json()) != nullptr; }
  bool boolean(bool value) { return add(Json(value)) != nullptr; }
  bool number_integer(std::int64_t value) { return add(Json(value)) != nullptr; }
  bool number_unsigned(std::uint64_t value) { return add(Json(value)) != nullptr; }
  bool number_float(double value, const std::string&) { return add(Json(value)) != nullptr; }
  bool string(std::string& value) { return add(Json(std::move(value))) != nullptr; }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    const auto [entry, inserted] = open_.back()->entries().try_emplace(name);
    if (!inserted) {
      problem = text("duplicate key \"", printable(name), "\".");
    }
    slot_ = &entry->second;
    return inserted;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    std::string_view what = error.what();
    const std::size_t tag = what.find("] ");  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    what.remove_prefix(tag == std::string_view::npos ? 0 : tag + 2);
    problem = text("invalid JSON: ", printable(what), ".");
    return false;
  }

 private:
  Json* add(Json value) {
    Json* const place = open_.empty() ? &root_ : open_.back()->is_array() ? &open_.back()->elements().emplace_back() : slot_;
    *place = std::move(value);
    return place;
  }

  bool open(Json container) {
    if (open_.size() == max_depth_) {
      problem = text("JSON is nested more than ", max_depth_, " deep.");
      return false;
    }
    open_.push_back(add(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t max_depth_;
  Json& root_;
  std::vector<Json*> open_;  // from the root to the container that is being filled
  Json* slot_ = nullptr;     // of the last key
};

GATED_INLINE std::string read_json_text(std::string_view json, std::size_t max_depth, Json& out) {
  const std::size_t zero = json.find('\0');  // which the parser would take for the end of the text
  if (zero != std::string_view::npos) {
    return text("invalid JSON: a zero byte at position ", zero, ".");
  }
  StrictJsonBuilder builder(max_depth, out);
  // sax_parse() would do, but it compiles the readers of four binary formats too: a quarter of what loading a model costs.
  using Text = decltype(nlohmann::detail::input_adapter(json.begin(), json.end()));
  using Parser = nlohmann::detail::parser<nlohmann::json, Text>;
  const bool done = Parser(nlohmann::detail::input_adapter(json.begin(), json.end())).sax_parse(&builder);
  return done ? std::string() : std::move(builder.problem);
}

// --- Writing ---

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

/// True if `text` is UTF-8, with each character in its shortest form, and without halves of surrogate pairs.
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

GATED_INLINE void JsonWriter::real(double value) {
  char buffer[64];
  literal({buffer, static_cast<std::size_t>(nlohmann::detail::to_chars(buffer, buffer + sizeof(buffer), value) - buffer)});
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

/// What stands between the value, or the key, that comes next and the one before.
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
  is_utf8_ = is_utf8_ && is_utf8(value);
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
