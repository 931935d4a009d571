#pragma once

#include "gated/core/compiler.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

/// @file
/// The words by which configurations name the values of an enumeration.

namespace gated {

/// The words for the values of `E` in the order of its definition, from 0 on: what a function names_of(E) returns.
template <class E, class... Words>
constexpr auto words_for(Words... words) {
  std::array<std::pair<E, std::string_view>, sizeof...(Words)> list{std::pair{E{}, std::string_view(words)}...};
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].first = static_cast<E>(i);
  }
  return list;
}

}  // namespace gated
