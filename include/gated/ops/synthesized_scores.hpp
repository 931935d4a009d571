#pragma once

#include "gated/core/elementary.hpp"
#include "gated/core/ordered_sum.hpp"
#include "gated/ops/matmul.hpp"

/// @file
/// Synthesized attention scores, learned or computed from the attending token, with their derivatives.

namespace gated {

/// Parameters of the synthesized scores S of all heads. One form is set: `random`; `left` and `right`; `dense`; or `outer`
/// and `inner`. h_i is row i of SynthesizerInputs::h. Non-owning.
template <class T>
struct SynthesizedScores {
  Index heads = 1;
  Index length = 0;  ///< L, the longest sequence
  bool causal = false;
  const Matrix<T>* random = nullptr;                 ///< (heads·L) × L: S_ij
  const Matrix<T>*left = nullptr, *right = nullptr;  ///< (heads·L) × k each: S = left rightᵀ
  const Matrix<T>* dense = nullptr;                  ///< L × a, shared by all heads: S_ij = h_i · dense_j
  const Matrix<T>*outer = nullptr, *inner = nullptr;  ///< c × a and b × a: S_ij = (h_i · outer_{⌊j/b⌋}) (h_i · inner_{j mod b})
  const Vector<T>* share = nullptr;                   ///< one scalar: σ(share) weights S, 1 - σ(share) weights q kᵀ

