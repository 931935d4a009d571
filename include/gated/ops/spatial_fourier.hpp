#pragma once

#include <algorithm>
#include <bit>

#include "gated/core/sequences.hpp"
#include "gated/ops/epilogue.hpp"
#include "gated/ops/row_loops.hpp"
#include "gated/ops/spatial_weight.hpp"
#include "gated/ops/toeplitz.hpp"

/// @file
/// Long convolutions over tokens by fast Fourier transform: how Toeplitz forms of a spatial weight meet many tokens.
///
/// A weight that is not causal is one circulant product a sequence. A causal one is cut into tiles: with the tile size B of the
/// weight and rows in blocks of B, block k meets the blocks before it in squares of B, 2B, 4B, … tokens, one for each bit of k
/// that is set, and itself in a plain product. So every pair of tokens j ≤ i meets once, nothing of a later token reaches an
/// earlier one, and batches and streams do the same: a stream keeps the sums of the squares that its present block lies in
/// (relaxed multiplication; Oncescu et al., arXiv:2410.12982).

namespace gated::detail::fourier {

/// The transform of d_k = w_{offset + k}, |k| < n, of all heads: circle.bins() factors each.
template <class T>
void transform_weight(const Circle<T>& circle, const SpatialWeight<T>& weight, Index offset, Index n, Factor<T>* factors,
                      T* scratch) {
  const Index width = vector_width<T>();
  for (Index head = 0; head < weight.heads; head += width) {
    const Index lanes = std::min(width, weight.heads - head);
    circle.transform_matrix(
        n,
        [&](Index k, T* row) {
          for (Index lane = 0; lane < lanes; ++lane) {
            row[lane] = weight.lag(head + lane, offset + k);
          }
        },
        scratch);
    for (Index lane = 0; lane < lanes; ++lane) {
      circle.take_lane(scratch, lane, factors + (head + lane) * circle.bins());
    }
  }
}

/// Memory for so many factors.
template <class T>
constexpr Index factor_size = static_cast<Index>(sizeof(Factor<T>) / sizeof(T));

/// The products that a weight of some length needs: one, of all its rows, or for a causal weight one for each size of tiles.
template <class T>
struct Products {
  SpatialWeight<T> weight;

  Index count() const {
    Index levels = weight.causal ? 0 : 1;
    for (Index rows = weight.tile(); weight.causal && rows < weight.length; rows *= 2) {
      ++levels;
    }
    return levels;
  }
  Index rows(Index level) const { return weight.causal ? weight.tile() << level : weight.length; }
  const Circle<T>& circle(Index level) const { return Circle<T>::of(rows(level)); }
  /// Writes the factors of one.
  void transform(Index level, Factor<T>* factors, T* scratch) const {
    transform_weight(circle(level), weight, weight.causal ? rows(level) : 0, rows(level), factors, scratch);
  }
  /// Writes those of all, prepared_size() numbers.
  void transform_all(T* factors) const {
    for (Index level = 0; level < count(); ++level) {
      AlignedMemory<T> scratch(static_cast<std::size_t>(circle(level).scratch_size()));
      transform(level, reinterpret_cast<Factor<T>*>(factors) + before(level), scratch.data());
    }
  }

  /// The factors before those of `level`, where all are kept together.
  Index before(Index level) const {
    Index bins = 0;
    for (Index k = 0; k < level; ++k) {
      bins += circle(k).bins();
    }
    return bins * weight.heads;
  }
  /// What prepare() keeps of the weight: numbers.
  Index prepared_size() const { return before(count()) * factor_size<T>; }

