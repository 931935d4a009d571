#pragma once

#include <array>
#include <utility>

#include "gated/core/fields.hpp"
#include "gated/core/run.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/rotary.hpp"

/// @file
/// Rotary position embedding with stored frequencies.

namespace gated {

/// Rotates the first r channels of queries and keys by their position (RoPE, arXiv:2104.09864).
///
/// The frequencies are base^(-2k/r), unless a checkpoint has its own: lucidrains' packages store them, rounded to float32.
/// Errors: ArgumentError if r is odd or the base is not positive; ShapeError for rows outside the sequences, or fewer than r
/// channels.
/// Cost: N·r/2 sines and cosines, and one pass over each rotated matrix.
template <class T>
struct RotaryEmbedding {
  static constexpr const char* name = "RotaryEmbedding";

  Rotary layout = Rotary::none;
  Vector<T> frequencies;  ///< r/2 constants, not trained

  RotaryEmbedding() = default;
  RotaryEmbedding(Rotary layout_, Index dimensions, double base) : layout(layout_) {
    if (layout != Rotary::none) {
      require<ArgumentError>(dimensions > 0 && dimensions % 2 == 0, "RotaryEmbedding: ", dimensions,
                             " dimensions, expected a positive even number: channels are rotated in pairs. Set "
                             "rotary_dimensions to an even number.");
      require<ArgumentError>(base > 0, "RotaryEmbedding: base = ", base, ", expected a positive number.");
      frequencies = rotary_frequencies<T>(dimensions, base);
    }
  }

  static constexpr auto fields() { return Fields(field("frequencies", &RotaryEmbedding::frequencies, Role::constant)); }

  /// Returns `parts` with each row rotated by its position. Parts that are moved in are rotated in place, except in a
  /// recording run.
  template <class Run, class... Parts>
  std::array<MatrixOf<Run>, sizeof...(Parts)> rotate(Run& run, Parts... parts) const {
    return rotate_heads(run, 0, std::move(parts)...);
  }
  /// rotate() for several heads per row, each `width` columns wide.
  template <class Run, class... Parts>
  std::array<MatrixOf<Run>, sizeof...(Parts)> rotate_heads(Run& run, Index width, Parts... parts) const {
    return gated::rotate_heads(run, layout, frequencies, width,
                               std::array<MatrixOf<Run>, sizeof...(Parts)>{std::move(parts)...});
  }
};

}  // namespace gated
