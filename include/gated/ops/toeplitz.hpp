#pragma once

#include <algorithm>
#include <vector>

#include "gated/core/workspace.hpp"
#include "gated/ops/fourier_passes.hpp"

/// @file
/// Products with Toeplitz matrices by fast Fourier transform: the engine behind ops/long_convolution.hpp and transforms of any
/// length.
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
  /// Numbers of scratch, and complex numbers of a matrix's transform.
  Index scratch_size() const { return 2 * rows() * row_size<T>; }
  Index bins() const { return 2 * rows(); }

  /// The transforms of matrices of n ≤ rows() rows, one a lane: scratch, of which diagonal(k, row) fills a row with those of
  /// d_k, |k| < n.
  template <class Diagonal>
  void transform_matrix(Index n, const Diagonal& diagonal, T* x) const {
    const Index h = rows();
    const Simd<T> zero(T{0});
    for (Index t = 0; t < h; ++t) {
      T *const even = x + t * row_size<T>, *const odd = even + h * row_size<T>;
      Complex<T> below = {zero, zero}, above = {zero, zero};
      if (t < n) {
        diagonal(t, even);
        below = Complex<T>::load(even);
      }
      if (h - t < n) {
        diagonal(t - h, even);
        above = Complex<T>::load(even);
      }
      (below + above).store(even);
      (below - above).template times<false>(turns_[static_cast<std::size_t>(t)]).store(odd);
    }
    half_.forward(x);
    half_.forward(x + h * row_size<T>);
  }

  /// One lane of that as the factors of multiply(), with the factor of the inverse transform.
  void take_lane(const T* x, Index lane, Factor<T>* factors) const {
    const long double scale = 1 / static_cast<long double>(bins());
    for (Index p = 0; p < bins(); ++p, x += row_size<T>) {
      factors[p] =
          Factor<T>(scale * static_cast<long double>(x[lane]), scale * static_cast<long double>(x[lane + Simd<T>::width]));
    }
  }

  /// The transform of `n` rows of scratch, where they begin.
  void forward(Index n, T* x) const {
    const Index h = rows();
    T* const odd = x + h * row_size<T>;
    for (Index t = 0; t < n; ++t) {
      const Complex<T> z = Complex<T>::load(x + t * row_size<T>);
      z.template times<false>(turns_[static_cast<std::size_t>(t)]).store(odd + t * row_size<T>);
    }
    std::fill(x + n * row_size<T>, odd, T{0});
    std::fill(odd + n * row_size<T>, odd + h * row_size<T>, T{0});
    half_.forward(x);
    half_.forward(odd);
  }

  /// x ← factors ⊙ x, or their conjugates: T or Tᵀ, if T is real.
  template <bool conjugate>
  static EIGEN_DONT_INLINE void multiply(const Factor<T>* factors, Index bins, T* x) {
    for (Index p = 0; p < bins; ++p, x += row_size<T>) {
      Complex<T>::load(x).template times<conjugate>(factors[p]).store(x);
    }
  }

  /// sum ← sum + a ⊙ the conjugate of b, bin by bin.
  static EIGEN_DONT_INLINE void add_correlation(const T* a, const T* b, Index bins, T* sum) {
    for (Index p = 0; p < bins; ++p, a += row_size<T>, b += row_size<T>, sum += row_size<T>) {
      const auto left = Complex<T>::load(a), right = Complex<T>::load(b), before = Complex<T>::load(sum);
      Complex<T>{fma(left.im, right.im, fma(left.re, right.re, before.re)),
                 fma(left.im, right.re, before.im) - left.re * right.im}
          .store(sum);
    }
  }

  /// The first `n` rows of the inverse transform, without its factor.
  void inverse(Index n, T* x) const {
    const Index h = rows();
    T* const odd = x + h * row_size<T>;
    half_.inverse(x);
    half_.inverse(odd);
    for (Index t = 0; t < n; ++t) {
      const Complex<T> z = Complex<T>::load(odd + t * row_size<T>).template times<true>(turns_[static_cast<std::size_t>(t)]);
      (Complex<T>::load(x + t * row_size<T>) + z).store(x + t * row_size<T>);
    }
  }

  /// The inverse transform of what multiply() with conjugate factors sums up, with its factor: calls `f(k, row)` for each lag
  /// |k| < n with the sum over i - j = k in a row of scratch.
  template <class F>
  void for_each_lag(Index n, T* x, const F& f) const {
    const Index h = rows();
    T* const odd = x + h * row_size<T>;
    half_.inverse(x);
    half_.inverse(odd);
    const Simd<T> scale(T{1} / static_cast<T>(bins()));
    for (Index t = 0; t < h; ++t) {
      T *const first = x + t * row_size<T>, *const second = odd + t * row_size<T>;
      const auto a = Complex<T>::load(first);
      const auto b = Complex<T>::load(second).template times<true>(turns_[static_cast<std::size_t>(t)]);
      const Complex<T> below = a + b, above = a - b;
      Complex<T>{below.re * scale, below.im * scale}.store(first);
      Complex<T>{above.re * scale, above.im * scale}.store(second);
      if (t < n) {
        f(t, first);
      }
      if (h - t < n) {
        f(t - h, second);
      }
    }
  }

  /// The first `n` rows ← T · them, or Tᵀ · them.
  void product(const Factor<T>* factors, bool transposed, Index n, T* x) const {
    forward(n, x);
    transposed ? multiply<true>(factors, bins(), x) : multiply<false>(factors, bins(), x);
    inverse(n, x);
  }

 private:
  const Passes<T>& half_;
  std::vector<Factor<T>> turns_;
};

}  // namespace gated::detail::fourier