  /// The factors of a product, prepared or made now, in the frame of the caller.
  const Factor<T>* factors(Index level, Workspace<T>& workspace) const {
    if (const PreparedWeights<T>* const prepared = workspace.prepared()) {
      if (const auto found = prepared->find(weight.w->data(), 1, prepared_size(), 1)) {
        return reinterpret_cast<const Factor<T>*>(found.numbers()) + before(level);
      }
    }
    const Circle<T>& c = circle(level);
    auto* const made = reinterpret_cast<Factor<T>*>(workspace.take(weight.heads * c.bins() * factor_size<T>));
    const auto frame = workspace.frame();
    transform(level, made, workspace.take(c.scratch_size()));
    return made;
  }
};

/// Calls `f(head, column, columns, scratch)` for all columns of all heads, two vectors at a time, in parallel tasks with
/// scratch of their own.
template <class T, class F>
void for_each_column(Index heads, Index columns, Index rows, Index scratch_size, Workspace<T>& workspace, const F& f) {
  const Index row = row_size<T>(), width = columns / heads, parts = (width + row - 1) / row;
  const Threads threads = rows * columns < 1 << 13 ? Threads{1} : workspace.threads();
  const auto frame = workspace.frame();
  T* const scratch = workspace.take(scratch_size * threads.count());
  parallel_for(threads, heads * parts, [&](Index task, Index thread) {
    const Index head = task / parts, first = task % parts * row;
    f(head, head * width + first, std::min(row, width - first), scratch + thread * scratch_size);
  });
}

/// y = T v for the matrix of these factors, joined by `epilogue`: two real columns are one complex. Scales are by row, heads ×
/// `scale_stride`, for v and for y, or absent.
template <class T>
void multiply_rows(const Circle<T>& circle, const Factor<T>* factors, Index heads, const Rows<const T>& v, const T* v_scale,
                   const Rows<T>& y, const T* y_scale, const T* row_bias, Index row_stride, const Epilogue<T>& epilogue,
                   Workspace<T>& workspace) {
  const auto of_head = [row_stride](const T* numbers, Index head) {
    return numbers == nullptr ? nullptr : numbers + head * row_stride;
  };
  const Index row = row_size<T>();
  for_each_column<T>(heads, v.columns, v.count, circle.scratch_size(), workspace,
                     [&](Index head, Index column, Index columns, T* x) {
                       load_pair<T>(v.part(column, columns), of_head(v_scale, head), x);
                       circle.product(factors + head * circle.bins(), false, v.count, x);
                       if (y_scale != nullptr) {
                         load_pair<T>({x, y.count, row, row}, of_head(y_scale, head), x);
                       }
                       Epilogue<T> joined = epilogue;
                       joined.row_bias = of_head(row_bias, head);
                       constexpr Index together = 16;
                       for (Index t = 0; t < y.count; t += together) {
                         GATED_KERNEL(finish_tile<T>(joined, t, column, std::min(together, y.count - t), columns, x + t * row,
                                                     y.data + t * y.stride + column, y.stride));
                       }
                     });
}

/// The sums that tiles of a causal weight have given to rows after them, for one sequence.
template <class T>
class TileSums {
 public:
  /// Rows of sums for a sequence of up to `length` tokens.
  static Index rows(const SpatialWeight<T>& weight, Index length) {
    Index sum = 0;
    for (Index rows = weight.tile(); weight.is_transformed(length) && rows < length; rows *= 2) {
      sum += std::min(rows, length - rows);
    }
    return sum;
  }
  /// Sizes of tiles.
  static Index levels(const SpatialWeight<T>& weight, Index length) {
    Index count = 0;
    for (Index rows = weight.tile(); weight.is_transformed(length) && rows < length; rows *= 2) {
      ++count;
    }
    return count;
  }
  /// Numbers that at() takes from a workspace at most.
  static Index scratch_size(const SpatialWeight<T>& weight, Index length, Index columns, const Threads& threads) {
    const Index count = levels(weight, length);
    if (count == 0) {
      return 0;
    }
    const Circle<T>& largest = Circle<T>::of(weight.tile() << (count - 1));
    constexpr Index line = cache_line_bytes;  // what rounding adds to each piece, at most
    return largest.scratch_size() * (threads.count() + 1) + weight.heads * largest.bins() * factor_size<T> +
           row_stride<T>(columns) * weight.block(length) + 8 * line;
  }

  /// `sums` and `held`, one number a level, keep what is known from call to call: zeros at first.
  TileSums(const SpatialWeight<T>& weight, Index length, const Rows<T>& sums, T* held)
      : weight_(weight), length_(length), levels_(levels(weight, length)), sums_(sums), held_(held) {}

  /// The first token of the block that row i lies in, which meets all earlier ones in tiles.
  Index start(Index i) const { return levels_ == 0 ? 0 : i / weight_.tile() * weight_.tile(); }
  /// The rows of that block from i on.
  Index rest(Index i) const { return levels_ == 0 ? length_ : start(i) + weight_.tile() - i; }

  /// Forgets the tiles that hold tokens from `position` on: they have been taken back.
  void rewind(Index position) {
    for (Index level = 0; level < levels_; ++level) {
      if ((2 * held(level) + 1) * size(level) > position) {
        held_[level] = 0;
      }
    }
  }