  /// The weight of S or, if `derivative`, the derivative of that weight with respect to `share`.
  T own_factor(bool derivative = false) const {
    if (share == nullptr || share->size() == 0) {
      return derivative ? T{0} : T{1};
    }
    const T s = T{1} / (T{1} + static_cast<T>(elementary::exp(-static_cast<double>((*share)[0]))));
    return derivative ? s * (T{1} - s) : s;
  }
  /// The weight of the dot products q kᵀ.
  T dot_factor() const { return share == nullptr || share->size() == 0 ? T{1} : T{1} - own_factor(); }
  /// True if S depends on the tokens, through h.
  bool is_dense() const { return dense != nullptr || outer != nullptr; }
};

namespace detail::synthesizer {

/// Rows `first` … `first` + count - 1 of a head's part of a matrix with L rows per head.
template <class T>
auto head_rows(const Matrix<T>& m, const SynthesizedScores<T>& of, Index head, Index first, Index count) {
  return m.middleRows(head * of.length + first, count);
}

/// y = S of a head, for y.rows() tokens starting at position `first` and for the first y.cols() keys.
template <class T>
void own_scores(const SynthesizedScores<T>& of, Index head, Index first, const MatrixView<const T>& h, View<T> y,
                Workspace<T>& workspace) {
  const Index rows = y.rows(), seen = y.cols();
  if (of.random != nullptr) {
    y = head_rows(*of.random, of, head, first, rows).leftCols(seen);
  } else if (of.left != nullptr) {
    const ConstView<T> left = head_rows(*of.left, of, head, first, rows), right = head_rows(*of.right, of, head, 0, seen);
    matmul(left, transposed(right), y, workspace);
  } else if (of.dense != nullptr) {
    const ConstView<T> keys = of.dense->topRows(seen);
    matmul(h, transposed(keys), y, workspace);
  } else {
    const auto frame = workspace.frame();
    MatrixMap<T> outer = workspace.matrix(rows, of.outer->rows()), inner = workspace.matrix(rows, of.inner->rows());
    matmul(h, transposed(*of.outer), outer, workspace);
    matmul(h, transposed(*of.inner), inner, workspace);
    for (Index j = 0; j < seen; j += inner.cols()) {
      const Index count = std::min(inner.cols(), seen - j);
      for (Index i = 0; i < rows; ++i) {
        y.row(i).segment(j, count) = inner.row(i).head(count) * outer(i, j / inner.cols());
      }
    }
  }
}

/// y = the scores before the softmax: S, combined with q kᵀ unless q is empty. Copies S to `own` unless `own` is empty.
template <class T>
void all_scores(const SynthesizedScores<T>& of, Index head, Index first, const MatrixView<const T>& h,
                const MatrixView<const T>& q, const MatrixView<const T>& k, const MatrixView<T>& own, View<T> y,
                Workspace<T>& workspace) {
  own_scores<T>(of, head, first, h, y, workspace);
  if (own) {
    View<T> kept = own;
    kept = y;
  }
  if (q) {
    y *= of.own_factor();
    matmul(q, transposed(k), y, workspace, {.factor = of.dot_factor(), .added = y});
  }
}

/// Rows `row` … `row` + count - 1 of a parameter's gradient; empty if the parameter is not trained.
template <class Back, class T>
MatrixView<T> gradient_rows(Back& back, const Matrix<T>& parameter, Index row, Index count) {
  T* const to = back.gradient_of(parameter.data());
  return {to == nullptr ? nullptr : to + row * parameter.cols(), count, parameter.cols(), parameter.cols()};
}

/// to += a · b, unless `to` is empty.
template <class T>
void add_product(const MatrixView<T>& to, const Operand<T>& a, const Operand<T>& b, Workspace<T>& workspace) {
  if (to) {
    matmul(a, b, to, workspace, {.added = to});
  }
}

/// Backward pass of S_ij = (h_i · outer_{⌊j/b⌋}) (h_i · inner_{j mod b}), where `ds` is ∂S.
template <class Back, class T>
void factored_backward(Back& back, const SynthesizedScores<T>& of, const MatrixView<const T>& h, const ConstView<T>& ds,
                       const MatrixView<T>& dh, Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  const Index rows = ds.rows(), seen = ds.cols(), width = of.inner->rows();
  MatrixMap<T> outer = workspace.matrix(rows, of.outer->rows()), inner = workspace.matrix(rows, width);
  MatrixMap<T> outer_gradient = workspace.matrix(rows, outer.cols()), inner_gradient = workspace.matrix(rows, width);
  matmul(h, transposed(*of.outer), outer, workspace);
  matmul(h, transposed(*of.inner), inner, workspace);
  outer_gradient.setZero();
  inner_gradient.setZero();
  for (Index j = 0; j < seen; j += width) {
    const Index count = std::min(width, seen - j), p = j / width;
    for (Index i = 0; i < rows; ++i) {
      outer_gradient(i, p) = ordered_dot(ds.row(i).segment(j, count), inner.row(i).head(count));
      for (Index k = 0; k < count; ++k) {
        inner_gradient(i, k) += rounded(ds(i, j + k) * outer(i, p));
      }
    }
  }
  add_product<T>(dh, outer_gradient, *of.outer, workspace);
  add_product<T>(dh, inner_gradient, *of.inner, workspace);
  add_product<T>(gradient_rows(back, *of.outer, 0, of.outer->rows()), transposed(outer_gradient), h, workspace);
  add_product<T>(gradient_rows(back, *of.inner, 0, width), transposed(inner_gradient), h, workspace);
}

/// Backward pass of own_scores(), where `ds` is ∂S.
template <class Back, class T>
void own_backward(Back& back, const SynthesizedScores<T>& of, Index head, Index first, const MatrixView<const T>& h,
                  const ConstView<T>& ds, const MatrixView<T>& dh, Workspace<T>& workspace) {
  const Index rows = ds.rows(), seen = ds.cols();
  if (of.random != nullptr) {
    if (const MatrixView<T> to = gradient_rows(back, *of.random, head * of.length + first, rows)) {
      View<T> all = to;
      all.leftCols(seen) += ds;
    }
  } else if (of.left != nullptr) {
    const ConstView<T> left = head_rows(*of.left, of, head, first, rows), right = head_rows(*of.right, of, head, 0, seen);
    add_product<T>(gradient_rows(back, *of.left, head * of.length + first, rows), ds, right, workspace);
    add_product<T>(gradient_rows(back, *of.right, head * of.length, seen), transposed(ds), left, workspace);
  } else if (of.dense != nullptr) {
    const ConstView<T> keys = of.dense->topRows(seen);
    add_product<T>(dh, ds, keys, workspace);
    add_product<T>(gradient_rows(back, *of.dense, 0, seen), transposed(ds), h, workspace);
  } else {
    factored_backward<Back, T>(back, of, h, ds, dh, workspace);
  }
}

}  // namespace detail::synthesizer

}  // namespace gated
