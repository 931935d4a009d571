#pragma once

#include "gated/core/compiler.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

/// @file
/// Names of enumeration values in configurations.

namespace gated {

/// Pairs the values 0, 1, … of `E` with `words`, their names in configurations. Each names_of(E) returns such pairs.
template <class E, class... Words>
constexpr auto words_for(Words... words) {
  std::array<std::pair<E, std::string_view>, sizeof...(Words)> list{std::pair{E{}, std::string_view(words)}...};
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].first = static_cast<E>(i);
  }
  return list;
}

}  // namespace gated
