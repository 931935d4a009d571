#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/rotary.hpp"

/// @file
/// Rotary position embedding as a layer: its frequencies are stored by some checkpoints.

namespace gated {

/// Rotates the first r channels of queries and keys by their position (RoPE, arXiv:2104.09864).
///
/// The frequencies are base^(-2k/r) unless a checkpoint brings its own, which are then used as they are: files of lucidrains'
/// models hold them rounded to float32. Errors: ArgumentError for an odd r or a base that is not positive; ShapeError for rows
/// that the sequences do not cover, or fewer than r channels. Cost: N·r/2 sines and cosines a table.
template <class T>
struct RotaryEmbedding {
  using Scalar = T;

  Rotary layout = Rotary::none;
  Vector<T> frequencies;  ///< r/2; a constant, not trained

  RotaryEmbedding() = default;
  RotaryEmbedding(Rotary layout_, Index dimensions, double base) : layout(layout_) {
    if (layout != Rotary::none) {
      require<ArgumentError>(dimensions > 0 && dimensions % 2 == 0, "RotaryEmbedding: ", dimensions,
                             " dimensions, expected a positive even number: channels are rotated in pairs. Set "
                             "rotary_dimensions, which is all of query_key unless given.");
      require<ArgumentError>(base > 0, "RotaryEmbedding: base = ", base, ", expected a positive number.");
      frequencies = rotary_frequencies<T>(dimensions, base);
    }
  }

  static constexpr auto fields() { return std::tuple{field("frequencies", &RotaryEmbedding::frequencies, Role::constant)}; }

  /// Rotates rows of every sequence in each of `parts`, whose first row stands at position `first` of its sequence.
  template <class... Parts>
  void forward(const Sequences& sequences, Index first, Workspace<T>& workspace, Parts&... parts) const {
    turn(sequences, first, false, workspace, parts...);
  }

  /// Rotates the other way, the transpose: how the gradient of forward() at position 0 passes.
  template <class... Parts>
  void backward(const Sequences& sequences, Workspace<T>& workspace, Parts&... parts) const {
    turn(sequences, 0, true, workspace, parts...);
  }

 private:
  void expect_part(const Sequences& sequences, Index rows, Index columns) const {
    sequences.expect_total("RotaryEmbedding", rows);
    require<ShapeError>(columns >= 2 * frequencies.size(), "RotaryEmbedding: x has ", columns,
                        " columns, expected at least the ", 2 * frequencies.size(), " that are rotated.");
  }

  template <class... Parts>
  void turn(const Sequences& sequences, Index first, bool back, Workspace<T>& workspace, Parts&... parts) const {
    if (layout == Rotary::none) {
      return;
    }
    (expect_part(sequences, parts.rows(), parts.cols()), ...);
    const auto frame = workspace.frame();
    const Index longest = sequences.longest();
    MatrixMap<T> table = workspace.matrix(longest, 2 * frequencies.size());
    rotary_table<T>(frequencies, first, table);
    if (back) {
      table.rightCols(frequencies.size()) *= T{-1};  // the sines of the opposite angles
    }
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), length = sequences.length(b);
      (rotate<T>(parts.middleRows(offset, length), table.topRows(length), layout), ...);
    }
  }
};

}  // namespace gated
