#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/settings.hpp"
#include "gated/io/json.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/models/image_preparation.hpp"

/// @file
/// Configurations to and from JSON. What a configuration lists in fields() (core/settings.hpp) is all there is to say.
///
/// Numbers, truth values and texts are JSON's own; an enumeration is its word; an optional is null or its value; a nested
/// configuration is an object; arrays and vectors are arrays; a number for each channel is one number, or three.

namespace gated {

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t n>
struct IsArray<std::array<T, n>> : std::true_type {};
template <class T>
struct IsOptionalValue : std::false_type {};
template <class T>
struct IsOptionalValue<std::optional<T>> : std::true_type {};

/// "trunk.depth": the setting `name` in what is called `key`.
inline std::string key_of_setting(const std::string& key, std::string_view name) {
  return key.empty() ? std::string(name) : text(key, ".", name);
}

template <class T>
void write_json(JsonWriter& json, const T& value, const std::string& key) {
  if constexpr (HasSettings<T>) {
    json.begin_object();
    for_each_setting(
        [&](const char* name, const auto& member) {
          json.key(name);
          write_json(json, member, key_of_setting(key, name));
        },
        value);
    json.end_object();
  } else if constexpr (NamedEnum<T>) {
    require<ArgumentError>(!name_of(value).empty(), "to_json: ", key, ": the enumeration has no word for this value.");
    json.string(name_of(value));
  } else if constexpr (std::same_as<T, PerChannel>) {
    value.is_uniform() ? write_json(json, value[0], key) : write_json(json, std::array{value[0], value[1], value[2]}, key);
  } else if constexpr (IsOptionalValue<T>::value) {
    value ? write_json(json, *value, key) : json.null();
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    json.begin_array();
    for (const auto& element : value) {
      write_json(json, element, key);
    }
    json.end_array();
  } else if constexpr (std::same_as<T, bool>) {
    json.boolean(value);
  } else if constexpr (std::signed_integral<T>) {
    json.integer(value);
  } else if constexpr (std::unsigned_integral<T>) {
    json.whole(value);
  } else if constexpr (std::floating_point<T>) {
    require<ArgumentError>(std::isfinite(value), "to_json: ", key, " is ", value, ", which JSON cannot express.");
    json.real(value);
  } else {
    json.string(value);
  }
}

/// Raises ArgumentError unless `condition` holds: "depth is 1.5, expected a whole number".
inline void expect_json(bool condition, const Json& json, const std::string& key, const std::string& where,
                        std::string_view expected) {
  if (!condition) {
    raise<ArgumentError>(where, ": ", key.empty() ? "the configuration" : key, " is ", shown_json(json), ", expected ",
                         expected, ".");
  }
}

/// Raises ArgumentError for an entry of the object `json` that is none of the settings `known`.
inline void expect_known_keys(const Json& json, const std::vector<std::string_view>& known, const std::string& key,
                              const std::string& where) {
  for (const auto& [name, ignored] : json.entries()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      raise<ArgumentError>(where, ": unknown key \"", printable(key_of_setting(key, name)), "\"; the nearest is \"",
                           nearest_name(name, known), "\".");
    }
  }
}

template <class T>
void read_json(const Json& json, T& out, const std::string& key, const std::string& where);

template <class Config>
void read_settings(const Json& json, Config& config, const std::string& key, const std::string& where) {
  std::vector<std::string_view> known;
  for_each_setting([&](const char* name, const auto&) { known.push_back(name); }, config);
  expect_known_keys(json, known, key, where);
  for_each_setting(
      [&](const char* name, auto& member) {
        if (const Json* const found = json.find(name)) {
          read_json(*found, member, key_of_setting(key, name), where);
        }
      },
      config);
}

template <class T>
void read_json(const Json& json, T& out, const std::string& key, const std::string& where) {
  const auto expect = [&](bool condition, std::string_view expected) { expect_json(condition, json, key, where, expected); };
  if constexpr (HasSettings<T>) {
    expect(json.is_object(), "an object");
    read_settings(json, out, key, where);
  } else if constexpr (NamedEnum<T>) {
    const auto value = json.is_string() ? value_named<T>(json.text()) : std::nullopt;
    if (!value) {
      expect(false, "one of " + list_of_names<T>());
    }
    out = *value;
  } else if constexpr (std::same_as<T, PerChannel>) {
    std::array<double, 3> values{};
    if (json.is_array()) {
      read_json(json, values, key, where);
    } else {
      read_json(json, values[0], key, where);
      values.fill(values[0]);
    }
    out = {values[0], values[1], values[2]};
  } else if constexpr (IsOptionalValue<T>::value) {
    if (json.is_null()) {
      out.reset();
    } else {
      read_json(json, out.emplace(), key, where);
    }
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    expect(json.is_array(), "an array");
    if constexpr (IsArray<T>::value) {
      expect(json.elements().size() == out.size(), text("an array of ", out.size()));
    } else {
      out.resize(json.elements().size());
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      read_json(json.elements()[i], out[i], text(key, "[", i, "]"), where);
    }
  } else if constexpr (std::same_as<T, bool>) {
    expect(json.is_boolean(), "true or false");
    out = json.truth();
  } else if constexpr (std::integral<T>) {
    expect(json.is_integer(), "a whole number");
    const bool fits = json.is_whole() ? std::in_range<T>(json.whole()) : std::in_range<T>(json.integer());
    if (!fits) {
      expect(false, text("a number from ", std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max()));
    }
    out = static_cast<T>(json.integer());
  } else if constexpr (std::floating_point<T>) {
    expect(json.is_number() && std::isfinite(static_cast<T>(json.number())), "a number");
    out = static_cast<T>(json.number());
  } else {
    static_assert(std::same_as<T, std::string>, "a setting's type is one of those that setting() names");
    expect(json.is_string(), "a string");
    out = json.text();
  }
}

}  // namespace detail

/// `config` as JSON text, its settings in the order of fields(); on one line, or indented by `indent` spaces.
/// Errors: ArgumentError for numbers that are not finite, texts that are not UTF-8, and enumeration values without a word.
template <detail::HasSettings Config>
std::string to_json(const Config& config, int indent = -1) {
  detail::JsonWriter json(indent);
  detail::write_json(json, config, "");
  return json.finish<ArgumentError>("to_json");
}

/// The configuration that `json` describes; settings that it does not mention keep their defaults. `where` begins messages.
/// Errors: ArgumentError, naming the key, for malformed text, unknown keys, duplicate keys, values of another type, fractions
/// where whole numbers belong, and unknown words.
template <detail::HasSettings Config>
Config from_json(std::string_view json, const std::string& where = "from_json") {
  Config config{};
  detail::read_json(detail::parse_json<ArgumentError>(json, where, 64), config, "", where);
  return config;
}

}  // namespace gated
