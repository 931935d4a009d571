#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "gated/core/length_table.hpp"
#include "gated/ops/kernels.hpp"

/// @file
/// The engine behind ops/fourier.hpp and ops/toeplitz.hpp: a fast Fourier transform of many columns at once, in place.
///
/// Rows are what is transformed along (tokens), and a row of scratch is one vector of real and one of imaginary parts: every
/// butterfly takes whole vectors, whatever the radix, and nothing is shuffled. Forward passes decimate in frequency: they go
/// from blocks of all rows to blocks of one, and leave bin `order[p]` in row p. Inverse passes decimate in time: they take rows
/// in that order and leave them in their natural one, so that a convolution needs no permutation. Blocks that fit the
/// first-level cache go through all their remaining passes before the next one is touched.

namespace gated::detail::fourier {

/// Numbers in a row of scratch.
template <class T>
inline constexpr Index row_size = 2 * Simd<T>::width;

/// cos and sin of 2πk/n, each rounded once: the angle is taken back to the first eighth of the circle exactly.
struct Turn {
  long double cosine, sine;

  Turn(Index k, Index n) {
    const Index whole = 8 * n;
    Index part = 8 * (k % n);
    const bool lower = part > whole / 2;
    part = lower ? whole - part : part;
    const bool left = part > whole / 4;
    part = left ? whole / 2 - part : part;
    const bool steep = part > whole / 8;
    part = steep ? whole / 4 - part : part;
    constexpr long double pi = 3.141592653589793238462643383279502884L;
    const long double angle = 2 * pi * static_cast<long double>(part) / static_cast<long double>(whole);
    cosine = steep ? std::sin(angle) : std::cos(angle);
    sine = steep ? std::cos(angle) : std::sin(angle);
    cosine = left ? -cosine : cosine;
    sine = lower ? -sine : sine;
  }
};

/// A complex factor in a table: c + is and, so that both it and its conjugate multiply without a negation, -s.
template <class T>
struct Factor {
  T c, s, minus_s;

  Factor() = default;
  Factor(long double cosine, long double sine)
      : c(static_cast<T>(cosine)), s(static_cast<T>(sine)), minus_s(static_cast<T>(-sine)) {}
  /// e^(-2πik/n).
  static Factor turn(Index k, Index n) {
    const Turn turn(k, n);
    return Factor(turn.cosine, -turn.sine);
  }
};

/// A vector of complex numbers: a row of scratch.
template <class T>
struct Complex {
  Simd<T> re, im;

  static EIGEN_STRONG_INLINE Complex load(const T* row) { return {Simd<T>::load(row), Simd<T>::load(row + Simd<T>::width)}; }
  EIGEN_STRONG_INLINE void store(T* row) const {
    re.store(row);
    im.store(row + Simd<T>::width);
  }

