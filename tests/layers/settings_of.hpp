#pragma once

#include <string>
#include <type_traits>

#include "gated/core/settings.hpp"

/// Describes a configuration as text, for the messages of failed tests.

namespace gated::test {

/// All settings of a configuration as text, including nested settings; empty if the configuration has no fields().
template <class Config>
std::string settings_of(const Config& config) {
  std::string out;
  if constexpr (gated::detail::HasSettings<Config>) {
    for_each_setting(
        [&](const char* name, const auto& value) {
          using M = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_enum_v<M>) {
            out += text(name, " = ", name_of(value), ", ");
          } else if constexpr (std::is_same_v<M, bool>) {
            out += text(value ? "" : "not ", name, ", ");
          } else if constexpr (std::is_arithmetic_v<M>) {
            out += text(name, " = ", value, ", ");
          } else if constexpr (gated::detail::HasSettings<M>) {
            out += text(name, " = {", settings_of(value), "}, ");
          }
        },
        config);
  }
  return out;
}

}  // namespace gated::test
