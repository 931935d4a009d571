#pragma once

#include <array>
#include <concepts>
#include <new>
#include <utility>

#include "gated/core/run_matrix.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// Memory of a run without a tape: allocates matrices, and reuses those that may be overwritten.

namespace gated {

/// The memory of a Batch or Stream: a workspace, and the place where the running layer's result goes.
template <class T>
class RunMemory {
 public:
  using Matrix = RunMatrix<T>;

  Workspace<T>& workspace() const { return workspace_; }

  static Index rows(const Matrix& x) { return x.rows(); }
  static Index columns(const Matrix& x) { return x.columns(); }
  View<T> operator[](const Matrix& x) const { return x; }
  static Matrix columns(const Matrix& x, Index first, Index number) { return x.sharing(x.columns(first, number)); }

  /// Splits the columns of x into parts of these widths. If x has no other handle, each part has its own reference count.
  template <std::same_as<Index>... Widths>
  std::array<Matrix, sizeof...(Widths)> split(Matrix x, Widths... widths) {
    Index first = 0;
    const bool is_owned = x.is_owned();  // checked before the parts add handles to x
    const auto part = [&](Index width) {
      const MatrixView<T> rows = x.columns(std::exchange(first, first + width), width);
      if (!is_owned) {
        return x.sharing(rows);
      }
      return Matrix(rows, new_use(workspace_.take(use_size), x.use()));
    };
    return {part(widths)...};
  }

  /// An uninitialized matrix, valid until the running layer returns. Uses the memory of the layer's result if that is free and
  /// has this shape.
  Matrix make(Index rows, Index columns) {
    if (place_ != nullptr && place_->use->count == 0 && place_->rows.rows() == rows && place_->rows.columns() == columns) {
      return Matrix(place_->rows, place_->use);
    }
    return make_rows(rows, columns, row_stride<T>(columns));
  }
  /// A matrix with x's shape; reuses x's memory if x has no other handle.
  Matrix reuse(const Matrix& x) { return x.is_owned() ? x.sharing(x) : make(x.rows(), x.columns()); }
  /// A matrix that equals x and may be overwritten: x itself if it has no other handle, otherwise a copy.
  Matrix owned(Matrix x) {
    if (x.is_owned()) {
      return x;
    }
    const Matrix copy = make(x.rows(), x.columns());
    copy.assign(x);
    return copy;
  }
  /// `number` uninitialized scalars, valid until the running layer returns.
  T* take(Index number) const { return workspace_.take(number); }
  /// A matrix with contiguous rows, valid until the running layer returns.
  Matrix make_contiguous(Index rows, Index columns) { return make_rows(rows, columns, columns); }

 protected:
  /// The memory for a layer's result; free while no handle refers to it.
  struct Place {
    MatrixView<T> rows;
    MatrixUse* use;
  };

  explicit RunMemory(Workspace<T>& workspace) : workspace_(workspace) {}

  Workspace<T>& workspace_;
  const Place* place_ = nullptr;  // where the running layer's result goes
  Index depth_ = 1;               // 1 outside all layers, plus 1 per nested layer; a MatrixUse of depth 0 is the caller's

 private:
  /// Scalars reserved for a MatrixUse: a whole cache line, which keeps the rows behind it aligned.
  static constexpr Index use_size = cache_line_bytes / static_cast<Index>(sizeof(T));
  static_assert(sizeof(MatrixUse) <= cache_line_bytes);

  /// Constructs the MatrixUse of a new matrix at `memory`. For a part of another matrix, `whole` is that matrix's MatrixUse.
  MatrixUse* new_use(T* memory, MatrixUse* whole = nullptr) const {
    return ::new (static_cast<void*>(memory)) MatrixUse{.depth = depth_, .whole = whole};
  }
  Matrix make_rows(Index rows, Index columns, Index stride) const {
    T* const memory = workspace_.take(use_size + rows * stride);
    return Matrix(MatrixView<T>(memory + use_size, rows, columns, stride), new_use(memory));
  }
};

}  // namespace gated
