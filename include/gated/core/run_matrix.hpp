#pragma once

#include <span>
#include <utility>

#include "gated/core/matrix_view.hpp"

/// @file
/// Matrices in the body of a layer, with a count of their handles.

namespace gated {

/// Counts the handles of some memory of a run. It lies in that memory.
struct MatrixUse {
  Index count = 0;             ///< handles
  Index depth = 0;             ///< of the layer that allocated it
  MatrixUse* whole = nullptr;  ///< of a part: the use of the whole matrix
};

/// Rows in a run. A copy refers to the same rows, as a View does; moving one hands it on.
///
/// The only handle of a matrix may overwrite it. std::move() hands it to an op or a layer:
///
///     const auto h = run(up, x);
///     return run(down, activate(run, std::move(h), Activation::gelu));   // in place: no other handle of h is left
///
/// A caller's rows are never overwritten. A handle that was moved from is absent.
template <class T>
class RunMatrix : public MatrixView<T> {
 public:
  RunMatrix() = default;
  /// A caller's rows.
  explicit RunMatrix(const MatrixView<T>& rows) : MatrixView<T>(rows) {}
  /// One more handle of a run's rows.
  RunMatrix(const MatrixView<T>& rows, MatrixUse* use) : MatrixView<T>(rows), use_(use) { hold(use); }
  RunMatrix(const RunMatrix& other) : RunMatrix(other, other.use_) {}
  RunMatrix(RunMatrix&& other) noexcept
      : MatrixView<T>(std::exchange(static_cast<MatrixView<T>&>(other), MatrixView<T>())),
        use_(std::exchange(other.use_, nullptr)) {}
  RunMatrix& operator=(RunMatrix other) noexcept {
    static_cast<MatrixView<T>&>(*this) = other;
    std::swap(use_, other.use_);
    return *this;
  }
  ~RunMatrix() { release(use_); }

  MatrixUse* use() const { return use_; }
  /// Makes the handle absent.
  void reset() {
    static_cast<MatrixView<T>&>(*this) = {};
    release(std::exchange(use_, nullptr));
  }
  /// True for the only handle.
  bool is_owned() const { return use_ != nullptr && use_->count == 1; }
  /// A handle of `rows`, a part of these.
  RunMatrix sharing(const MatrixView<T>& rows) const { return {rows, use_}; }

  /// Returns whether the rows lie in the memory of a layer outside `depth`, and if so counts the handle there.
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
  /// Counts one more handle. All handles of a part are one of its whole.
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

/// x as a body gets it: the moved handle, a new handle of the same rows, or the ids of tokens.
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

/// The rows and columns of an input. Each id is a row, without columns.
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
