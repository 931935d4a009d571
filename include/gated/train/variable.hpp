#pragma once

#include <atomic>
#include <cstddef>

#include "gated/core/matrix.hpp"

/// @file
/// Handles to matrices on a Tape.

namespace gated {

namespace detail {

/// A step number, unique in the program.
inline std::size_t next_step() {
  static constinit std::atomic<std::size_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace detail

/// A handle to a matrix on a Tape; empty by default. Valid until the next begin(), and refused afterwards.
struct Variable {
  Index index = -1;
  std::size_t step = 0;  ///< the step that created the variable

  explicit operator bool() const { return index >= 0; }
};

}  // namespace gated
