#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gated/core/length_table.hpp"
#include "gated/ops/kernel_calls.hpp"

/// @file
/// FFT engine of ops/fourier.hpp and ops/toeplitz.hpp: transforms many columns at once, in place.
///
/// Transforms run along rows (tokens). A row of scratch is one vector of real and one of imaginary parts: every butterfly uses
/// whole vectors, whatever the radix, without shuffles. Forward passes decimate in frequency, from one block of all rows down
/// to blocks of one row, and leave bin `order[p]` in row p. Inverse passes decimate in time: they take rows in that order and
/// leave them in natural order, so a convolution needs no permutation. A block that fits the L1 cache finishes its remaining
/// passes before the next block starts.

namespace gated::detail::fourier {

template <class T>
using Factor = FourierFactor<T>;

/// The number of values in a row of scratch.
template <class T>
Index row_size() {
  return 2 * vector_width<T>();
}

/// The number of real columns that are transformed together: a SIMD vector of columns forms the real parts, and a second one
/// the imaginary parts. In portable arithmetic there is no second one, because the rounding of paired columns would depend on
/// the vector width.
template <class T>
Index transform_columns() {
  return arithmetic() == Arithmetic::portable ? vector_width<T>() : row_size<T>();
}

/// Calls `f(radix, block)` for the passes of a transform of `length` rows, in forward order. A pass splits blocks of `block`
/// rows into `radix` parts. Odd radices come first, in descending order, then 4 and 2.
template <class F>
void for_each_pass(Index length, const F& f) {
  for (Index block = length; block > 1;) {
    for (const Index radix : {7, 5, 3, 4, 2}) {
      if (block % radix == 0) {
        f(radix, block);
        block /= radix;
        break;
      }
    }
  }
}

/// Calls `f(factor)` for the `roots` of a pass, then for its `turns` (twiddle factors): see fourier_pass(). Returns the number
/// of roots.
template <class T, class F>
std::size_t for_each_factor(Index radix, Index block, const F& f) {
  const Index m = block / radix, roots = radix % 2 != 0 ? radix : 0;
  for (Index k = 0; k < roots; ++k) {
    f(Factor<T>::turn(k, radix));
  }
  for (Index j = 0; m > 1 && j < m; ++j) {
    for (Index q = 1; q < radix; ++q) {
      f(Factor<T>::turn(j * q, block));
    }
  }
  return static_cast<std::size_t>(roots);
}

/// Sets order[p] to the bin that a forward transform of `length` rows leaves in row p.
inline void set_order(Index length, Index* order) {
  std::fill_n(order, length, Index{0});
  Index blocks = 1;  // number of blocks after the passes so far; `order` is set for the first row of each
  for_each_pass(length, [&](Index radix, Index block) {
    const Index m = block / radix;
    for (Index b = 0; b < blocks; ++b) {
      for (Index q = 0; q < radix; ++q) {
        order[b * block + q * m] = order[b * block] + q * blocks;
      }
    }
    blocks *= radix;
  });
}

/// The passes of a transform of `length` rows; `length` has no prime factor above 7.
template <class T>
class Passes {
 public:
  /// True if `length` has no prime factor above 7.
  static bool serve(Index length) {
    for (const Index radix : {2, 3, 5, 7}) {
      while (length > 1 && length % radix == 0) {
        length /= radix;
      }
    }
    return length == 1;
  }
  /// The smallest length ≥ `length` that is a power of two, or 3 or 5 times a power of two.
  static Index next(Index length) {
    Index best = 1;
    while (best < length) {
      best *= 2;
    }
    for (const Index odd : {3, 5}) {
      Index n = odd;
      while (n < length) {
        n *= 2;
      }
      best = std::min(best, n);
    }
    return best;
  }

  explicit Passes(Index length) : length_(length), order_(static_cast<std::size_t>(length)) {
    for_each_pass(length, [this](Index radix, Index block) { add(radix, block); });
    set_order(length, order_.data());
    divide(0, 0);
  }

  Index length() const { return length_; }
  /// The bin that forward() leaves in each row.
  const std::vector<Index>& order() const { return order_; }

