#pragma once

#include <algorithm>
#include <limits>

#include "gated/ops/spatial_squares.hpp"

/// @file
/// Toeplitz spatial weights on streams: long convolutions by FFT; with prepared weights, no step is slow.
///
/// The tiles of ops/spatial_fourier.hpp do not suit a stream: token i + 1 needs the tile that ends with token i, so some steps
/// would have to compute a whole large tile. Here, tokens are split into blocks of each size U = B, 2B, 4B, … Block m reads no
/// neighbouring blocks, only block m - 2 and, if m is odd, also block m - 3. Smaller blocks cover closer pairs of tokens. A
/// matmul covers the pairs within a block of B tokens and between two neighbouring ones. So each pair j ≤ i is covered once.
///
/// All inputs of block m are known when block m - 1 begins, so the work for block m is spread over the steps of block m - 1
/// (after Gardner, Efficient convolution without input-output delay, JAES 43(3), 1995). The work is split into pieces: a few
/// passes over some hundred rows, for two vectors of columns. A step computes a few pieces for each block size; unfinished work
/// stays in the stream's memory.
///
/// Pieces need the transformed weights that prepare() keeps; the slowest step then takes about twice as long as the median step
/// (bench/README.md, Streaming). Without them, the first step of block m - 1 transforms the weights and computes all of block
/// m: in long sequences, that step takes hundreds of times as long as the median step.

namespace gated::detail::fourier {

/// Computes by FFT what the tokens of a stream contribute to later tokens through a causal weight. The stream remembers three
/// matrices, initially zero: `sums` (rows() × columns), `progress` (levels() × 6) and `scratch` (scratch_rows() × widest_row).
template <class T>
class StreamSums {
 public:
  /// The number of block sizes in a stream of up to `capacity` tokens.
  static Index levels(const SpatialWeight<T>& weight, Index capacity) {
    Index count = 0;
    for (Index tokens = weight.stream_tile(); weight.is_transformed(capacity) && 2 * tokens < capacity; tokens *= 2) {
      ++count;
    }
    return count;
  }
  /// Number of rows of `sums`, which has the current and the next block of each size.
  static Index rows(const SpatialWeight<T>& weight, Index capacity) {
    Index sum = 0;
    for (Index level = 0; level < levels(weight, capacity); ++level) {
      sum += 2 * kept(weight, level, capacity);
    }
    return sum;
  }
  /// Number of rows of `scratch`, which has one unfinished task per block size.
  static Index scratch_rows(const SpatialWeight<T>& weight, Index capacity) {
    return 2 * weight.stream_tile() * ((Index{1} << levels(weight, capacity)) - 1);
  }
  static constexpr Index widest_row = 2 * 64 / static_cast<Index>(sizeof(T));  ///< row_size() for 64-byte vectors
  /// Computes the FFT tables of all block sizes; otherwise the first step of each block size would.
  static void make_tables(const SpatialWeight<T>& weight, Index capacity) {
    for (Index level = 0; level < levels(weight, capacity); ++level) {
      Products<T>::circle({weight.stream_tile() << level, 0});
    }
  }
  /// Upper bound of the scratch that at() and advance() need, in scalars.
  static Index scratch_size(const SpatialWeight<T>& weight, Index capacity, Index columns) {
    const Index count = levels(weight, capacity);
    if (count == 0) {
      return 0;
    }
    const Products<T> products{weight};
    const Square largest{weight.stream_tile() << (count - 1), 0};
    // The factors of two squares and scratch to compute them; then two blocks of rows: the sums and the product.
    return 2 * (products.circle(largest).scratch_size() + products.size(largest)) +
           2 * row_stride<T>(columns) * weight.stream_tile();
  }

  StreamSums(const SpatialWeight<T>& weight, Index capacity, const MatrixView<T>& sums, const MatrixView<T>& progress,
             const MatrixView<T>& scratch)
      : weight_(weight),
        capacity_(capacity),
        levels_(levels(weight, capacity)),
        sums_(sums),
        progress_(progress),
        scratch_(scratch) {}

  /// The first token that the matmul of row i reads: the start of the block before row i's block.
  Index start(Index i) const {
    return levels_ == 0 ? 0 : std::max<Index>(i / weight_.stream_tile() - 1, 0) * weight_.stream_tile();
  }
  /// Number of rows from i to the end of its block.
  Index rest(Index i) const { return levels_ == 0 ? capacity_ : weight_.stream_tile() - i % weight_.stream_tile(); }

  /// Discards the contributions of the tokens at `position` and later. This has an effect only after the stream was rewound.
  void rewind(Index position) {
    for (Index level = 0; level < levels_; ++level) {
      for (Index parity = 0; parity < 2; ++parity) {
        if (block_of(level, parity) > position / size(level) + 1) {
          set(level, parity, 0, 0);
        }
      }
    }
  }