  /// What all tiles give to the rows i … i + rows - 1 of one block, and `added`. `v` holds all tokens before that block.
  Rows<const T> at(const Rows<const T>& v, Index i, Index rows, const Rows<const T>& added, Workspace<T>& workspace) {
    const Rows<T> sum = workspace.matrix(rows, v.columns);
    const Index block = i / weight_.tile();
    Rows<const T> before = added;
    for (Index level = 0, first = 0; level < levels_; ++level) {
      const Index tokens = size(level), kept = std::min(tokens, length_ - tokens);
      if ((block >> level) % 2 != 0) {
        const Index tile = block >> (level + 1), begin = 2 * tile * tokens;  // of the tokens that it takes
        const Rows<T> of_level = sums_.middle(first, kept);
        if (held(level) != tile) {
          compute(level, v.middle(begin, tokens), begin, of_level.middle(0, std::min(kept, length_ - begin - tokens)),
                  workspace);
          held_[level] = static_cast<T>(tile + 1);
        }
        add(before, of_level.middle(i - begin - tokens, rows), sum, workspace);
        before = sum;
      }
      first += kept;
    }
    return sum;
  }

 private:
  Index size(Index level) const { return weight_.tile() << level; }
  /// The tile whose sums are there, or -1.
  Index held(Index level) const { return static_cast<Index>(held_[level]) - 1; }

  void compute(Index level, const Rows<const T>& v, Index begin, const Rows<T>& y, Workspace<T>& workspace) const {
    const auto frame = workspace.frame();
    const Products<T> products{weight_};
    const bool scaled = weight_.form == SpatialForm::scaled_toeplitz;
    const T* const v_scale = scaled ? weight_.column_scale->data() + begin : nullptr;
    const T* const y_scale = scaled ? weight_.row_scale->data() + begin + v.count : nullptr;
    multiply_rows<T>(products.circle(level), products.factors(level, workspace), weight_.heads, v, v_scale, y, y_scale, nullptr,
                     weight_.length, {}, workspace);
  }

  static void add(const Rows<const T>& a, const Rows<const T>& b, const Rows<T>& y, const Workspace<T>& workspace) {
    const auto right = reader<T>(b);
    a ? assign<T>(y, workspace, reader<T>(a) + right) : assign<T>(y, workspace, right);
  }

