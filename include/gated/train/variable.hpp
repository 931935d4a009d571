#pragma once

#include <atomic>
#include <cstddef>

#include "gated/core/matrix.hpp"

/// @file
/// The name of a matrix in a training step.

namespace gated {

namespace detail {

/// A number for a training step that no other step of the program has.
inline std::size_t next_step() {
  static constinit std::atomic<std::size_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace detail

/// A matrix on a Tape, named by its place there; absent by default. Valid until the tape begins anew, and refused afterwards.
struct Variable {
  Index index = -1;
  std::size_t step = 0;  ///< the step that made it

  explicit operator bool() const { return index >= 0; }
};

}  // namespace gated
