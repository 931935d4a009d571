#pragma once

#include <algorithm>
#include <vector>

#include "gated/core/sequences.hpp"
#include "gated/core/stream.hpp"
#include "gated/ops/gradients.hpp"
#include "gated/ops/toeplitz.hpp"

/// @file
/// The discrete Fourier transform over the tokens of a sequence, of any length.

namespace gated {

namespace detail::fourier {

/// A transform of any length: by passes, or, where a prime above 7 divides the length, by Bluestein's chirps, which make it a
/// product with a Toeplitz matrix: e^(-2πijk/n) = a_j · a_k · ā_{k-j} with a_t = e^(-πit²/n).
template <class T>
class Transform {
 public:
  explicit Transform(Index length) : length_(length) {
    if (Passes<T>::serve(length)) {
      passes_ = &length_table<Passes<T>>(length);
      rows_.resize(static_cast<std::size_t>(length));
      for (Index p = 0; p < length; ++p) {
        rows_[static_cast<std::size_t>(passes_->order()[static_cast<std::size_t>(p)])] = p;
      }
      return;
    }
    circle_ = &Circle<T>::of(length);
    for (Index t = 0; t < length; ++t) {
      rows_.push_back(t);
      chirps_.push_back(Factor<T>::turn(t * t % (2 * length), 2 * length));
    }
    std::vector<T> scratch(static_cast<std::size_t>(circle_->scratch_size()));
    circle_->transform_matrix(
        length,
        [&](Index k, T* row) {
          const Factor<T>& chirp = chirps_[static_cast<std::size_t>(k < 0 ? -k : k)];
          row[0] = chirp.c;
          row[vector_width<T>()] = chirp.minus_s;
        },
        scratch.data());
    factors_.resize(static_cast<std::size_t>(circle_->bins()));
    circle_->take_lane(scratch.data(), 0, factors_.data());
  }
  static const Transform& of(Index length) { return length_table<Transform>(length); }

  Index length() const { return length_; }
  Index scratch_size() const { return passes_ != nullptr ? length_ * row_size<T>() : circle_->scratch_size(); }
  /// Where operator() leaves each bin.
  const Index* order() const { return rows_.data(); }

  /// Transforms the first length() rows of scratch.
  void operator()(T* x) const {
    if (passes_ != nullptr) {
      return passes_->forward(x);
    }
    Circle<T>::multiply(chirps_.data(), false, length_, x, x);
    circle_->product(factors_.data(), false, length_, x);
    Circle<T>::multiply(chirps_.data(), false, length_, x, x);
  }

