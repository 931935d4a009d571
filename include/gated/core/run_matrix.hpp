#pragma once

#include <limits>
#include <span>
#include <utility>

#include "gated/core/matrix_view.hpp"

/// @file
/// Reference-counted matrices in the body of a layer.

namespace gated {

/// The reference count of a matrix in a run.
struct MatrixUse {
  Index count = 0;             ///< number of handles
  Index depth = 0;             ///< nesting depth of the layer whose memory holds the rows
  MatrixUse* whole = nullptr;  ///< for a part of a matrix: the MatrixUse of the whole
};

/// A reference-counted handle to a matrix in a run. A copy adds a reference to the same matrix; a move transfers it.
///
/// An op or layer that receives the only handle to a matrix may overwrite the matrix. Pass the last handle with std::move():
///
///     const auto h = run(up, x);
///     return run(down, activate(run, std::move(h), Activation::gelu));   // in place: h was the only handle
///
/// The caller's own matrices are never overwritten. A moved-from handle is absent, and an epilogue refuses it.
template <class T>
class RunMatrix : public MatrixView<T> {
 public:
  RunMatrix() = default;
  /// A handle to a caller's matrix, which has no reference count.
  explicit RunMatrix(const MatrixView<T>& rows) : MatrixView<T>(rows) {}
  /// One more handle to rows in the run's memory.
  RunMatrix(const MatrixView<T>& rows, MatrixUse* use) : MatrixView<T>(rows), use_(use) { hold(use); }
  RunMatrix(const RunMatrix& other) : RunMatrix(other, other.use_) {}
  RunMatrix(RunMatrix&& other) noexcept
      : MatrixView<T>(std::exchange(static_cast<MatrixView<T>&>(other), MatrixView<T>(nullptr, 0, 0, stride_of_moved))),
        use_(std::exchange(other.use_, nullptr)) {}
  RunMatrix& operator=(RunMatrix other) noexcept {
    static_cast<MatrixView<T>&>(*this) = other;
    std::swap(use_, other.use_);
    return *this;
  }
  ~RunMatrix() { release(use_); }

  MatrixUse* use() const { return use_; }
  bool is_moved_from() const { return this->stride == stride_of_moved; }
  /// Makes the handle absent.
  void reset() {
    static_cast<MatrixView<T>&>(*this) = {};
    release(std::exchange(use_, nullptr));
  }
  /// True if the matrix is in the run's memory and this is its only handle.
  bool is_owned() const { return use_ != nullptr && use_->count == 1; }
  /// A handle to `rows`, which must be part of this matrix. Shares its reference count.
  RunMatrix sharing(const MatrixView<T>& rows) const { return {rows, use_}; }

  /// Returns true if the rows are in memory of a caller or of a layer at a nesting depth below `depth`; the handle is then
  /// counted there. Otherwise returns false and changes nothing.
  bool outlive(Index depth) {
    MatrixUse* outer = use_;
    while (outer != nullptr && outer->depth >= depth) {
      outer = outer->whole;
    }
    if (use_ != nullptr && outer == nullptr) {
      return false;
    }
    *this = RunMatrix(*this, outer);
    return true;
  }

 private:
  static constexpr Index stride_of_moved = std::numeric_limits<Index>::min();

  /// Counts one more handle. All handles to a part together count as one handle to the whole matrix.
  static void hold(MatrixUse* use) {
    while (use != nullptr && use->count++ == 0) {
      use = use->whole;
    }
  }
  static void release(MatrixUse* use) {
    while (use != nullptr && --use->count == 0) {
      use = use->whole;
    }
  }

  MatrixUse* use_ = nullptr;
};

namespace detail {

/// x as an argument of a layer's body: the moved handle, a new handle to the same matrix, or token ids.
template <class T>
RunMatrix<T>&& in_run(RunMatrix<T>&& x) {
  return std::move(x);
}
template <class T>
RunMatrix<T> in_run(const RunMatrix<T>& x) {
  return x;
}
template <class T>
RunMatrix<T> in_run(const MatrixView<T>& x) {
  return RunMatrix<T>(x);
}
template <class Ids>
requires requires(const Ids& ids) { ids.size_bytes(); }
Ids in_run(const Ids& ids) { return ids; }

/// The rows and columns of an input. Each token id counts as a row without columns.
template <class T>
Index rows_of(const MatrixView<T>& x) {
  return x.rows();
}
template <class Id>
Index rows_of(std::span<const Id> ids) {
  return static_cast<Index>(ids.size());
}
template <class T>
Index columns_of(const MatrixView<T>& x) {
  return x.columns();
}
template <class Id>
Index columns_of(std::span<const Id>) {
  return 0;
}

}  // namespace detail

}  // namespace gated
