#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/settings.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/strict_json.hpp"
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

template <class T>
nlohmann::ordered_json json_of(const T& value, const std::string& key) {
  using OrderedJson = nlohmann::ordered_json;
  if constexpr (HasSettings<T>) {
    OrderedJson object = OrderedJson::object();
    for_each_setting(
        [&](const char* name, const auto& member) { object[name] = json_of(member, key.empty() ? name : key + "." + name); },
        value);
    return object;
  } else if constexpr (NamedEnum<T>) {
    require<ArgumentError>(!name_of(value).empty(), "to_json: ", key, ": the enumeration has no word for this value.");
    return std::string(name_of(value));
  } else if constexpr (std::same_as<T, PerChannel>) {
    return value.is_uniform() ? json_of(value[0], key) : json_of(std::array{value[0], value[1], value[2]}, key);
  } else if constexpr (IsOptionalValue<T>::value) {
    return value ? json_of(*value, key) : OrderedJson(nullptr);
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    OrderedJson array = OrderedJson::array();
    for (const auto& element : value) {
      array.push_back(json_of(element, key));
    }
    return array;
  } else {
    if constexpr (std::floating_point<T>) {
      require<ArgumentError>(std::isfinite(value), "to_json: ", key, " is ", value, ", which JSON cannot express.");
    }
    return value;
  }
}

/// A JSON value for a message.
inline std::string shown_json(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

template <class T>
void read_json(const Json& json, T& out, const std::string& key, const std::string& where);

template <class Config>
void read_settings(const Json& json, Config& config, const std::string& key, const std::string& where) {
  std::vector<std::string_view> known;
  for_each_setting([&](const char* name, const auto&) { known.push_back(name); }, config);
  for (const auto& [name, ignored] : json.get_ref<const Json::object_t&>()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      raise<ArgumentError>(where, ": unknown key \"", printable(key.empty() ? name : key + "." + name), "\"; the nearest is \"",
                           nearest_name(name, known), "\".");
    }
  }
  for_each_setting(
      [&](const char* name, auto& member) {
        if (const auto found = json.find(name); found != json.end()) {
          read_json(*found, member, key.empty() ? name : key + "." + name, where);
        }
      },
      config);
}

template <class T>
void read_json(const Json& json, T& out, const std::string& key, const std::string& where) {
  const auto expect = [&](bool condition, const std::string& expected) {
    if (!condition) {
      raise<ArgumentError>(where, ": ", key.empty() ? "the configuration" : key, " is ", shown_json(json), ", expected ",
                           expected, ".");
    }
  };
  if constexpr (HasSettings<T>) {
    expect(json.is_object(), "an object");
    read_settings(json, out, key, where);
  } else if constexpr (NamedEnum<T>) {
    const auto value = json.is_string() ? value_named<T>(json.get_ref<const std::string&>()) : std::nullopt;
    expect(value.has_value(), "one of " + list_of_names<T>());
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
      expect(json.size() == out.size(), text("an array of ", out.size()));
    } else {
      out.resize(json.size());
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      read_json(json[i], out[i], text(key, "[", i, "]"), where);
    }
  } else if constexpr (std::same_as<T, bool>) {
    expect(json.is_boolean(), "true or false");
    out = json.get<bool>();
  } else if constexpr (std::integral<T>) {
    expect(json.is_number_integer(), "a whole number");
    const bool fits =
        json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>()) : std::in_range<T>(json.get<std::int64_t>());
    expect(fits, text("a number from ", std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max()));
    out = json.get<T>();
  } else if constexpr (std::floating_point<T>) {
    expect(json.is_number() && std::isfinite(json.get<T>()), "a number");
    out = json.get<T>();
  } else {
    static_assert(std::same_as<T, std::string>, "a setting's type is one of those that setting() names");
    expect(json.is_string(), "a string");
    out = json.get_ref<const std::string&>();
  }
}

}  // namespace detail

/// `config` as JSON text, its settings in the order of fields(); on one line, or indented by `indent` spaces.
/// Errors: ArgumentError for numbers that are not finite, texts that are not UTF-8, and enumeration values without a word.
template <detail::HasSettings Config>
std::string to_json(const Config& config, int indent = -1) {
  return detail::dump_json<ArgumentError>(detail::json_of(config, ""), "to_json", indent);
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
