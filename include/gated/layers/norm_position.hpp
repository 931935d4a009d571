#pragma once

#include <array>
#include <string_view>
#include <utility>

/// @file
/// Pre-norm and post-norm.

namespace gated {

/// Where a block normalises.
enum class NormPosition {
  pre,  ///< y = x + branch(norm(x)): gMLP, FLASH
  post  ///< y = norm(x + branch(x)): GAU-α, keyword spotting's KW-MLP
};

constexpr auto names_of(NormPosition) {
  return std::array{std::pair{NormPosition::pre, std::string_view("pre")},
                    std::pair{NormPosition::post, std::string_view("post")}};
}

}  // namespace gated
