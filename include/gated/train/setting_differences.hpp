#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/core/settings.hpp"

/// @file
/// Differences between two configurations.

namespace gated {

/// A setting whose value differs between two configurations.
struct SettingDifference {
  std::string name;           ///< for example "trunk.depth" or "groups[0].path"
  std::string first, second;  ///< the two values, as text
};

namespace detail {

template <class T>
std::string shown_setting(const T& value) {
  if constexpr (HasSettings<T>) {
    std::string list;
    for_each_setting([&](const char* name,
                         const auto& member) { list += text(list.empty() ? "" : ", ", name, ": ", shown_setting(member)); },
                     value);
    return text("{", list, "}");
  } else if constexpr (NamedEnum<T>) {
    return std::string(name_of(value));
  } else if constexpr (IsOptional<const T>) {
    return value.has_value() ? shown_setting(*value) : "none";
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return text(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text("\"", value, "\"");
  } else {  // a list
    std::string list;
    for (const auto& element : value) {
      list += text(list.empty() ? "" : ", ", shown_setting(element));
    }
    return text("[", list, "]");
  }
}

template <class T>
void compare_settings(const std::string& name, const T& a, const T& b, std::vector<SettingDifference>& differences) {
  if constexpr (HasSettings<T>) {
    T::fields().pass_to([&](const auto&... setting) {
      (compare_settings(name.empty() ? setting.name : text(name, ".", setting.name), a.*(setting.member), b.*(setting.member),
                        differences),
       ...);
    });
  } else if constexpr (requires { a.size(); } && !std::is_same_v<T, std::string>) {  // a vector or an array
    if (a.size() == b.size()) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        compare_settings<typename T::value_type>(text(name, "[", i, "]"), a[i], b[i], differences);
      }
    } else {
      differences.push_back({name, shown_setting(a), shown_setting(b)});
    }
  } else if (shown_setting(a) != shown_setting(b)) {  // numbers are shown with all significant digits
    differences.push_back({name, shown_setting(a), shown_setting(b)});
  }
}

}  // namespace detail

/// Settings in which `a` and `b` differ, in the order of fields(). Compares nested configurations by setting, and lists of
/// equal size by element.
template <detail::HasSettings Config>
std::vector<SettingDifference> setting_differences(const Config& a, const Config& b) {
  std::vector<SettingDifference> differences;
  detail::compare_settings("", a, b, differences);
  return differences;
}

}  // namespace gated
