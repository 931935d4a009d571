#pragma once

#include <algorithm>

#include "gated/ops/spatial_squares.hpp"

/// @file
/// Long convolutions over the tokens of a stream by fast Fourier transform, without a step that takes long.
///
/// The tiles of whole sequences (ops/spatial_fourier.hpp) are of no use to a stream: the one that ends with token i is needed
/// by token i + 1, so that some steps would wait for a whole large one. Here rows in blocks of U tokens, for U = B, 2B, 4B, …,
/// meet only blocks of U that are not their neighbours: block m meets block m - 2, and for an odd m also m - 3. All nearer
/// pairs meet in smaller blocks, those of the same and of neighbouring blocks of B in a plain product; so every pair j ≤ i
/// meets once. What block m needs has come when block m - 1 begins, and is worked off while that one's tokens come, some
/// columns with a step (after Gardner, Efficient convolution without input-output delay, JAES 43(3), 1995).

namespace gated::detail::fourier {

/// The sums that tokens of a causal weight give to later ones in a stream. `sums` and `progress`, zeros at first, are what the
/// stream remembers: see rows() and levels().
template <class T>
class StreamSums {
 public:
  /// Sizes of blocks in a stream of up to `capacity` tokens.
  static Index levels(const SpatialWeight<T>& weight, Index capacity) {
    Index count = 0;
    for (Index tokens = weight.stream_tile(); weight.is_transformed(capacity) && 2 * tokens < capacity; tokens *= 2) {
      ++count;
    }
    return count;
  }
  /// Rows of sums: of the present block of each size, and of the next one.
  static Index rows(const SpatialWeight<T>& weight, Index capacity) {
    Index sum = 0;
    for (Index level = 0; level < levels(weight, capacity); ++level) {
      sum += 2 * kept(weight, level, capacity);
    }
    return sum;
  }
  /// Numbers that at() and advance() take from a workspace at most.
  static Index scratch_size(const SpatialWeight<T>& weight, Index capacity, Index columns, const Threads& threads) {
    const Index count = levels(weight, capacity);
    if (count == 0) {
      return 0;
    }
    const Products<T> products{weight};
    const Square largest{weight.stream_tile() << (count - 1), 0};
    // Each piece is filled up to a whole cache line: the sums; of two squares the factors and scratch to make them; scratch of
    // the tasks; and beside these a row of the weight and the panels of the plain product.
    constexpr Index pieces = 1 + 2 * 2 + 1 + 2, line = cache_line_bytes;  // as many numbers as a line has bytes: enough for any type
    return products.circle(largest).scratch_size() * (2 * threads.count() + 1) + 2 * products.size(largest) +
           row_stride<T>(columns) * weight.stream_tile() + pieces * line;
  }

  StreamSums(const SpatialWeight<T>& weight, Index capacity, const Rows<T>& sums, const Rows<T>& progress)
      : weight_(weight), capacity_(capacity), levels_(levels(weight, capacity)), sums_(sums), progress_(progress) {}

  /// The first token that row i meets in a plain product: that of the block before its own.
  Index start(Index i) const {
    return levels_ == 0 ? 0 : std::max<Index>(i / weight_.stream_tile() - 1, 0) * weight_.stream_tile();
  }
  /// The rows of its block from i on.
  Index rest(Index i) const { return levels_ == 0 ? capacity_ : weight_.stream_tile() - i % weight_.stream_tile(); }

  /// Forgets what tokens from `position` on have given: they have been taken back.
  void rewind(Index position) {
    for (Index level = 0; level < levels_; ++level) {
      for (Index parity = 0; parity < 2; ++parity) {
        if (block_of(level, parity) > position / size(level) + 1) {
          set(level, parity, 0, 0);
        }
      }
    }
  }

  /// What the tokens before start(i) give to the rows i … i + rows - 1 of one block, and `added`.
  Rows<const T> at(const Rows<const T>& v, Index i, Index rows, const Rows<const T>& added, Workspace<T>& workspace) {
    const Rows<T> sum = workspace.matrix(rows, v.columns);
    Rows<const T> before = added;
    for (Index level = 0; level < levels_ && i >= 2 * size(level); ++level) {
      const Index block = i / size(level);
      work(level, block, tasks(v).count(), v, workspace);
      add_rows<T>(before, sums(level, block).middle(i % size(level), rows), sum, workspace);
      before = sum;
    }
    return sum;
  }

