#pragma once

#include <algorithm>
#include <limits>

#include "gated/core/rounded.hpp"
#include "gated/core/sequences.hpp"
#include "gated/ops/spatial_squares.hpp"

/// @file
/// Toeplitz spatial weights on whole sequences: long convolutions by FFT.
///
/// A non-causal weight needs one circulant product per sequence. The rows of a causal weight are split into blocks of the tile
/// size B. Block k receives earlier tokens through square tiles of B, 2B, 4B, … tokens, one tile for each set bit of k, and its
/// own tokens through a matmul. Each pair of tokens j ≤ i is covered once, and no token depends on a later one (relaxed
/// multiplication; Oncescu et al., arXiv:2410.12982). For streams, ops/spatial_stream.hpp uses other tiles.

namespace gated::detail::fourier {

/// What the tiles of a causal weight contribute to the rows of one whole sequence. Rows are processed in order.
template <class T>
class TileSums {
 public:
  /// Allocates in the caller's frame of `workspace`.
  TileSums(const SpatialWeight<T>& weight, Index length, Index columns, Workspace<T>& workspace)
      : weight_(weight), length_(length) {
    for (Index tokens = weight.tile(); weight.is_transformed(length) && tokens < length; tokens *= 2) {
      levels_[count_++] = {workspace.matrix(std::min(tokens, length - tokens), columns), -1};
    }
  }

  /// The first token of row i's block. All earlier tokens reach row i through tiles.
  Index start(Index i) const { return count_ == 0 ? 0 : i / weight_.tile() * weight_.tile(); }
  /// Number of rows from i to the end of its block.
  Index rest(Index i) const { return count_ == 0 ? length_ : start(i) + weight_.tile() - i; }

  /// The contribution of all tiles to rows i … i + rows - 1 of one block. `v` holds all tokens before that block.
  MatrixView<const T> at(const MatrixView<const T>& v, Index i, Index rows, Workspace<T>& workspace) {
    const MatrixView<T> sum = workspace.matrix(rows, v.columns());
    const Index block = i / weight_.tile();
    MatrixView<const T> before = {};
    for (Index k = 0; k < count_; ++k) {
      if ((block >> k) % 2 != 0) {
        Level& level = levels_[k];
        const Index tokens = weight_.tile() << k, begin = (block >> (k + 1)) * 2 * tokens, end = begin + tokens;
        if (level.begin != begin) {
          compute(v.rows(begin, tokens), begin, level.sums.rows(0, std::min(level.sums.rows(), length_ - end)), workspace);
          level.begin = begin;
        }
        add_rows<T>(before, level.sums.rows(i - end, rows), sum, workspace);
        before = sum;
      }
    }
    return sum;
  }

 private:
  struct Level {
    MatrixView<T> sums;
    Index begin;  // first token of the tile whose result is in `sums`
  };

  void compute(const MatrixView<const T>& v, Index begin, const MatrixView<T>& y, Workspace<T>& workspace) const {
    const auto frame = workspace.frame();
    const Square square{v.rows(), v.rows()};
    const Products<T> products{weight_};
    const bool scaled = weight_.form == SpatialForm::scaled_toeplitz;
    const T* const v_scale = scaled ? weight_.column_scale->data() + begin : nullptr;
    const T* const y_scale = scaled ? weight_.row_scale->data() + begin + v.rows() : nullptr;
    multiply_rows<T>(products.circle(square), products.factors(square, workspace), weight_.heads, v, v_scale, y, y_scale,
                     nullptr, weight_.length, {}, workspace);
  }

