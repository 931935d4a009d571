#pragma once

#include <algorithm>
#include <vector>

#include "gated/core/workspace.hpp"
#include "gated/ops/fourier_passes.hpp"

/// @file
/// Products with Toeplitz matrices by fast Fourier transform: the engine behind Toeplitz forms of spatial weights and
/// transforms of any length.
///
/// A Toeplitz matrix T_ij = d_{i-j} with up to H rows and columns is a corner of a circulant matrix of 2H. Of its transform the
/// even bins are those of a transform of H rows, and the odd ones those of H rows that are first turned by e^(-πit/H). So the
/// zeros that fill up the input are never transformed, and each half stays in cache from its first pass to its last.

namespace gated::detail::fourier {

/// What products with Toeplitz matrices of up to `rows` rows need. Scratch has 2 · rows rows: the even half, the odd half.
template <class T>
class Circle {
 public:
  /// For a `rows` of Passes::next().
  explicit Circle(Index rows) : half_(length_table<Passes<T>>(rows)) {
    turns_.reserve(static_cast<std::size_t>(rows));
    for (Index t = 0; t < rows; ++t) {
      turns_.push_back(Factor<T>::turn(t, 2 * rows));
    }
  }
  /// The one for matrices of `n` rows.
  static const Circle& of(Index n) { return length_table<Circle>(Passes<T>::next(std::max<Index>(n, 1))); }

  Index rows() const { return half_.length(); }
  /// The transforms of its halves, and what the rows of the odd one are turned by.
  const Passes<T>& half() const { return half_; }
  const Factor<T>* turns() const { return turns_.data(); }
  /// Numbers of scratch, and complex numbers of a matrix's transform.
  Index scratch_size() const { return 2 * rows() * row_size<T>(); }
  Index bins() const { return 2 * rows(); }

  /// The transforms of matrices of n ≤ rows() rows, one per lane: scratch, of which diagonal(k, row) fills a row with those of
  /// d_k, |k| < n.
  template <class Diagonal>
  void transform_matrix(Index n, const Diagonal& diagonal, T* x) const {
    const Index h = rows(), row = row_size<T>();
    T* const odd = x + h * row;
    std::fill_n(x, scratch_size(), T{0});
    for (Index t = 0; t < h; ++t) {
      if (t < n) {
        diagonal(t, x + t * row);
      }
      if (h - t < n) {
        diagonal(t - h, odd + t * row);
      }
    }
    kernels<FourierKernels<T>>().fourier_pass(2, x, 1, h, h, false, nullptr, turns_.data());
    half_.forward(x);
    half_.forward(odd);
  }

  /// One lane of that as the factors of multiply(), with the factor of the inverse transform.
  void take_lane(const T* x, Index lane, Factor<T>* factors) const {
    const long double scale = 1 / static_cast<long double>(bins());
    const Index width = vector_width<T>();
    for (Index p = 0; p < bins(); ++p, x += 2 * width) {
      factors[p] = Factor<T>(scale * static_cast<long double>(x[lane]), scale * static_cast<long double>(x[lane + width]));
    }
  }

  /// The transform of `n` rows of scratch, where they begin.
  void forward(Index n, T* x) const {
    const Index row = row_size<T>();
    T *const odd = x + rows() * row, *const end = odd + rows() * row;
    multiply(turns_.data(), false, n, x, odd);
    std::fill(x + n * row, odd, T{0});
    std::fill(odd + n * row, end, T{0});
    half_.forward(x);
    half_.forward(odd);
  }

  /// to ← factors ⊙ x, or their conjugates ⊙ x: in the frequency domain T or Tᵀ, if T is real. With `adds` it is added. `to`
  /// may be x.
  static void multiply(const Factor<T>* factors, bool conjugate, Index rows, const T* x, T* to, bool adds = false) {
    kernels<FourierKernels<T>>().fourier_multiply(factors, conjugate, rows, x, to, adds);
  }

  /// The first `n` rows of the inverse transform, without its factor.
  void inverse(Index n, T* x) const {
    T* const odd = x + rows() * row_size<T>();
    half_.inverse(x);
    half_.inverse(odd);
    kernels<FourierKernels<T>>().fourier_add_product(turns_.data(), n, odd, x);
  }

  /// The inverse transform of what multiply() with conjugate factors sums up: calls `f(k, row, scale)` for each lag |k| < n
  /// with the sum over i - j = k in a row of scratch, times its factor `scale`.
  template <class F>
  void for_each_lag(Index n, T* x, const F& f) const {
    const Index h = rows(), row = row_size<T>();
    T* const odd = x + h * row;
    half_.inverse(x);
    half_.inverse(odd);
    kernels<FourierKernels<T>>().fourier_pass(2, x, 1, h, h, true, nullptr, turns_.data());
    const T scale = T{1} / static_cast<T>(bins());
    for (Index t = 0; t < h; ++t) {
      if (t < n) {
        f(t, x + t * row, scale);
      }
      if (h - t < n) {
        f(t - h, odd + t * row, scale);
      }
    }
  }

  /// The first `n` rows ← T · them, or Tᵀ · them.
  void product(const Factor<T>* factors, bool transposed, Index n, T* x) const {
    forward(n, x);
    multiply(factors, transposed, bins(), x, x);
    inverse(n, x);
  }

 private:
  const Passes<T>& half_;
  std::vector<Factor<T>> turns_;
};

}  // namespace gated::detail::fourier