  /// Works off what is due after `v.count` tokens, for blocks to come.
  void advance(const Rows<const T>& v, Workspace<T>& workspace) {
    const Index all = tasks(v).count(), together = workspace.threads().count(), token = v.count - 1;
    for (Index level = 0; level < levels_ && token >= size(level); ++level) {
      const Index tokens = size(level), next = token / tokens + 1;
      if (next * tokens >= capacity_) {
        continue;
      }
      // Half a task early, so that no two sizes are due at the same token.
      const Index due = (2 * (token % tokens + 1) * all + tokens) / (2 * tokens);
      if (due <= done(level, next)) {
        continue;
      }
      // Factors that are made for each call are made for all columns at once.
      const bool is_prepared = Products<T>{weight_}.prepared({tokens, 2 * tokens}, workspace) != nullptr;
      work(level, next, is_prepared ? std::min((due + together - 1) / together * together, all) : all, v, workspace);
    }
  }

 private:
  static Index kept(const SpatialWeight<T>& weight, Index level, Index capacity) {
    const Index tokens = weight.stream_tile() << level;
    return std::min(tokens, capacity - 2 * tokens);
  }
  Index size(Index level) const { return weight_.stream_tile() << level; }
  ColumnTasks<T> tasks(const Rows<const T>& v) const { return {weight_.heads, v.columns}; }

  /// The block whose sums are there or begun.
  Index block_of(Index level, Index parity) const { return static_cast<Index>(number(level, 2 * parity)); }
  /// How many tasks of a block are done.
  Index done(Index level, Index block) const {
    const Index parity = block % 2;
    return block_of(level, parity) == block ? static_cast<Index>(number(level, 2 * parity + 1)) : 0;
  }
  void set(Index level, Index parity, Index block, Index tasks_done) {
    number(level, 2 * parity) = static_cast<T>(block);
    number(level, 2 * parity + 1) = static_cast<T>(tasks_done);
  }
  T& number(Index level, Index k) const { return progress_.data[level * progress_.stride + k]; }

  Rows<T> sums(Index level, Index block) const {
    Index first = block % 2 * kept(weight_, level, capacity_);
    for (Index k = 0; k < level; ++k) {
      first += 2 * kept(weight_, k, capacity_);
    }
    return sums_.middle(first, std::min(kept(weight_, level, capacity_), capacity_ - block * size(level)));
  }

  /// Sees to it that so many tasks of a block are done.
  void work(Index level, Index block, Index wanted, const Rows<const T>& v, Workspace<T>& workspace) {
    if (const Index before = done(level, block); before < wanted) {
      compute(level, block, before, wanted, v, workspace);
      set(level, block % 2, block, wanted);
    }
  }

  void compute(Index level, Index block, Index first, Index last, const Rows<const T>& v, Workspace<T>& workspace) const {
    const auto frame = workspace.frame();
    const Index tokens = size(level), begin = block * tokens;
    const Products<T> products{weight_};
    const Square near{tokens, 2 * tokens}, far{tokens, 3 * tokens};
    const Circle<T>& circle = products.circle(near);
    const Factor<T>* const near_factors = products.factors(near, workspace);
    const Factor<T>* const far_factors = block % 2 != 0 ? products.factors(far, workspace) : nullptr;
    const Rows<T> y = sums(level, block);
    const auto scale_at = [&](const Matrix<T>* numbers, Index head, Index token) {
      return weight_.form == SpatialForm::scaled_toeplitz ? &(*numbers)(head, token) : nullptr;
    };
    for_each_task<T>(tasks(v), first, last, tokens, 2 * circle.scratch_size(), workspace, [&](Index, const Columns& c, T* x) {
      const auto transform = [&](Index lag, T* to) {
        load_pair<T>(v.block(begin - lag, c.first, tokens, c.count), scale_at(weight_.column_scale, c.head, begin - lag), to);
        circle.forward(tokens, to);
      };
      const Index bins = circle.bins();
      transform(near.lag, x);
      circle.multiply(near_factors + c.head * bins, false, bins, x, x);
      if (far_factors != nullptr) {
        T* const z = x + circle.scratch_size();
        transform(far.lag, z);
        circle.multiply(far_factors + c.head * bins, false, bins, z, x, true);
      }
      circle.inverse(y.count, x);
      const auto [left, right] = pair(y.part(c.first, c.count));
      kernels<FourierKernels<T>>().fourier_store(x, scale_at(weight_.row_scale, c.head, begin), false, left, right);
    });
  }

  const SpatialWeight<T>& weight_;
  Index capacity_, levels_;
  Rows<T> sums_, progress_;
};

}  // namespace gated::detail::fourier
