#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/error.hpp"
#include "gated/io/nearest_name.hpp"

/// @file
/// JSON from untrusted files.

namespace gated::detail {

using Json = nlohmann::json;

/// Builds a value from the parser's events and stops at the first that is not wanted: a second entry under one key, or nesting
/// beyond a limit. The parser keeps no call stack, so text of any depth is refused without harm, and nothing throws.
class StrictJsonBuilder {
 public:
  explicit StrictJsonBuilder(std::size_t max_depth) : max_depth_(max_depth) {}

  Json root;
  std::string problem;

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(Json::number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value) != nullptr; }
  bool string(std::string& value) { return add(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    const auto [entry, inserted] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!inserted) {
      problem = text("duplicate key \"", printable(name), "\".");
    }
    slot_ = &entry->second;
    return inserted;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    std::string_view what = error.what();
    const std::size_t tag = what.find("] ");  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    what.remove_prefix(tag == std::string_view::npos ? 0 : tag + 2);
    problem = text("invalid JSON: ", printable(what), ".");
    return false;
  }

 private:
  Json* add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    if (open_.back()->is_array()) {
      auto& elements = open_.back()->get_ref<Json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *slot_ = std::move(value);
    return slot_;
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
  std::vector<Json*> open_;  // from the root to the container that is being filled
  Json* slot_ = nullptr;     // of the last key
};

/// The value that `json` spells. Raises `E`, beginning with `where`, for malformed text, invalid UTF-8, duplicate keys, numbers
/// beyond a double, and nesting deeper than `max_depth`.
template <class E>
Json parse_json(std::string_view json, std::string_view where, std::size_t max_depth) {
  const std::size_t zero = json.find('\0');  // which the parser would take for the end of the text
  require<E>(zero == std::string_view::npos, where, ": invalid JSON: a zero byte at position ", zero, ".");
  StrictJsonBuilder builder(max_depth);
  // Json::sax_parse() would do, but it compiles the readers of four binary formats too: a quarter of what loading a model costs.
  using Text = decltype(nlohmann::detail::input_adapter(json.begin(), json.end()));
  if (!nlohmann::detail::parser<Json, Text>(nlohmann::detail::input_adapter(json.begin(), json.end())).sax_parse(&builder)) {
    raise<E>(where, ": ", builder.problem);
  }
  return std::move(builder.root);
}

/// `value` as JSON text. Raises `E`, beginning with `where`, if a string in it is not UTF-8.
template <class E, class AnyJson>
std::string dump_json(const AnyJson& value, std::string_view where, int indent = -1) {
  // The dumper's own refusal would end a program without exceptions. If leaving invalid bytes out and replacing them make a
  // difference, there are some.
  std::string json = value.dump(indent, ' ', false, AnyJson::error_handler_t::ignore);
  require<E>(json == value.dump(indent, ' ', false, AnyJson::error_handler_t::replace), where, ": a text is not valid UTF-8.");
  return json;
}

}  // namespace gated::detail
