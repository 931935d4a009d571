#pragma once

#include <algorithm>
#include <vector>

#include "gated/ops/fourier.hpp"

/// @file
/// Discrete Fourier transforms of real rows, for spectra of sound.

namespace gated::detail {

/// Computes X_k of an even-length transform (see RealFourier) from Z_k at `a` and Z_{h-k} at `b`. Each imaginary part is stored
/// `width` elements after its real part. `turn` is e^(-2πik/n).
inline void separate(const FourierFactor<double>& turn, const double* a, const double* b, Index width, double& re, double& im) {
  const double o_re = (a[width] + b[width]) / 2, o_im = (b[0] - a[0]) / 2;
  re = (a[0] + b[0]) / 2 + (rounded(turn.c * o_re) - rounded(turn.s * o_im));
  im = (a[width] - b[width]) / 2 + (rounded(turn.c * o_im) + rounded(turn.s * o_re));
}

/// The transform X_k = Σ_t x_t e^(-2πikt/n) of real rows of any length n, and its inverse.
///
/// For an even n, Z is the complex transform of the h = n/2 points z_t = x_2t + i·x_{2t+1} (Cooley, Lewis and Welch 1970):
///
///     E_k = (Z_k + conj Z_{h-k}) / 2,   O_k = (Z_k - conj Z_{h-k}) / 2i,   X_k = E_k + e^(-2πik/n) O_k
///
/// For an odd n, X is the complex transform of the n points x_t. A call transforms up to one row per vector lane. A row's bins
/// do not depend on the other rows. An object always uses the kernel form (instruction set) chosen at its construction.
/// Cost: about 2.5·n·log₂(n/2) flops per row; twice that for an odd n, several times that if n has a prime factor above 7.
class RealFourier {
 public:
  Matrix<double> rows;             ///< x: vector lanes × n
  Matrix<double> real, imaginary;  ///< X: vector lanes × (n/2 + 1) bins

  explicit RealFourier(Index length) : RealFourier(length, KernelChoice()) {}

  Index bins() const { return length_ / 2 + 1; }
  /// The object's kernel form, to pass to KernelChoice.
  int form() const { return form_; }

  /// Splits `total` rows into blocks that fit into `rows`, and calls `f(first, count)` for each block.
  template <class F>
  void for_each_block(Index total, const F& f) const {
    for (Index first = 0; first < total; first += width_) {
      f(first, std::min(width_, total - first));
    }
  }

  /// Transforms the first `count` rows.
  void forward(Index count) {
    const KernelChoice kernels(form_);
    for (Index t = 0; t < points(); ++t) {
      double* const z = row(t);
      for (Index r = 0; r < width_; ++r) {
        z[r] = r < count ? rows(r, step_ * t) : 0;
        z[width_ + r] = r < count && step_ == 2 ? rows(r, 2 * t + 1) : 0;
      }
    }
    transform_(z_.data());
    for (Index k = 0; k < bins(); ++k) {
      const double *const a = bin(k), *const b = bin(points() - k);
      for (Index r = 0; r < count; ++r) {
        step_ == 2 ? separate(turns_[static_cast<std::size_t>(k)], a + r, b + r, width_, real(r, k), imaginary(r, k))
                   : split(a + r, real(r, k), imaginary(r, k));
      }
    }
  }

  /// Inverse transform of the first `count` rows. Ignores the imaginary parts of bin 0 and, for an even n, of bin n/2.
  void inverse(Index count) {
    const KernelChoice kernels(form_);
    for (Index k = 0; k < points(); ++k) {
      double* const z = row(k);
      for (Index r = 0; r < width_; ++r) {
        z[r] = z[width_ + r] = 0;
        if (r < count) {
          step_ == 2 ? join(k, r, z[r], z[width_ + r]) : mirror(k, r, z[r], z[width_ + r]);
        }
      }
    }
    transform_(z_.data());  // transforming conj Z forward yields points() · conj z
    const double scale = 1 / static_cast<double>(points());
    for (Index t = 0; t < points(); ++t) {
      const double* const z = bin(t);
      for (Index r = 0; r < count; ++r) {
        rows(r, step_ * t) = z[r] * scale;
        if (step_ == 2) {
          rows(r, 2 * t + 1) = -z[width_ + r] * scale;
        }
      }
    }
  }

 private:
  /// The temporary KernelChoice keeps the kernels fixed until construction ends.
  RealFourier(Index length, const KernelChoice&)
      : form_(kernels_of_run()),
        length_(length),
        step_(length % 2 == 0 ? 2 : 1),
        width_(vector_width<double>()),
        transform_(fourier::Transform<double>::of(length / step_)),
        z_(static_cast<std::size_t>(transform_.scratch_size())) {
    for (Index k = 0; k < bins() && step_ == 2; ++k) {
      turns_.push_back(fourier::Factor<double>::turn(k, length));
    }
    rows.setZero(width_, length);
    real.setZero(width_, bins());
    imaginary.setZero(width_, bins());
  }

  Index points() const { return transform_.length(); }
  double* row(Index t) { return z_.data() + t * 2 * width_; }
  /// Bin k mod points() of the complex transform.
  const double* bin(Index k) { return row(transform_.order()[k % points()]); }

  /// X_k = Z_k of an odd-length transform; Z_k is at `a`.
  void split(const double* a, double& re, double& im) const {
    re = a[0];
    im = a[width_];
  }
  /// conj Z_k = conj(E_k + i·O_k) of row r, for an even n.
  void join(Index k, Index r, double& re, double& im) const {
    const Index other = points() - k;
    const double a_im = k == 0 ? 0 : imaginary(r, k), b_im = k == 0 ? 0 : -imaginary(r, other);
    const double d_re = (real(r, k) - real(r, other)) / 2, d_im = (a_im - b_im) / 2;
    const auto& turn = turns_[static_cast<std::size_t>(k)];
    const double o_re = rounded(turn.c * d_re) + rounded(turn.s * d_im), o_im = rounded(turn.c * d_im) - rounded(turn.s * d_re);
    re = (real(r, k) + real(r, other)) / 2 - o_im;
    im = -((a_im + b_im) / 2 + o_re);
  }
  /// conj X_k of row r, for an odd n. A bin k above n/2 is the conjugate of bin n - k.
  void mirror(Index k, Index r, double& re, double& im) const {
    const bool upper = k >= bins();
    const Index from = upper ? length_ - k : k;
    re = real(r, from);
    im = k == 0 ? 0 : upper ? imaginary(r, from) : -imaginary(r, from);
  }

  int form_;
  Index length_, step_, width_;
  const fourier::Transform<double>& transform_;
  std::vector<double> z_;
  std::vector<fourier::Factor<double>> turns_;  // e^(-2πik/n)
};

}  // namespace gated::detail
