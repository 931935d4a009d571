#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "gated/io/config_json.hpp"
#include "gated/io/json.hpp"

/// @file
/// Reads the `config.json` of a published model.

namespace gated::detail {

/// Typed access to the fields of a config.json.
class ConfigFields {
 public:
  /// The value of a field: null, a boolean, a number or a string.
  using Scalar = std::variant<std::nullptr_t, bool, double, std::string_view>;

  ConfigFields(std::string_view json, const std::string& where)
      : ConfigFields(std::make_shared<const Json>(parse_json<ArgumentError>(json, where, 16)), where) {}
  /// The fields of the object in the field `key`.
  ConfigFields inner(const char* key) const { return {{fields_, find(key)}, text(where_, ": ", key)}; }

  static bool is(const Json& value, const Scalar& wanted) {
    if (const auto* const word = std::get_if<std::string_view>(&wanted)) {
      return value.is(*word);
    }
    if (const auto* const number = std::get_if<double>(&wanted)) {
      return value.is_number() && value.number() == *number;
    }
    const auto* const truth = std::get_if<bool>(&wanted);
    return truth == nullptr ? value.is_null() : value.is_boolean() && value.truth() == *truth;
  }

  const Json* find(const char* key) const { return fields_->find(key); }
  const Json* find_set(const char* key) const {
    const Json* const value = find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  template <class T>
  T get(const char* key, T missing) const {
    if (const Json* const value = find(key)) {
      read_json(*value, missing, key, where_);
    }
    return missing;
  }
  /// Like get(), but treats null as absent.
  template <class T>
  T get_set(const char* key, T missing) const {
    if (const Json* const value = find_set(key)) {
      read_json(*value, missing, key, where_);
    }
    return missing;
  }

  /// Raises ArgumentError if `key` is present and not one of `wanted`.
  void expect(const char* key, std::initializer_list<Scalar> wanted, const char* why) const {
    const Json* const value = find(key);
    require<ArgumentError>(
        value == nullptr || std::any_of(wanted.begin(), wanted.end(), [&](const Scalar& one) { return is(*value, one); }),
        where_, ": ", key, " = ", value == nullptr ? "" : shown_json(*value), ", ", why);
  }
  /// Raises ArgumentError if the file states a `model_type` that is not one of `models`.
  void expect_type(std::initializer_list<std::string_view> models) const {
    const Json* const value = find("model_type");
    bool found = value == nullptr;
    std::string list;
    for (const std::string_view model : models) {
      list += text(list.empty() ? "" : ", ", model);
      found = found || value->is(model);
    }
    require<ArgumentError>(found, where_, ": model_type = ", value == nullptr ? "" : shown_json(*value),
                           models.size() == 1 ? ", expected " : ", expected one of ", list, ".");
  }
  /// True if the file's entry "architectures" lists `architecture`.
  bool states(std::string_view architecture) const {
    const Json* const list = find_set("architectures");
    return list != nullptr && (list->is(architecture) ||
                               (list->is_array() && std::any_of(list->elements().begin(), list->elements().end(),
                                                                [&](const Json& name) { return name.is(architecture); })));
  }
  /// Raises ArgumentError if the file's entry "architectures" is present and lists none of `architectures`.
  void expect_architecture(std::initializer_list<std::string_view> architectures) const {
    const Json* const list = find_set("architectures");
    std::string known;
    bool found = list == nullptr;
    for (const std::string_view one : architectures) {
      known += text(known.empty() ? "" : " or ", one);
      found = found || states(one);
    }
    require<ArgumentError>(found, where_, ": architectures = ", list == nullptr ? "" : shown_json(*list), ", expected ", known,
                           ".");
  }

  const std::string& where() const { return where_; }

 private:
  ConfigFields(std::shared_ptr<const Json> fields, const std::string& where) : where_(where), fields_(std::move(fields)) {
    require<ArgumentError>(fields_->is_object(), where, " is ", shown_json(*fields_), ", expected a JSON object.");
  }

  std::string where_;
  std::shared_ptr<const Json> fields_;  // points into the whole file, which inner() shares
};

}  // namespace gated::detail
