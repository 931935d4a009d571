#pragma once

#include <algorithm>

#include "gated/core/inference.hpp"
#include "gated/core/matrix_view.hpp"
#include "gated/core/sequences.hpp"
#include "gated/ops/kernel_table.hpp"

/// @file
/// Tiles of convolutions over the tokens of ragged sequences.

namespace gated::detail {

/// The taps of a convolution over tokens. Tap k of token t reads token t + (k - own) · dilation.
struct ConvolutionTaps {
  Index count = 0;     ///< K
  Index dilation = 1;  ///< tokens from one tap to the next
  Index own = 0;       ///< the tap that reads the token itself

  /// How many tokens back the first tap reads.
  Index before() const { return own * dilation; }
  /// How many tokens ahead the last tap reads.
  Index after() const { return (count - 1 - own) * dilation; }
  /// The taps of the backward pass: token t gathers from the tokens that read it in the forward pass.
  ConvolutionTaps reversed() const { return {count, dilation, count - 1 - own}; }
};

/// The tap that reads the token itself: the last one if causal, otherwise the middle one.
inline Index own_tap_of(Index kernel, bool causal) { return causal ? kernel - 1 : kernel / 2; }

/// Raises ArgumentError for a kernel without taps, or with an even number of taps unless it is causal.
inline void expect_kernel(Where where, Index kernel, bool causal) {
  require<ArgumentError>(kernel > 0 && (causal || kernel % 2 == 1), where, ": kernel = ", kernel,
                         ", expected an odd number of taps, or causal = true.");
}

/// Rows of a convolution that use the same taps.
struct ConvolutionTile {
  Index row, rows;         ///< the rows `row` … `row` + `rows` - 1
  Index first, tap_count;  ///< the taps that read inside the sequence: `first` … `first` + `tap_count` - 1

  /// The row of x that tap `first` of the tile's first row reads. x begins with the `known` rows that the stream remembers.
  Index from(const ConvolutionTaps& taps, Index known) const { return row + known - taps.before() + first * taps.dilation; }
};

/// Calls `f(tile)` for the rows `first` … `first` + `rows` - 1 of a batch, in order. A stream remembers `known` earlier tokens.
template <class F>
void for_each_convolution_tile(const ConvolutionTaps& taps, const Sequences& sequences, Index known, Index first, Index rows,
                               const F& f) {
  const Index more = depthwise_tile_rows - 1, end = first + rows;
  Index b = sequences.first_from(first + 1) - 1;
  for (Index row = first; row < end;) {
    while (row >= sequences.offset(b) + sequences.length(b)) {
      ++b;
    }
    const Index token = row - sequences.offset(b), later = sequences.length(b) - 1 - token;
    const Index missing = std::max<Index>(taps.before() - token - known, 0);
    ConvolutionTile tile{row, depthwise_tile_rows, 0, taps.count};
    if (missing > 0 || later < more + taps.after() || row + more >= end) {
      tile.rows = 1;
      tile.first = (missing + taps.dilation - 1) / taps.dilation;
      tile.tap_count = std::min((later + taps.before()) / taps.dilation + 1, taps.count) - tile.first;
    }
    f(tile);
    row += tile.rows;
  }
}

/// Returns x, preceded by the rows (at most `span`) that a stream remembers. The stream then remembers the last `span` rows.
template <class Run, class T = typename Run::Scalar>
MatrixView<const T> with_rows_before(Run& run, const MatrixOf<Run>& x, Index span) {
  Matrix<T>& last = run.remember(span, x.columns(), Run::Memory::sums);
  const Index known = std::min(span, run.position()), kept = std::min(span, known + x.rows());
  const MatrixView<T> all = run.make(span + x.rows(), x.columns());  // room for `span` rows even at the start of a stream
  const MatrixView<T> rows = all.rows(span - known, known + x.rows());
  rows.rows(0, known).assign(MatrixView<T>(last).rows(span - known, known));
  rows.rows(known, x.rows()).assign(x);
  MatrixView<T>(last).rows(span - kept, kept).assign(rows.rows(known + x.rows() - kept, kept));
  return rows;
}

}  // namespace gated::detail