  /// The contribution of the tokens before start(i) to rows i … i + rows - 1 of one block.
  MatrixView<const T> at(const MatrixView<const T>& v, Index i, Index rows, Workspace<T>& workspace) {
    const MatrixView<T> sum = workspace.matrix(rows, v.columns());
    MatrixView<const T> before = {};
    for (Index level = 0; level < levels_ && i >= 2 * size(level); ++level) {
      const Index block = i / size(level);
      finish(level, block, v, workspace);
      add_rows<T>(before, sums(level, block).rows(i % size(level), rows), sum, workspace);
      before = sum;
    }
    return sum;
  }

  /// Computes the pieces that are due after the last row of v, for later blocks. v has a row for each token so far.
  void advance(const MatrixView<const T>& v, Workspace<T>& workspace) {
    struct Due {
      Index level, block, wanted;
    } dues[std::numeric_limits<Index>::digits];  // one per block size
    Index count = 0, pieces_due = 0;
    const Index token = v.rows() - 1;
    for (Index level = 0; level < levels_ && token >= size(level); ++level) {
      const Index tokens = size(level), next = token / tokens + 1;
      if (next * tokens >= capacity_) {
        continue;
      }
      // Pieces are due half a piece early, to stagger the block sizes. Small blocks compute several pieces at once.
      const Index all = pieces(level, next, v), several = std::max<Index>(4 * chunk / tokens, 1);
      const Index due = (2 * (token % tokens + 1) * all + tokens) / (2 * tokens);
      const Index wanted = due >= all ? all : due / several * several, missing = wanted - done(level, next);
      if (missing > 0) {
        dues[count++] = {level, next, wanted};
        pieces_due += missing;
      }
    }
    if (count == 0) {
      return;
    }
    if (const Factor<T>* const kept = Products<T>{weight_}.prepared({size(0), 2 * size(0)}, workspace)) {
      const Threads threads = pieces_due < 8 ? Threads{1} : workspace.threads();
      parallel_for(threads, count, [&](Index k, Index) {
        const auto& [level, block, wanted] = dues[k];
        const Factor<T>* const near = kept + 4 * weight_.heads * (size(level) - size(0));  // smaller blocks first
        work(level, block, wanted, {near, near + 2 * weight_.heads * size(level)}, v);
      });
    } else {
      for (Index k = 0; k < count; ++k) {  // unprepared factors: computed once per block
        finish(dues[k].level, dues[k].block, v, workspace);
      }
    }
  }

 private:
  struct Factors {
    const Factor<T>*near, *far;
  };
  static constexpr Index chunk = 128;  // rows per piece of a load, multiplication or store

  static Index kept(const SpatialWeight<T>& weight, Index level, Index capacity) {
    const Index tokens = weight.stream_tile() << level;
    return std::min(tokens, capacity - 2 * tokens);
  }
  Index size(Index level) const { return weight_.stream_tile() << level; }
  ColumnTasks<T> tasks(const MatrixView<const T>& v) const { return {weight_.heads, v.columns()}; }
  /// Number of pieces per task. For each half of the bins, pieces load, transform and multiply the input of each square, then
  /// transform the sum of products back and store it in `sums`.
  Index pieces_of_task(Index level, Index block) const {
    const Index parts = parts_of(level), passes = Products<T>::circle({size(level), 0}).half().pieces();
    return 2 * (squares_of(block) * (2 * parts + passes) + passes + parts);
  }
  Index pieces(Index level, Index block, const MatrixView<const T>& v) const {
    return tasks(v).count() * pieces_of_task(level, block);
  }
  Index parts_of(Index level) const { return (size(level) + chunk - 1) / chunk; }
  /// Number of squares that contribute to block m: one from block m - 2 and, if m is odd, another from block m - 3.
  static Index squares_of(Index block) { return 1 + block % 2; }

  /// The block of this parity whose sums are in memory, complete or unfinished.
  Index block_of(Index level, Index parity) const { return static_cast<Index>(number(level, parity, 0)); }
  /// Number of finished pieces of a block.
  Index done(Index level, Index block) const {
    const Index parity = block % 2;
    const bool is_known = block_of(level, parity) == block && static_cast<Index>(number(level, parity, 2)) == layout();
    return is_known ? static_cast<Index>(number(level, parity, 1)) : 0;
  }
  void set(Index level, Index parity, Index block, Index pieces_done) const {
    number(level, parity, 0) = static_cast<T>(block);
    number(level, parity, 1) = static_cast<T>(pieces_done);
    number(level, parity, 2) = static_cast<T>(layout());
  }
  /// Identifies the layout of `scratch`. Kernels with another layout restart an unfinished block.
  static Index layout() { return row_size<T>() + transform_columns<T>(); }
  T& number(Index level, Index parity, Index k) const { return progress_.data[level * progress_.stride + 3 * parity + k]; }

