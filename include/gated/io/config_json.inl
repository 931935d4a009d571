#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "gated/io/config_json.hpp"
#include "gated/io/nearest_name.hpp"

namespace gated::detail {

GATED_INLINE void refuse_json(const Json& json, const std::string& key, const std::string& where, std::string_view expected) {
  raise<ArgumentError>(where, ": ", key.empty() ? "the configuration" : key, " is ", shown_json(json), ", expected ", expected,
                       ".");
}

GATED_INLINE void read_object(const Json& json, std::span<const SettingToRead> settings, const std::string& key,
                              const std::string& where) {
  if (!json.is_object()) {
    refuse_json(json, key, where, "an object");
  }
  std::vector<std::string_view> known;
  for (const SettingToRead& setting : settings) {
    known.push_back(setting.name);
  }
  for (const auto& [name, ignored] : json.entries()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      raise<ArgumentError>(where, ": unknown key \"", printable(key_of_setting(key, name)), "\"; the nearest is \"",
                           nearest_name(name, known), "\".");
    }
  }
  for (const SettingToRead& setting : settings) {
    if (const Json* const found = json.find(setting.name)) {
      setting.read(*found, setting.value, key_of_setting(key, setting.name), where);
    }
  }
}

GATED_INLINE std::size_t read_word(const Json& json, std::span<const std::string_view> words, const std::string& key,
                                   const std::string& where) {
  const auto found = std::find_if(words.begin(), words.end(), [&](std::string_view word) { return json.is(word); });
  if (found == words.end()) {
    refuse_json(json, key, where, "one of " + list_of_words(words));
  }
  return static_cast<std::size_t>(found - words.begin());
}

GATED_INLINE std::int64_t read_whole(const Json& json, std::int64_t least, std::uint64_t most, const std::string& key,
                                     const std::string& where) {
  if (!json.is_integer()) {
    refuse_json(json, key, where, "a whole number");
  }
  const bool fits = json.is_whole()
                        ? json.whole() <= most
                        : json.integer() >= least && (json.integer() < 0 || static_cast<std::uint64_t>(json.integer()) <= most);
  if (!fits) {
    refuse_json(json, key, where, text("a number from ", least, " to ", most));
  }
  return json.integer();
}

GATED_INLINE const Json::Array& read_array(const Json& json, std::ptrdiff_t count, const std::string& key,
                                           const std::string& where) {
  if (!json.is_array()) {
    refuse_json(json, key, where, "an array");
  }
  if (count >= 0 && std::ssize(json.elements()) != count) {
    refuse_json(json, key, where, text("an array of ", count, " elements"));
  }
  return json.elements();
}

GATED_INLINE void read_json(const Json& json, bool& out, const std::string& key, const std::string& where) {
  if (!json.is_boolean()) {
    refuse_json(json, key, where, "true or false");
  }
  out = json.truth();
}

GATED_INLINE void read_json(const Json& json, double& out, const std::string& key, const std::string& where) {
  if (!json.is_number() || !std::isfinite(json.number())) {
    refuse_json(json, key, where, "a number");
  }
  out = json.number();
}

GATED_INLINE void read_json(const Json& json, std::string& out, const std::string& key, const std::string& where) {
  if (!json.is_string()) {
    refuse_json(json, key, where, "a string");
  }
  out = json.text();
}

GATED_INLINE void read_json(const Json& json, PerChannel& out, const std::string& key, const std::string& where) {
  std::array<double, 3> values{};
  if (json.is_array()) {
    read_json(json, values, key, where);
  } else {
    read_json(json, values[0], key, where);
    values.fill(values[0]);
  }
  out = {values[0], values[1], values[2]};
}

}  // namespace gated::detail
