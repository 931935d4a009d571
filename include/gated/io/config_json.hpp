#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/settings.hpp"
#include "gated/io/json_writer.hpp"
#include "gated/models/image_preparation.hpp"

/// @file
/// Converts configurations to and from JSON. A configuration's fields() lists its settings (core/settings.hpp).
///
/// Numbers, booleans and strings map to themselves, an enumerator to its name, an optional to its value or null, and a nested
/// configuration to an object. Arrays and vectors become arrays; a PerChannel becomes one number or an array of three.

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

/// The path of the setting `name` in the object at path `key`: "trunk.depth".
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
    require<ArgumentError>(!name_of(value).empty(), "to_json: ", key, ": the enumeration has no name for this value.");
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

/// Raises ArgumentError with a message such as "depth is 1.5, expected a whole number."
[[noreturn]] void refuse_json(const Json& json, const std::string& key, const std::string& where, std::string_view expected);

/// A setting to read: its name, destination and reader.
struct SettingToRead {
  std::string_view name;
  void* value;
  void (*read)(const Json& json, void* value, const std::string& key, const std::string& where);
};

/// Reads the object `json`. Raises ArgumentError for keys not in `settings`.
void read_object(const Json& json, std::span<const SettingToRead> settings, const std::string& key, const std::string& where);
/// The index of the string `json` in `words`.
std::size_t read_word(const Json& json, std::span<const std::string_view> words, const std::string& key,
                      const std::string& where);
/// Reads an integer in the range `least` … `most`. Expects `least` ≤ 0.
std::int64_t read_whole(const Json& json, std::int64_t least, std::uint64_t most, const std::string& key,
                        const std::string& where);
/// The elements of an array. If `count` ≥ 0, there must be exactly `count` of them.
const Json::Array& read_array(const Json& json, std::ptrdiff_t count, const std::string& key, const std::string& where);

void read_json(const Json& json, bool& out, const std::string& key, const std::string& where);
void read_json(const Json& json, double& out, const std::string& key, const std::string& where);
void read_json(const Json& json, std::string& out, const std::string& key, const std::string& where);
void read_json(const Json& json, PerChannel& out, const std::string& key, const std::string& where);

template <class T>
void read_json(const Json& json, T& out, const std::string& key, const std::string& where) {
  if constexpr (HasSettings<T>) {
    T::fields().pass_to([&]<class... Members>(const Setting<T, Members>&... setting) {
      const SettingToRead settings[] = {{setting.name, &(out.*(setting.member)),
                                         [](const Json& value, void* member, const std::string& of, const std::string& at) {
                                           read_json(value, *static_cast<Members*>(member), of, at);
                                         }}...};
      read_object(json, settings, key, where);
    });
  } else if constexpr (NamedEnum<T>) {
    out = names_of(T{})[read_word(json, words_of<T>, key, where)].first;
  } else if constexpr (IsOptionalValue<T>::value) {
    if (json.is_null()) {
      out.reset();
    } else {
      read_json(json, out.emplace(), key, where);
    }
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    const Json::Array& elements = read_array(json, IsArray<T>::value ? std::ssize(out) : -1, key, where);
    if constexpr (IsVector<T>::value) {
      out.resize(elements.size());
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      read_json(elements[i], out[i], text(key, "[", i, "]"), where);
    }
  } else {
    static_assert(std::integral<T>, "unsupported setting type: use a type that setting() documents");
    using Limits = std::numeric_limits<T>;
    out = static_cast<T>(read_whole(json, Limits::min(), Limits::max(), key, where));
  }
}

}  // namespace detail

/// Writes the settings of `config` as JSON in the order of fields(): indented by `indent` spaces, or on one line if negative.
/// Errors: ArgumentError for non-finite numbers, strings that are not UTF-8, and enum values that names_of() does not list.
template <detail::HasSettings Config>
std::string to_json(const Config& config, int indent = -1) {
  detail::JsonWriter json(indent);
  detail::write_json(json, config, "");
  return json.finish<ArgumentError>("to_json");
}

/// Parses a configuration; settings missing from `json` keep their defaults. Error messages begin with `where`.
/// Errors: ArgumentError, whose message names the key, for malformed JSON, unknown and duplicate keys, values of the wrong
/// type, fractions for integers, and unknown enumerator names.
template <detail::HasSettings Config>
Config from_json(std::string_view json, const std::string& where = "from_json") {
  Config config{};
  detail::read_json(detail::parse_json<ArgumentError>(json, where, 64), config, "", where);
  return config;
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/config_json.inl"
#endif
