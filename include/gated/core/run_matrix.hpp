#pragma once

#include <span>
#include <utility>

#include "gated/core/matrix_view.hpp"

/// @file
/// What the body of a layer holds in its hands: rows, and whether they are its own.

namespace gated {

/// Who needs some memory of a run. In the run's memory itself.
struct MatrixUse {
  Index count = 0;             ///< handles that refer to it
  Index depth = 0;             ///< of the layer in whose memory this lies
  MatrixUse* whole = nullptr;  ///< of which it is a part, if not all
};

/// Rows in a run. A copy refers to the same rows, as a View does; moving one hands it on.
///
/// The rows may be overwritten by who holds the only handle of them, which std::move() can give to an op or a layer:
///
///     const auto h = run(up, x);
///     return run(down, activate(run, std::move(h), Activation::gelu));   // in place, because nobody else holds h
///
/// A caller's rows are nobody's to overwrite. A handle that was moved from is absent.
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
    std::swap(static_cast<MatrixView<T>&>(*this), static_cast<MatrixView<T>&>(other));
    std::swap(use_, other.use_);
    return *this;
  }
  ~RunMatrix() { release(use_); }

  MatrixUse* use() const { return use_; }
  /// Whether nobody else needs the rows.
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
  /// Counts one more handle. A part that somebody needs needs its whole, once.
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

/// x as a body gets it: moved if it may be, a handle of a caller's rows, or the ids of tokens.
template <class T>
RunMatrix<T> in_run(const RunMatrix<T>& x) {
  return x;
}
template <class T>
RunMatrix<T> in_run(RunMatrix<T>& x) {
  return x;
}
template <class T>
RunMatrix<T> in_run(RunMatrix<T>&& x) {
  return std::move(x);
}
template <class T>
RunMatrix<T> in_run(const MatrixView<T>& x) {
  return RunMatrix<T>(x);
}
template <class Ids>
requires requires(const Ids& ids) { ids.size_bytes(); }
Ids in_run(const Ids& ids) { return ids; }

/// Its rows and columns: of ids their number, and none.
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
