#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gated/core/sequences.hpp"
#include "gated/ops/toeplitz.hpp"

/// @file
/// Discrete Fourier transform of columns of any length, for FNet (ops/fourier_mixing.hpp).

namespace gated::detail::fourier {

/// A transform of any length. Lengths with a prime factor above 7 use Bluestein's algorithm, which turns the transform into a
/// product with a Toeplitz matrix: e^(-2πijk/n) = a_j · a_k · ā_{k-j} with a_t = e^(-πit²/n). Other lengths use Passes.
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
      const auto square = static_cast<std::uint64_t>(t) * static_cast<std::uint64_t>(t);  // exceeds a 32-bit Index
      chirps_.push_back(Factor<T>::turn(static_cast<Index>(square % static_cast<std::uint64_t>(2 * length)), 2 * length));
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
  static const Transform& of(Index length) {
    constexpr Index kernels = 2 * portable_bit;  // a table for each form and arithmetic, because factors_ depend on them
    struct Keyed : Transform {
      explicit Keyed(Index key) : Transform(key / kernels) {}
    };
    return length_table<Keyed>(length * kernels + running_kernels());
  }

  Index length() const { return length_; }
  Index scratch_size() const { return passes_ != nullptr ? length_ * row_size<T>() : circle_->scratch_size(); }
  /// The row in which operator() stores each bin.
  const Index* order() const { return rows_.data(); }

  /// Transforms the first length() rows of the scratch x.
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
  std::vector<Index> rows_;  // the row of each bin
  const Passes<T>* passes_ = nullptr;
  const Circle<T>* circle_ = nullptr;  // used if there are no passes
  std::vector<Factor<T>> chirps_, factors_;
};

/// Calls `f(transform, offset, first, scratch)` for each nonempty sequence and each group of `step` columns. The sequence
/// starts at row `offset`, the group at column `first`. Calls run in parallel, with separate scratch.
template <class T, class F>
void for_each_transform(const Sequences& sequences, Index columns, Index step, Workspace<T>& workspace, const F& f) {
  Index size = 0;
  for (Index b = 0; b < sequences.count(); ++b) {
    if (sequences.length(b) > 0) {  // build tables here, where allocating is allowed
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

}  // namespace gated::detail::fourier
