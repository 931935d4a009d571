#pragma once

#include <algorithm>
#include <limits>

#include "gated/core/sequences.hpp"
#include "gated/ops/spatial_squares.hpp"

/// @file
/// Long convolutions over tokens by fast Fourier transform: how Toeplitz forms of a spatial weight meet the tokens of whole
/// sequences.
///
/// A weight that is not causal is one circulant product per sequence. A causal one is cut into tiles: with the tile size B of
/// the weight and rows in blocks of B, block k meets the blocks before it in squares of B, 2B, 4B, … tokens, one for each bit
/// of k that is set, and itself in a plain product. So every pair of tokens j ≤ i meets once, and nothing of a later token
/// reaches an earlier one (relaxed multiplication; Oncescu et al., arXiv:2410.12982). Streams are cut otherwise: see
/// ops/spatial_stream.hpp.

namespace gated::detail::fourier {

/// The sums that tiles of a causal weight give to rows after them, for one whole sequence, whose rows come in their order.
template <class T>
class TileSums {
 public:
  /// Takes its memory in the frame of the caller.
  TileSums(const SpatialWeight<T>& weight, Index length, Index columns, Workspace<T>& workspace)
      : weight_(weight), length_(length) {
    for (Index tokens = weight.tile(); weight.is_transformed(length) && tokens < length; tokens *= 2) {
      levels_[count_++] = {workspace.matrix(std::min(tokens, length - tokens), columns), -1};
    }
  }

  /// The first token of the block that row i lies in, which meets all earlier ones in tiles.
  Index start(Index i) const { return count_ == 0 ? 0 : i / weight_.tile() * weight_.tile(); }
  /// The rows of that block from i on.
  Index rest(Index i) const { return count_ == 0 ? length_ : start(i) + weight_.tile() - i; }

  /// What all tiles give to the rows i … i + rows - 1 of one block, and `added`. `v` holds all tokens before that block.
  Rows<const T> at(const Rows<const T>& v, Index i, Index rows, const Rows<const T>& added, Workspace<T>& workspace) {
    const Rows<T> sum = workspace.matrix(rows, v.columns);
    const Index block = i / weight_.tile();
    Rows<const T> before = added;
    for (Index k = 0; k < count_; ++k) {
      if ((block >> k) % 2 != 0) {
        Level& level = levels_[k];
        const Index tokens = weight_.tile() << k, begin = (block >> (k + 1)) * 2 * tokens, end = begin + tokens;
        if (level.begin != begin) {
          compute(v.middle(begin, tokens), begin, level.sums.middle(0, std::min(level.sums.count, length_ - end)), workspace);
          level.begin = begin;
        }
        add_rows<T>(before, level.sums.middle(i - end, rows), sum, workspace);
        before = sum;
      }
    }
    return sum;
  }

 private:
  struct Level {
    Rows<T> sums;
    Index begin;  // of the tile whose sums they are
  };

  void compute(const Rows<const T>& v, Index begin, const Rows<T>& y, Workspace<T>& workspace) const {
    const auto frame = workspace.frame();
    const Square square{v.count, v.count};
    const Products<T> products{weight_};
    const bool scaled = weight_.form == SpatialForm::scaled_toeplitz;
    const T* const v_scale = scaled ? weight_.column_scale->data() + begin : nullptr;
    const T* const y_scale = scaled ? weight_.row_scale->data() + begin + v.count : nullptr;
    multiply_rows<T>(products.circle(square), products.factors(square, workspace), weight_.heads, v, v_scale, y, y_scale,
                     nullptr, weight_.length, {}, workspace);
  }

  const SpatialWeight<T>& weight_;
  Index length_, count_ = 0;
  Level levels_[std::numeric_limits<Index>::digits];  // one for each doubling
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
    factors = Products<T>{weight}.factors({n, 0}, workspace);
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
  const auto scales = [&](const Matrix<T>* numbers, Index head) {
    return scaled ? of_head<T>(numbers->data(), head, weight.length) : nullptr;
  };

  // What each task gives to the gradients: of w, in the frequency domain, and of the scales.
  const ColumnTasks<T> tasks{heads, from.columns};
  const Index parts = tasks.per_head();
  MatrixMap<T> of_w = workspace.matrix(to_w != nullptr ? tasks.count() : 0, 2 * bins);
  MatrixMap<T> of_rows = workspace.matrix(to_w != nullptr && scaled ? tasks.count() : 0, longest);
  MatrixMap<T> of_columns = workspace.matrix(of_rows.rows(), longest);
  of_rows.setZero();
  of_columns.setZero();
  for_each_task<T>(tasks, 0, tasks.count(), from.count, 3 * size, workspace, [&](Index task, const Columns& c, T* x) {
    const Index head = c.head, column = c.first, columns = c.count;
    T *const z = x, *const dz = x + size, *const sum = x + 2 * size;
    const T *const row_scale = scales(weight.row_scale, head), *const column_scale = scales(weight.column_scale, head);
    std::fill_n(sum, to_w != nullptr ? size : 0, T{0});
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), n = sequences.length(b);
      const auto dy_pair = pair(slope.block(offset, column, n, columns)), v_pair = pair(from.block(offset, column, n, columns));
      kernels<FourierKernels<T>>().fourier_load(dy_pair.left, dy_pair.right, row_scale, dz);
      circle.forward(n, dz);
      if (to_w != nullptr) {
        kernels<FourierKernels<T>>().fourier_load(v_pair.left, v_pair.right, column_scale, z);
        circle.forward(n, z);
        kernels<FourierDerivatives<T>>().fourier_add_correlation(dz, z, bins, sum);
        if (scaled) {
          circle.multiply(factors + head * bins, false, bins, z, z);
          circle.inverse(n, z);
          kernels<FourierDerivatives<T>>().fourier_add_dots(dy_pair.left, dy_pair.right, z, &of_rows.coeffRef(task, 0));
        }
      }
      circle.multiply(factors + head * bins, true, bins, dz, dz);
      circle.inverse(n, dz);
      if (to_w != nullptr && scaled) {
        kernels<FourierDerivatives<T>>().fourier_add_dots(v_pair.left, v_pair.right, dz, &of_columns.coeffRef(task, 0));
      }
      const auto dv_pair = pair(dv.block(offset, column, n, columns));
      kernels<FourierKernels<T>>().fourier_store(dz, nullptr, column_scale, !target.fresh, dv_pair.left, dv_pair.right);
    }
    if (to_w != nullptr) {
      kernels<FourierDerivatives<T>>().fourier_sum_lanes(sum, bins, &of_w.coeffRef(task, 0));
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