  MatrixView<T> sums(Index level, Index block) const {
    Index first = block % 2 * kept(weight_, level, capacity_);
    for (Index k = 0; k < level; ++k) {
      first += 2 * kept(weight_, k, capacity_);
    }
    return sums_.rows(first, std::min(kept(weight_, level, capacity_), capacity_ - block * size(level)));
  }

  /// Computes all remaining pieces of a block.
  void finish(Index level, Index block, const MatrixView<const T>& v, Workspace<T>& workspace) {
    if (const Index all = pieces(level, block, v); done(level, block) < all) {
      const auto frame = workspace.frame();
      const Products<T> products{weight_};
      const Index tokens = size(level);
      work(level, block, all,
           {products.factors({tokens, 2 * tokens}, workspace),
            squares_of(block) > 1 ? products.factors({tokens, 3 * tokens}, workspace) : nullptr},
           v);
    }
  }

  /// Computes pieces until `wanted` pieces of a block are finished, with the `factors` of the block's squares.
  void work(Index level, Index block, Index wanted, const Factors& factors, const MatrixView<const T>& v) const {
    const Index per_task = pieces_of_task(level, block), first = done(level, block);
    for (Index task = first / per_task; task * per_task < wanted; ++task) {
      compute(level, block, tasks(v).at(task), factors, std::max(first - task * per_task, Index{0}),
              std::min(wanted - task * per_task, per_task), v);
    }
    set(level, block % 2, block, wanted);
  }

  /// Computes pieces `begin` … `end` - 1 of a task.
  void compute(Index level, Index block, const Columns& c, const Factors& factors, Index begin, Index end,
               const MatrixView<const T>& v) const {
    const Index tokens = size(level), row = row_size<T>();
    T* const x = scratch_.data + 2 * (tokens - size(0)) * scratch_.stride;
    const Circle<T>& circle = Products<T>::circle({tokens, 0});
    const Passes<T>& half = circle.half();
    const auto scale_at = [&](const Matrix<T>* numbers, Index token) {
      return weight_.form == SpatialForm::scaled_toeplitz ? &(*numbers)(c.head, token) : nullptr;
    };
    Index piece = 0;
    const auto each = [&](Index count, const auto& f) {  // f(i) for those of the next `count` pieces that are in [begin, end)
      for (Index i = std::max(begin - piece, Index{0}); i < std::min(count, end - piece); ++i) {
        f(i);
      }
      piece += count;
    };
    const auto each_part = [&](const auto& f) {  // f(first row, number of rows)
      each(parts_of(level), [&](Index i) { f(i * chunk, std::min(chunk, tokens - i * chunk)); });
    };
    for (const bool odd : {false, true}) {
      for (Index k = 0; k < squares_of(block); ++k) {
        T* const z = x + k * tokens * row;
        each_part([&](Index t, Index rows) {
          const Index token = (block - 2 - k) * tokens + t;
          load_pair<T>(v.block(token, c.first, rows, c.count), scale_at(weight_.column_scale, token), z + t * row);
          if (odd) {
            circle.multiply(circle.turns() + t, false, rows, z + t * row, z + t * row);
          }
        });
        each(half.pieces(), [&](Index i) { half.forward(i, z); });
        each_part([&](Index p, Index rows) {
          const Factor<T>* const w = (k == 0 ? factors.near : factors.far) + c.head * circle.bins() + (odd ? tokens : 0) + p;
          circle.multiply(w, false, rows, z + p * row, x + p * row, k > 0);
        });
      }
      each(half.pieces(), [&](Index i) { half.inverse(i, x); });
      each_part([&](Index t, Index rows) {
        const Index left = std::min(rows, sums(level, block).rows() - t);  // the last block may be short
        if (left > 0) {
          store(circle, t, odd, x + t * row, scale_at(weight_.row_scale, block * tokens + t),
                sums(level, block).block(t, c.first, left, c.count));
        }
      });
    }
  }

  /// Writes the sums of the even bins to y, or adds those of the odd bins. Row 0 of x and y is row t of the block.
  static void store(const Circle<T>& circle, Index t, bool odd, T* x, const T* scale, const MatrixView<T>& y) {
    if (odd) {
      circle.multiply(circle.turns() + t, true, y.rows(), x, x);
    }
    const auto [left, right] = pair(y);
    kernels<FourierKernels<T>>().fourier_store(x, scale, odd, left, right);
  }

  const SpatialWeight<T>& weight_;
  Index capacity_, levels_;
  MatrixView<T> sums_, progress_, scratch_;
};

}  // namespace gated::detail::fourier
