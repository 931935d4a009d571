#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/compiler.hpp"

/// @file
/// Parameter paths such as "blocks.3.norm.weight", and patterns such as "blocks.*.norm": a `*` matches any one component.

namespace gated {

namespace detail {

/// Removes the first component of `path` and returns it.
inline std::string_view take_component(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view component = path.substr(0, dot);
  path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  return component;
}

/// The result of matching a pattern against the beginning of a path: the component for each `*`, and the rest of the path.
struct PatternMatch {
  std::vector<std::string_view> wildcards;
  std::string_view rest;
};

inline std::optional<PatternMatch> match_pattern(std::string_view pattern, std::string_view path) {
  PatternMatch match;
  while (!pattern.empty()) {
    if (path.empty()) {
      return std::nullopt;
    }
    const std::string_view wanted = take_component(pattern), found = take_component(path);
    if (wanted == "*") {
      match.wildcards.push_back(found);
    } else if (wanted != found) {
      return std::nullopt;
    }
  }
  match.rest = path;
  return match;
}

}  // namespace detail

/// "blocks.*.norm.weight" for "blocks.3.norm.weight": replaces each numeric component by `*`. Paths that differ only in the
/// block's number share a pattern.
inline std::string pattern_of(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view component = detail::take_component(path);
    const bool is_number = std::all_of(component.begin(), component.end(), [](char c) { return c >= '0' && c <= '9'; });
    out += out.empty() ? "" : ".";
    out += !component.empty() && is_number ? "*" : component;
  }
  return out;
}

}  // namespace gated