  friend EIGEN_STRONG_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend EIGEN_STRONG_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  /// a · f, or a times its conjugate.
  template <bool conjugate>
  EIGEN_STRONG_INLINE Complex times(const Factor<T>& f) const {
    const Simd<T> c(f.c), s(conjugate ? f.minus_s : f.s), minus_s(conjugate ? f.s : f.minus_s);
    return {fma(re, c, im * minus_s), fma(re, s, im * c)};
  }
  /// -i · a, or i · a.
  template <bool conjugate>
  EIGEN_STRONG_INLINE Complex quarter() const {
    if constexpr (conjugate) {
      return {-im, re};
    } else {
      return {im, -re};
    }
  }
};

/// z ← the transform of R rows, e^(-2πi…) or, inverse, e^(2πi…). `roots` holds e^(-2πik/R) for k < R.
template <class T, unsigned R, bool inverse>
EIGEN_STRONG_INLINE void butterfly(Complex<T> (&z)[R], [[maybe_unused]] const Factor<T>* roots) {
  if constexpr (R == 2) {
    const Complex<T> sum = z[0] + z[1];
    z[1] = z[0] - z[1];
    z[0] = sum;
  } else if constexpr (R == 4) {
    const Complex<T> a = z[0] + z[2], b = z[0] - z[2], c = z[1] + z[3], d = (z[1] - z[3]).template quarter<inverse>();
    z[0] = a + c;
    z[1] = b + d;
    z[2] = a - c;
    z[3] = b - d;
  } else {
    constexpr unsigned half = (R - 1) / 2;
    Complex<T> sums[half], differences[half];
    const Complex<T> first = z[0];
    GATED_UNROLL
    for (unsigned k = 0; k < half; ++k) {
      sums[k] = z[k + 1] + z[R - 1 - k];
      differences[k] = z[k + 1] - z[R - 1 - k];
      z[0] = z[0] + sums[k];
    }
    GATED_UNROLL
    for (unsigned q = 1; q <= half; ++q) {
      Complex<T> a = first, b = {Simd<T>(T{0}), Simd<T>(T{0})};
      GATED_UNROLL
      for (unsigned k = 0; k < half; ++k) {
        const Factor<T>& root = roots[q * (k + 1) % R];
        const Simd<T> c(root.c), s(root.minus_s);  // of e^(-iφ) = cos φ - i sin φ
        a = {fma(sums[k].re, c, a.re), fma(sums[k].im, c, a.im)};
        b = {fma(differences[k].re, s, b.re), fma(differences[k].im, s, b.im)};
      }
      const Complex<T> turned = b.template quarter<inverse>();
      z[q] = a + turned;
      z[R - q] = a - turned;
    }
  }
}

/// One pass over `groups` blocks of R · m rows: R rows that lie m apart at a time. `turns` holds e^(-2πijq/(Rm)) for q = 1 …
/// R - 1, j < m; in the last pass, m = 1, all of them are 1.
template <class T, unsigned R, bool inverse, bool last>
EIGEN_DONT_INLINE void pass(T* x, Index groups, Index m, const Factor<T>* roots, const Factor<T>* turns) {
  constexpr Index row = row_size<T>;
  const Index step = m * row;
  for (Index g = 0; g < groups; ++g) {
    const Factor<T>* f = turns;
    for (Index j = 0; j < m; ++j, x += row) {
      Complex<T> z[R];
      GATED_UNROLL
      for (unsigned q = 0; q < R; ++q) {
        z[q] = Complex<T>::load(x + static_cast<Index>(q) * step);
        if constexpr (inverse && !last) {
          if (q > 0) {
            z[q] = z[q].template times<true>(f[q - 1]);
          }
        }
      }
      butterfly<T, R, inverse>(z, roots);
      GATED_UNROLL
      for (unsigned q = 0; q < R; ++q) {
        if constexpr (!inverse && !last) {
          if (q > 0) {
            z[q] = z[q].template times<false>(f[q - 1]);
          }
        }
        z[q].store(x + static_cast<Index>(q) * step);
      }
      f += R - 1;
    }
    x += static_cast<Index>(R - 1) * step;
  }
}

/// The passes of a transform of `length` rows, where no prime above 7 divides it.
template <class T>
class Passes {
 public:
  /// Whether there are passes for this length.
  static bool serve(Index length) {
    for (const Index radix : {2, 3, 5, 7}) {
      while (length > 1 && length % radix == 0) {
        length /= radix;
      }
    }
    return length == 1;
  }
  /// The next length from `length` on that is 2, 3 or 5 times a power of two.
  static Index next(Index length) {
    Index best = 1;
    while (best < length) {
      best *= 2;
    }
    for (const Index odd : {3, 5}) {
      Index n = odd;
      while (n < length) {
        n *= 2;
      }
      best = std::min(best, n);
    }
    return best;
  }