 private:
  Index length_;
  std::vector<Index> rows_;  // of the bins
  const Passes<T>* passes_ = nullptr;
  const Circle<T>* circle_ = nullptr;  // without passes
  std::vector<Factor<T>> chirps_, factors_;
};

/// Calls `f(transform, offset, first, scratch)` for each sequence of a batch, which begins at row `offset`, and each `step`-th
/// `first` below `columns`, in parallel tasks with scratch of their own.
template <class T, class F>
void for_each_transform(const Sequences& sequences, Index columns, Index step, Workspace<T>& workspace, const F& f) {
  Index size = 0;
  for (Index b = 0; b < sequences.count(); ++b) {
    if (sequences.length(b) > 0) {  // tables are made here, where memory may be asked for
      size = std::max(size, Transform<T>::of(sequences.length(b)).scratch_size());
    }
  }
  const auto frame = workspace.frame();
  const Threads threads = sequences.total() * columns < 1 << 13 ? Threads{1} : workspace.threads();
  T* const scratch = workspace.take(size * threads.count());
  const Index parts = (columns + step - 1) / step;
  parallel_for(threads, sequences.count() * parts, [&](Index task, Index thread) {
    const Index b = task / parts;
    if (sequences.length(b) > 0) {
      f(Transform<T>::of(sequences.length(b)), sequences.offset(b), task % parts * step, scratch + thread * size);
    }
  });
}

}  // namespace detail::fourier

/// A complex matrix in a run, or one without an imaginary part, which is then absent.
template <class Run>
struct ComplexRows {
  typename Run::Rows real, imaginary = {};
};

/// Which way a Fourier transform goes. Neither is scaled: both, one after the other, give n times what was there.
enum class FourierDirection {
  forward,  ///< X_k = Σ_t x_t e^(-2πikt/n)
  backward  ///< x_t = Σ_k X_k e^(2πikt/n)
};

namespace detail::fourier {

/// y = the transform of x, sequence by sequence; imaginary parts of x may be absent. y may be x.
template <class T>
void transform_tokens(const Sequences& sequences, const Rows<const T>& real, const Rows<const T>& imaginary,
                      FourierDirection direction, const Rows<T>& y_real, const Rows<T>& y_imaginary, Workspace<T>& workspace) {
  const Index width = vector_width<T>();
  for_each_transform<T>(sequences, real.columns, width, workspace,
                        [&](const Transform<T>& transform, Index offset, Index column, T* x) {
                          // Real and imaginary parts that change places, before and after, make the one direction the other.
                          const auto part = [&](bool first, const auto& re, const auto& im) {
                            return (first == (direction == FourierDirection::forward) ? re : im)
                                .block(offset, column, transform.length(), std::min(width, real.columns - column));
                          };
                          kernels<FourierKernels<T>>().fourier_load(part(true, real, imaginary), part(false, real, imaginary),
                                                                    nullptr, x);
                          transform(x);
                          kernels<FourierKernels<T>>().fourier_store(x, transform.order(), nullptr, false,
                                                                     part(true, y_real, y_imaginary),
                                                                     part(false, y_real, y_imaginary));
                        });
}

}  // namespace detail::fourier

/// The discrete Fourier transform of every column over the tokens of each sequence.
///
/// Any length: by radices 2, 3, 4, 5 and 7, and by Bluestein's chirps where another prime divides it. Backward: the transform
/// of the other direction, which is the adjoint.
/// Shapes: real and imaginary parts are N × C.
/// Errors: ShapeError for parts of different shapes, ArgumentError in a stream.
/// Cost: about 5·n·log₂ n flops per sequence and column, four to six times that with chirps; scratch of 2·n vectors per thread,
/// or 8·n to 10·n. Tables of a length are made once in a program.
template <class Run, class T = typename Run::Scalar>
ComplexRows<Run> fourier_transform(Run& run, const ComplexRows<Run>& x,
                                   FourierDirection direction = FourierDirection::forward) {
  expect_all_tokens(run, "a Fourier transform over the tokens");
  const bool is_complex = static_cast<bool>(x.imaginary);
  if (is_complex) {
    require<ShapeError>(run.count(x.real) == run.count(x.imaginary) && run.width(x.real) == run.width(x.imaginary),
                        "fourier_transform: the real part is ", run.count(x.real), " × ", run.width(x.real),
                        " and the imaginary part ", run.count(x.imaginary), " × ", run.width(x.imaginary),
                        ", expected equal shapes.");
  }
  run.sequences().expect_total("fourier_transform", run.count(x.real));
  const ComplexRows<Run> y = {run.make(run.count(x.real), run.width(x.real)), run.make(run.count(x.real), run.width(x.real))};
  const Rows<const T> imaginary = is_complex ? Rows<const T>(run[x.imaginary]) : Rows<const T>();
  detail::fourier::transform_tokens<T>(run.sequences(), run[x.real], imaginary, direction, run[y.real], run[y.imaginary],
                                       run.workspace());
  if constexpr (Run::records) {
    const auto adjoint = direction == FourierDirection::forward ? FourierDirection::backward : FourierDirection::forward;
    run.push([x, y, is_complex, adjoint, kept = run.kept_sequences()](auto& back) {
      const ConstView<T> dy_real = back.gradient(y.real), dy_imaginary = back.gradient(y.imaginary);
      const auto frame = back.workspace().frame();
      MatrixMap<T> dx_real = back.workspace().matrix(dy_real.rows(), dy_real.cols());
      MatrixMap<T> dx_imaginary = back.workspace().matrix(dy_real.rows(), dy_real.cols());
      detail::fourier::transform_tokens<T>(back.sequences(kept), Rows<const T>(dy_real), Rows<const T>(dy_imaginary), adjoint,
                                           Rows<T>(dx_real), Rows<T>(dx_imaginary), back.workspace());
      add_gradient(back, x.real, ConstView<T>(dx_real));
      if (is_complex) {
        add_gradient(back, x.imaginary, ConstView<T>(dx_imaginary));
      }
    });
  }
  return y;
}

}  // namespace gated