  const SpatialWeight<T>& weight_;
  Index length_, levels_;
  Rows<T> sums_;
  T* held_;
};

/// y = W v + b of a weight that is not causal, joined by `epilogue`, for one sequence.
template <class T>
void mix_sequence(const SpatialWeight<T>& weight, const Rows<const T>& v, const Rows<T>& y, const Epilogue<T>& epilogue,
                  Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  const Index n = v.count;
  const Circle<T>& circle = Circle<T>::of(n);
  const Factor<T>* factors = nullptr;
  if (n == weight.length) {
    factors = Products<T>{weight}.factors(0, workspace);
  } else {
    auto* const made = reinterpret_cast<Factor<T>*>(workspace.take(weight.heads * circle.bins() * factor_size<T>));
    const auto inner = workspace.frame();
    transform_weight(circle, weight, 0, n, made, workspace.take(circle.scratch_size()));
    factors = made;
  }
  const T* const bias = weight.bias == nullptr ? nullptr : weight.bias->data();
  multiply_rows<T>(circle, factors, weight.heads, v, nullptr, y, nullptr, bias, weight.length, epilogue, workspace);
}

/// ∂v = Wᵀ ∂y, and the gradients of the numbers that W is made of: one transform of the longest sequence's length for all, and
/// one inverse transform for the heads that a vector has lanes for.
template <class Back, class Variable, class T = typename Back::Scalar>
void mix_sequences_backward(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, Variable v,
                            const ConstView<T>& dy) {
  const Index row = row_size<T>(), width = vector_width<T>();
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const Index longest = sequences.longest(), heads = weight.heads;
  const Circle<T>& circle = Circle<T>::of(longest);
  const Index size = circle.scratch_size(), bins = circle.bins();
  const bool scaled = weight.form == SpatialForm::scaled_toeplitz;
  T* const to_w = back.gradient_of(weight.w->data());
  const Rows<const T> from = back[v], slope = dy;
  auto target = back.target(v);
  const Rows<T> dv = target.view;

  auto* const factors = reinterpret_cast<Factor<T>*>(workspace.take(heads * bins * factor_size<T>));
  {
    const auto inner = workspace.frame();
    transform_weight(circle, weight, 0, longest, factors, workspace.take(size));
  }
  const auto scales = [&](const Matrix<T>* of_heads, Index head) {
    return scaled ? of_heads->data() + head * weight.length : nullptr;
  };

  // What each task gives to the gradients: of w, in the frequency domain, and of the scales.
  const Index head_width = from.columns / heads, parts = (head_width + row - 1) / row, tasks = heads * parts;
  MatrixMap<T> of_w = workspace.matrix(to_w != nullptr ? tasks : 0, 2 * bins);
  MatrixMap<T> of_rows = workspace.matrix(to_w != nullptr && scaled ? tasks : 0, longest);
  MatrixMap<T> of_columns = workspace.matrix(of_rows.rows(), longest);
  of_rows.setZero();
  of_columns.setZero();
  for_each_column<T>(heads, from.columns, from.count, 3 * size, workspace, [&](Index head, Index column, Index columns, T* x) {
    const Index task = head * parts + (column - head * head_width) / row;
    T *const z = x, *const dz = x + size, *const sum = x + 2 * size;
    const T *const row_scale = scales(weight.row_scale, head), *const column_scale = scales(weight.column_scale, head);
    std::fill_n(sum, to_w != nullptr ? size : 0, T{0});
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), n = sequences.length(b);
      const auto dy_pair = pair(slope.block(offset, column, n, columns)), v_pair = pair(from.block(offset, column, n, columns));
      GATED_KERNEL(fourier_load<T>(dy_pair.left, dy_pair.right, row_scale, dz));
      circle.forward(n, dz);
      if (to_w != nullptr) {
        GATED_KERNEL(fourier_load<T>(v_pair.left, v_pair.right, column_scale, z));
        circle.forward(n, z);
        GATED_KERNEL(fourier_add_correlation<T>(dz, z, bins, sum));
        if (scaled) {
          circle.multiply(factors + head * bins, false, bins, z, z);
          circle.inverse(n, z);
          GATED_KERNEL(fourier_add_dots<T>(dy_pair.left, dy_pair.right, z, &of_rows.coeffRef(task, 0)));
        }
      }
      circle.multiply(factors + head * bins, true, bins, dz, dz);
      circle.inverse(n, dz);
      if (to_w != nullptr && scaled) {
        GATED_KERNEL(fourier_add_dots<T>(v_pair.left, v_pair.right, dz, &of_columns.coeffRef(task, 0)));
      }
      const auto dv_pair = pair(dv.block(offset, column, n, columns));
      GATED_KERNEL(fourier_store<T>(dz, nullptr, column_scale, !target.fresh, dv_pair.left, dv_pair.right));
    }
    if (to_w != nullptr) {
      GATED_KERNEL(fourier_sum_lanes<T>(sum, bins, &of_w.coeffRef(task, 0)));
    }
  });

  // Tasks are added up in their order. The real part of the correlation of two columns at once is the sum of both.
  T* const lanes_of_heads = workspace.take(to_w != nullptr ? size : 0);
  for (Index first = 0; to_w != nullptr && first < heads; first += width) {
    const Index lanes = std::min(width, heads - first);
    std::fill_n(lanes_of_heads, size, T{0});
    for (Index task = first * parts; task < (first + lanes) * parts; ++task) {
      T* const lane = lanes_of_heads + task / parts - first;
      for (Index p = 0; p < bins; ++p) {
        lane[p * row] += of_w(task, 2 * p);
        lane[p * row + width] += of_w(task, 2 * p + 1);
      }
    }
    circle.for_each_lag(longest, lanes_of_heads, [&](Index k, const T* sums, T scale) {
      if (weight.causal && k < 0) {
        return;
      }
      const Index place = weight.form == SpatialForm::toeplitz ? weight.origin() + k : weight.length - 1 - k;
      for (Index lane = 0; lane < lanes; ++lane) {
        to_w[(first + lane) * weight.w->cols() + place] += scale * sums[lane];
      }
    });
  }
  for (Index task = 0; task < of_rows.rows(); ++task) {
    T* const to_rows = back.gradient_of(weight.row_scale->data()) + task / parts * weight.length;
    T* const to_columns = back.gradient_of(weight.column_scale->data()) + task / parts * weight.length;
    for (Index t = 0; t < longest; ++t) {
      to_rows[t] += of_rows(task, t);
      to_columns[t] += of_columns(task, t);
    }
  }
}

}  // namespace gated::detail::fourier