  explicit Passes(Index length) : length_(length) {
    for (Index block = length; block > 1;) {  // the largest radix first: its rows lie furthest apart
      for (const Index radix : {7, 5, 3, 4, 2}) {
        if (block % radix == 0) {
          add(radix, block);
          block /= radix;
          break;
        }
      }
    }
    order_.assign(static_cast<std::size_t>(length), 0);
    Index blocks = 1;  // of all passes so far, each beginning with the bin order_[its first row]
    for (const Pass& p : passes_) {
      for (Index b = 0; b < blocks; ++b) {
        for (Index q = 0; q < p.radix; ++q) {
          order_[at(b * p.radix * p.m + q * p.m)] = order_[at(b * p.radix * p.m)] + q * blocks;
        }
      }
      blocks *= p.radix;
    }
  }

  Index length() const { return length_; }
  /// The bin that forward() leaves in each row.
  const std::vector<Index>& order() const { return order_; }

  void forward(T* x) const { descend(0, x); }
  /// Without the factor 1/length.
  void inverse(T* x) const { ascend(0, x); }

 private:
  struct Pass {
    Index radix, m;
    std::size_t roots, turns;  // where they begin
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  static constexpr Index cached_rows = (Index{1} << 15) / (row_size<T> * static_cast<Index>(sizeof(T)));

  void add(Index radix, Index block) {
    const Index m = block / radix;
    Pass p{radix, m, factors_.size(), 0};
    for (Index k = 0; radix % 2 != 0 && k < radix; ++k) {
      factors_.push_back(Factor<T>::turn(k, radix));
    }
    p.turns = factors_.size();
    for (Index j = 0; m > 1 && j < m; ++j) {
      for (Index q = 1; q < radix; ++q) {
        factors_.push_back(Factor<T>::turn(j * q, block));
      }
    }
    passes_.push_back(p);
  }

  Index block_rows(std::size_t level) const { return passes_[level].radix * passes_[level].m; }

  void descend(std::size_t level, T* x) const {
    if (level == passes_.size()) {
      return;
    }
    const Index rows = block_rows(level);
    if (rows <= cached_rows) {
      for (std::size_t k = level; k < passes_.size(); ++k) {
        run<false>(passes_[k], x, rows / block_rows(k));
      }
      return;
    }
    const Pass& p = passes_[level];
    run<false>(p, x, 1);
    for (Index q = 0; q < p.radix; ++q) {
      descend(level + 1, x + q * p.m * row_size<T>);
    }
  }

  void ascend(std::size_t level, T* x) const {
    if (level == passes_.size()) {
      return;
    }
    const Index rows = block_rows(level);
    if (rows <= cached_rows) {
      for (std::size_t k = passes_.size(); k-- > level;) {
        run<true>(passes_[k], x, rows / block_rows(k));
      }
      return;
    }
    const Pass& p = passes_[level];
    for (Index q = 0; q < p.radix; ++q) {
      ascend(level + 1, x + q * p.m * row_size<T>);
    }
    run<true>(p, x, 1);
  }

  template <bool inverse>
  void run(const Pass& p, T* x, Index groups) const {
    switch (p.radix) {
      case 2:
        return run<2, inverse>(p, x, groups);
      case 3:
        return run<3, inverse>(p, x, groups);
      case 4:
        return run<4, inverse>(p, x, groups);
      case 5:
        return run<5, inverse>(p, x, groups);
      default:
        return run<7, inverse>(p, x, groups);
    }
  }
  template <unsigned R, bool inverse>
  void run(const Pass& p, T* x, Index groups) const {
    const Factor<T>*const roots = factors_.data() + p.roots, *const turns = factors_.data() + p.turns;
    p.m == 1 ? pass<T, R, inverse, true>(x, groups, p.m, roots, turns)
             : pass<T, R, inverse, false>(x, groups, p.m, roots, turns);
  }

  Index length_;
  std::vector<Pass> passes_;  // forward
  std::vector<Factor<T>> factors_;
  std::vector<Index> order_;
};

}  // namespace gated::detail::fourier