  /// The number of pieces, of similar size, into which a transform is split. Run pieces 0, 1, … in this order.
  Index pieces() const { return static_cast<Index>(pieces_.size()); }
  void forward(Index piece, T* x) const { run(false, pieces_[at(piece)], x); }
  void inverse(Index piece, T* x) const { run(true, pieces_[at(pieces() - 1 - piece)], x); }

  void forward(T* x) const {
    for (Index k = 0; k < pieces(); ++k) {
      forward(k, x);
    }
  }
  /// The inverse transform, without the factor 1/length.
  void inverse(T* x) const {
    for (Index k = 0; k < pieces(); ++k) {
      inverse(k, x);
    }
  }

 private:
  struct Pass {
    Index radix, m;
    std::size_t roots, turns;  // offsets in factors_
  };

  /// Either all remaining passes of a block of rows that fits the cache, or part of one pass: `count` rows in each of the
  /// block's `radix` parts.
  struct Piece {
    std::size_t first, last;
    Index row, from, count;
  };
  static constexpr Index piece_rows = 512;

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  static Index cached_rows() { return (Index{1} << 15) / (row_size<T>() * static_cast<Index>(sizeof(T))); }

  void add(Index radix, Index block) {
    const std::size_t first = factors_.size();
    const std::size_t roots = for_each_factor<T>(radix, block, [this](const Factor<T>& factor) { factors_.push_back(factor); });
    passes_.push_back({radix, block / radix, first, first + roots});
  }

  Index block_rows(std::size_t level) const { return passes_[level].radix * passes_[level].m; }

  /// Adds the pieces of the block at `row` from pass `level` on. Inverse transforms run them in reverse.
  void divide(std::size_t level, Index row) {
    if (level == passes_.size()) {
      return;
    }
    const Pass& p = passes_[level];
    if (block_rows(level) <= cached_rows()) {
      pieces_.push_back({level, passes_.size(), row, 0, p.m});
      return;
    }
    const Index most = std::max<Index>(piece_rows / p.radix, 1);
    for (Index j = 0; j < p.m; j += most) {
      pieces_.push_back({level, level + 1, row, j, std::min(most, p.m - j)});
    }
    for (Index q = 0; q < p.radix; ++q) {
      divide(level + 1, row + q * p.m);
    }
  }

  void run(bool inverse, const Piece& piece, T* x) const {
    for (std::size_t k = piece.first; k < piece.last; ++k) {
      const std::size_t level = inverse ? piece.first + piece.last - 1 - k : k;
      const Pass& p = passes_[level];
      const Index groups = block_rows(piece.first) / block_rows(level);
      kernels<FourierKernels<T>>().fourier_pass(
          p.radix, x + (piece.row + piece.from) * row_size<T>(), groups, p.m, level == piece.first ? piece.count : p.m, inverse,
          factors_.data() + p.roots, factors_.data() + p.turns + static_cast<std::size_t>(piece.from * (p.radix - 1)));
    }
  }

  Index length_;
  std::vector<Pass> passes_;  // in forward order
  std::vector<Factor<T>> factors_;
  std::vector<Index> order_;
  std::vector<Piece> pieces_;
};

/// Up to two vectors of real columns: `left` as the real parts and `right` as the imaginary parts of complex columns.
template <class T>
struct Pair {
  MatrixView<T> left, right;
};
template <class T>
Pair<T> pair(const MatrixView<T>& rows) {
  const Index width = vector_width<std::remove_const_t<T>>();
  return {rows.columns(0, std::min(width, rows.columns())),
          rows.columns() > width ? rows.columns(width, rows.columns() - width) : MatrixView<T>()};
}

/// Writes pair(rows) to the scratch x. Scales each row if `scales` is given.
template <class T>
void load_pair(const MatrixView<const T>& rows, const T* scales, T* x) {
  const auto [left, right] = pair(rows);
  kernels<FourierKernels<T>>().fourier_load(left, right, scales, x);
}

}  // namespace gated::detail::fourier
