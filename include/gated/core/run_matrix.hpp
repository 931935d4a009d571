#pragma once

#include <span>
#include <utility>

#include "gated/core/matrix_view.hpp"

/// @file
/// What the body of a layer holds in its hands: rows, and whether they are its own.

namespace gated {

/// Counts the handles that refer to some memory of a run. It lies in the run's memory too.
struct MatrixUse {
  Index count = 0;             ///< handles
  Index depth = 0;             ///< of the layer that allocated it
  MatrixUse* whole = nullptr;  ///< that of the matrix of which it is a part; nullptr for a whole one
};

/// Rows in a run. A copy refers to the same rows, as a View does; moving one hands it on.
///
/// Whoever holds the only handle may overwrite the rows. std::move() hands it to an op or a layer:
///
///     const auto h = run(up, x);
///     return run(down, activate(run, std::move(h), Activation::gelu));   // in place: no other handle of h is left
///
/// A caller's rows are never overwritten. A handle that was moved from is absent.
template <class T>
class RunMatrix : public MatrixView<T> {
 public:
  RunMatrix() = default;
  /// A caller's.
  explicit RunMatrix(const MatrixView<T>& rows) : MatrixView<T>(rows) {}
  /// One more handle of a run's.
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
  /// Lets the rows go.
  void reset() {
    static_cast<MatrixView<T>&>(*this) = {};
    release(std::exchange(use_, nullptr));
  }
  /// Whether this is the only handle.
  bool is_owned() const { return use_ != nullptr && use_->count == 1; }
  /// A handle of `rows`, which are among these.
  RunMatrix sharing(const MatrixView<T>& rows) const { return {rows, use_}; }

  /// Keeps the rows only if they lie in the memory of a layer outside `depth`. Returns whether they do.
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

/// x as a body gets it: a moved handle, a new one of the same rows or of a caller's, or the ids of tokens.
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