  const SpatialWeight<T>& weight_;
  Index length_, count_ = 0;
  Level levels_[std::numeric_limits<Index>::digits];  // one per tile size
};

/// y = W v + b for one sequence and a non-causal weight, with `epilogue` applied.
template <class T>
void mix_sequence(const SpatialWeight<T>& weight, const MatrixView<const T>& v, const MatrixView<T>& y,
                  const Epilogue<T>& epilogue, Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  const Index n = v.rows();
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

/// Computes ∂v = Wᵀ ∂y and the gradients of W's parameters. All sequences use the transform length of the longest one. For ∂w,
/// an inverse transform handles one head per lane.
template <class T>
class BackwardByTransform {
 public:
  /// If `trained`, also computes W's gradients. Allocates in the caller's frame of `workspace`.
  BackwardByTransform(const SpatialWeight<T>& weight, const Sequences& sequences, Index columns, bool trained,
                      Workspace<T>& workspace)
      : weight_(weight),
        sequences_(sequences),
        circle_(Circle<T>::of(sequences.longest())),
        tasks_{weight.heads, columns},
        scaled_(weight.form == SpatialForm::scaled_toeplitz),
        factors_(reinterpret_cast<Factor<T>*>(workspace.take(weight.heads * circle_.bins() * factor_size<T>))),
        of_w_(workspace.matrix(trained ? tasks_.count() : 0, 2 * circle_.bins())),
        of_rows_(workspace.matrix(trained && scaled_ ? tasks_.count() : 0, sequences.longest())),
        of_columns_(workspace.matrix(of_rows_.rows(), sequences.longest())) {
    const auto frame = workspace.frame();
    transform_weight(circle_, weight, 0, sequences.longest(), factors_, workspace.take(circle_.scratch_size()));
    of_rows_.setZero();
    of_columns_.setZero();
  }

  /// dv = Wᵀ dy, or dv += Wᵀ dy if `adds`.
  void mix(const MatrixView<const T>& v, const MatrixView<const T>& dy, const MatrixView<T>& dv, bool adds,
           Workspace<T>& workspace) {
    const Index size = circle_.scratch_size();
    for_each_task<T>(tasks_, 0, tasks_.count(), v.rows(), 3 * size, workspace, [&](Index task, const Columns& c, T* x) {
      T* const sum = x + 2 * size;
      std::fill_n(sum, trained() ? size : 0, T{0});
      for (Index b = 0; b < sequences_.count(); ++b) {
        const auto part = [&](const auto& rows) {
          return pair(rows.block(sequences_.offset(b), c.first, sequences_.length(b), c.count));
        };
        mix_pair(task, c.head, sequences_.length(b), part(v), part(dy), part(dv), adds, x);
      }
      if (trained()) {
        kernels<FourierDerivatives<T>>().fourier_sum_lanes(sum, circle_.bins(), &of_w_.coeffRef(task, 0));
      }
    });
  }

  /// Adds the tasks' contributions to ∂w, in task order. A transform's real part sums the correlations of two columns.
  void add_weight(T* to, Workspace<T>& workspace) const {
    const Index row = row_size<T>(), width = vector_width<T>(), parts = tasks_.per_head();
    T* const x = workspace.take(trained() ? circle_.scratch_size() : 0);
    for (Index first = 0; trained() && first < weight_.heads; first += width) {
      const Index lanes = std::min(width, weight_.heads - first);
      std::fill_n(x, circle_.scratch_size(), T{0});
      for (Index task = first * parts; task < (first + lanes) * parts; ++task) {
        T* const lane = x + task / parts - first;
        for (Index p = 0; p < circle_.bins(); ++p) {
          lane[p * row] += of_w_(task, 2 * p);
          lane[p * row + width] += of_w_(task, 2 * p + 1);
        }
      }
      circle_.for_each_lag(sequences_.longest(), x, [&](Index k, const T* sums, T scale) {
        for (Index lane = 0; lane < lanes && !(weight_.causal && k < 0); ++lane) {
          to[(first + lane) * weight_.w->cols() + weight_.place(k)] += rounded(scale * sums[lane]);
        }
      });
    }
  }

  /// Adds the tasks' contributions to the gradients of row and column scales, heads × N each.
  void add_scales(T* to_rows, T* to_columns) const {
    for (Index task = 0; task < of_rows_.rows(); ++task) {
      const Index first = task / tasks_.per_head() * weight_.length;
      for (Index t = 0; t < sequences_.longest(); ++t) {
        to_rows[first + t] += of_rows_(task, t);
        to_columns[first + t] += of_columns_(task, t);
      }
    }
  }

 private:
  bool trained() const { return of_w_.rows() > 0; }
  const T* scales(const Matrix<T>* numbers, Index head) const {
    return scaled_ ? of_head<T>(numbers->data(), head, weight_.length) : nullptr;
  }

  /// Processes one task's columns in a sequence of n tokens. z is scratch for three transforms: of v, of dy, and the sum of
  /// their correlations.
  void mix_pair(Index task, Index head, Index n, const Pair<const T>& v, const Pair<const T>& dy, const Pair<T>& dv, bool adds,
                T* z) {
    const Index size = circle_.scratch_size(), bins = circle_.bins();
    T *const dz = z + size, *const sum = z + 2 * size;
    const Factor<T>* const factors = factors_ + head * bins;
    const T *const row_scale = scales(weight_.row_scale, head), *const column_scale = scales(weight_.column_scale, head);
    const FourierKernels<T>& fourier = kernels<FourierKernels<T>>();
    fourier.fourier_load(dy.left, dy.right, row_scale, dz);
    circle_.forward(n, dz);
    if (trained()) {
      const FourierDerivatives<T>& derivatives = kernels<FourierDerivatives<T>>();
      fourier.fourier_load(v.left, v.right, column_scale, z);
      circle_.forward(n, z);
      derivatives.fourier_add_correlation(dz, z, bins, sum);
      if (scaled_) {
        circle_.multiply(factors, false, bins, z, z);
        circle_.inverse(n, z);
        derivatives.fourier_add_dots(dy.left, dy.right, z, &of_rows_.coeffRef(task, 0));
      }
    }
    circle_.multiply(factors, true, bins, dz, dz);
    circle_.inverse(n, dz);
    if (trained() && scaled_) {
      kernels<FourierDerivatives<T>>().fourier_add_dots(v.left, v.right, dz, &of_columns_.coeffRef(task, 0));
    }
    fourier.fourier_store(dz, column_scale, adds, dv.left, dv.right);
  }

  const SpatialWeight<T>& weight_;
  const Sequences& sequences_;
  const Circle<T>& circle_;
  ColumnTasks<T> tasks_;
  bool scaled_;
  Factor<T>* factors_;
  // Each task's contributions to the gradients of w (in the frequency domain) and of the scales.
  MatrixMap<T> of_w_, of_rows_, of_columns_;
};

/// Backward pass of all sequences by FFT.
template <class Back, class Variable, class T = typename Back::Scalar>
void mix_sequences_backward(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, Variable v,
                            const ConstView<T>& dy) {
  const auto frame = back.workspace().frame();
  T* const to_w = back.gradient_of(weight.w->data());
  const MatrixView<const T> from = back[v];
  auto target = back.target(v);
  BackwardByTransform<T> pass(weight, sequences, from.columns(), to_w != nullptr, back.workspace());
  pass.mix(from, dy, target.view, !target.fresh, back.workspace());
  pass.add_weight(to_w, back.workspace());
  if (weight.form == SpatialForm::scaled_toeplitz) {
    pass.add_scales(back.gradient_of(weight.row_scale->data()), back.gradient_of(weight.column_scale->data()));
  }
}

}  // namespace gated::detail::fourier
