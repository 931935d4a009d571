#pragma once

#include "gated/core/compiler.hpp"

#include <array>
#include <string_view>

/// @file
/// Architecture names of composed models, as stored in files.

namespace gated::detail {

/// "gated.MixerBlock<gated.TokenMlp,gated.FeedForward>", concatenated at compile time.
template <const char* const& outer, const char* const&... inner>
inline constexpr auto joined_name = [] {
  constexpr std::string_view before = outer;
  std::array<char, before.size() + (std::string_view(inner).size() + ...) + sizeof...(inner) + 2> joined{};
  std::size_t end = 0;
  const auto append = [&](std::string_view part) {
    for (const char c : part) {
      joined[end++] = c;
    }
  };
  append(before);
  append("<");
  std::size_t index = 0;
  ((append(index++ == 0 ? "" : ","), append(inner)), ...);
  append(">");
  return joined;
}();

}  // namespace gated::detail
