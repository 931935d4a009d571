#pragma once

#include <algorithm>
#include <vector>

#include "gated/core/workspace.hpp"
#include "gated/ops/fourier_passes.hpp"

/// @file
/// FFT products with Toeplitz matrices, for Toeplitz spatial weights and transforms of any length.
///
/// A Toeplitz matrix T_ij = d_{i-j} with up to H rows and columns is a corner of a circulant matrix of size 2H. If H rows are
/// zero-padded to 2H, the even bins of their transform are the transform of the unpadded rows. The odd bins are the same
/// transform after row t is multiplied by e^(-πit/H). So zeros are never transformed, and each half (even or odd bins) stays in
/// cache from its first pass to its last.

namespace gated::detail::fourier {

/// Products with Toeplitz matrices of up to `rows` rows. Scratch has 2 · rows rows: the even half, then the odd half.
template <class T>
class Circle {
 public:
  /// `rows` must come from Passes::next().
  explicit Circle(Index rows) : half_(length_table<Passes<T>>(rows)) {
    turns_.reserve(static_cast<std::size_t>(rows));
    for (Index t = 0; t < rows; ++t) {
      turns_.push_back(Factor<T>::turn(t, 2 * rows));
    }
  }
  /// The instance for matrices of `n` rows.
  static const Circle& of(Index n) { return length_table<Circle>(Passes<T>::next(std::max<Index>(n, 1))); }

  Index rows() const { return half_.length(); }
  const Passes<T>& half() const { return half_; }                    ///< the transform of each half
  const Factor<T>* turns() const { return turns_.data(); }           ///< e^(-πit/H) for row t, for the odd bins
  Index scratch_size() const { return 2 * rows() * row_size<T>(); }  ///< in scalars
  Index bins() const { return 2 * rows(); }                          ///< number of complex values in a transform

  /// Transforms matrices of n ≤ rows() rows, one per lane, into scratch. `diagonal(k, row)` writes d_k of all lanes to
  /// `row`, for |k| < n.
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

  /// Writes one lane of transform_matrix()'s result as factors for multiply(), including the scale of the inverse transform.
  void take_lane(const T* x, Index lane, Factor<T>* factors) const {
    const double scale = 1 / static_cast<double>(bins());
    const Index width = vector_width<T>();
    for (Index p = 0; p < bins(); ++p, x += 2 * width) {
      factors[p] = Factor<T>(scale * static_cast<double>(x[lane]), scale * static_cast<double>(x[lane + width]));
    }
  }

  /// Transforms the first `n` rows of scratch.
  void forward(Index n, T* x) const {
    const Index row = row_size<T>();
    T *const odd = x + rows() * row, *const end = odd + rows() * row;
    multiply(turns_.data(), false, n, x, odd);
    std::fill(x + n * row, odd, T{0});
    std::fill(odd + n * row, end, T{0});
    half_.forward(x);
    half_.forward(odd);
  }

  /// `to` = factors ⊙ x, or `to` += factors ⊙ x if `adds`: the product with T in the frequency domain. `conjugate` conjugates
  /// the factors, for the product with Tᵀ if T is real. `to` may be x.
  static void multiply(const Factor<T>* factors, bool conjugate, Index rows, const T* x, T* to, bool adds = false) {
    kernels<FourierKernels<T>>().fourier_multiply(factors, conjugate, rows, x, to, adds);
  }

  /// Computes the first `n` rows of the inverse transform, unscaled.
  void inverse(Index n, T* x) const {
    T* const odd = x + rows() * row_size<T>();
    half_.inverse(x);
    half_.inverse(odd);
    kernels<FourierKernels<T>>().fourier_add_product(turns_.data(), n, odd, x);
  }

  /// Inverse-transforms x = Σ â ⊙ conj(b̂), a correlation of a and b. Calls `f(k, row, scale)` for each lag |k| < n, where
  /// scale · row is the sum of a_i · conj(b_j) over all i - j = k.
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

  /// Multiplies the first `n` rows by T, or by Tᵀ if `transposed`, in place.
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
