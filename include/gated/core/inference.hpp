#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "gated/core/contract.hpp"
#include "gated/core/mask.hpp"
#include "gated/core/run_matrix.hpp"
#include "gated/core/running_layer.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// What Batch and Stream, the runs without a tape, have in common: see core/run.hpp.

namespace gated {

template <class Of>
struct Epilogue;  // ops/epilogue.hpp

/// A matrix in a run: RunMatrix<T>, or a Variable on a tape.
template <class Run>
using MatrixOf = typename Run::Matrix;

namespace detail {

/// A layer whose body is `apply(run, x, more…, epilogue)`, and makes the epilogue's part of its own last product. To the result
/// of others it is applied afterwards.
template <class L, class Run, class In, class... More>
concept JoinsItself = requires(const L& layer, Run& run, In x, Epilogue<Run> epilogue, More... more) {
  layer.apply(run, std::move(x), std::forward<More>(more)..., std::move(epilogue));
};

}  // namespace detail

/// The base of Batch and Stream.
template <class Derived, class T>
class Inference {
 public:
  using Scalar = T;
  using Matrix = RunMatrix<T>;
  static constexpr bool records = false;

  Workspace<T>& workspace() const { return workspace_; }
  const Sequences& sequences() const { return sequences_; }
  Mask mask() const { return mask_; }

  static Index rows(const Matrix& x) { return x.rows(); }
  static Index columns(const Matrix& x) { return x.columns(); }
  View<T> operator[](const Matrix& x) const { return x; }
  static Matrix columns(const Matrix& x, Index first, Index number) { return x.sharing(x.columns(first, number)); }

  /// All columns of x, as parts of these widths. If x is moved in, each part may be overwritten alone.
  template <std::same_as<Index>... Widths>
  std::array<Matrix, sizeof...(Widths)> split(Matrix x, Widths... widths) {
    Index first = 0;
    const bool is_owned = x.is_owned();  // asked before its parts share it
    const auto part = [&](Index width) {
      const MatrixView<T> rows = x.columns(std::exchange(first, first + width), width);
      if (!is_owned) {
        return x.sharing(rows);
      }
      return Matrix(rows, new_use(workspace_.take(use_size), x.use()));
    };
    return {part(widths)...};
  }

  /// An uninitialised matrix that lasts until the layer that runs returns: the place of its result, if that is free and fits.
  Matrix make(Index rows, Index columns) {
    if (place_.use != nullptr && place_.use->count == 0 && place_.rows.rows() == rows && place_.rows.columns() == columns) {
      return Matrix(place_.rows, place_.use);
    }
    const Index stride = row_stride<T>(columns);
    T* const memory = workspace_.take(rows * stride + use_size);
    return Matrix(MatrixView<T>(memory, rows, columns, stride), new_use(memory + rows * stride));
  }
  /// The same for the result of an epilogue: the memory of one of its matrices, if that has no other handle.
  Matrix make(Index rows, Index columns, const Epilogue<Derived>& epilogue) {
    for (const Matrix* x : {&epilogue.residual, &epilogue.gate, &epilogue.added}) {
      if (x->is_owned() && x->rows() == rows && x->columns() == columns) {
        return x->sharing(*x);
      }
    }
    return make(rows, columns);
  }
  /// A matrix of the shape of x: the memory of x, if that has no other handle.
  Matrix reuse(const Matrix& x) { return x.is_owned() ? x.sharing(x) : make(x.rows(), x.columns()); }
  /// x, to be overwritten: x itself if it has no other handle, otherwise a copy.
  Matrix owned(Matrix x) {
    if (x.is_owned()) {
      return x;
    }
    const Matrix copy = make(x.rows(), x.columns());
    copy.assign(x);
    return copy;
  }
  /// Scalars that last as long.
  T* take(Index number) const { return workspace_.take(number); }
  /// Contiguous rows that last as long.
  Matrix make_contiguous(Index rows, Index columns) {
    T* const memory = workspace_.take(rows * columns + use_size);
    return Matrix(MatrixView<T>(memory, rows, columns, columns), new_use(memory + rows * columns));
  }

  /// layer(x), joined by `epilogue`.
  template <class L, class In>
  Matrix operator()(const L& layer, In&& x, Epilogue<Derived> epilogue = {}) {
    auto own = detail::in_run(std::forward<In>(x));
    if (!epilogue.is_plain() && (hooked() || !detail::JoinsItself<L, Derived, decltype(own)>)) [[unlikely]] {
      return join(self(), call(layer, std::move(own), Epilogue<Derived>()), std::move(epilogue));
    }
    return call(layer, std::move(own), std::move(epilogue));
  }
  /// layer(x, more…), for a layer that takes more than a matrix.
  template <class L, class In, class More, class... Others>
  requires(!std::same_as<std::remove_cvref_t<More>, Epilogue<Derived>>) Matrix operator()(const L& layer, In&& x, More&& more,
                                                                                          Others&&... others) {
    return call(layer, detail::in_run(std::forward<In>(x)), Epilogue<Derived>(), std::forward<More>(more),
                std::forward<Others>(others)...);
  }

  /// y = layer(x, more…), where y is a caller's and may be x. The caller has checked x by the layer's contract.
  template <class L, class In, class... More>
  void into(const MatrixView<T>& y, const L& layer, const In& x, More&&... more) {
    MatrixUse use{.depth = depth_ - 1};
    if constexpr (std::is_convertible_v<const In&, MatrixView<T>>) {
      const MatrixView<T> rows = x;
      body(layer, rows.data == y.data ? Matrix(rows, &use) : Matrix(rows), Epilogue<Derived>(), {y, &use}, false,
           std::forward<More>(more)...);
    } else {
      body(layer, In(x), Epilogue<Derived>(), {y, &use}, false, std::forward<More>(more)...);
    }
  }

  // Nothing is dropped but in training.
  static Matrix embedding_dropout(Matrix x) { return x; }
  static Matrix dropout(Matrix x, double) { return x; }

  /// The path of the layer that runs, for messages and hooks, and the name of the layer around all others.
  std::string path() const {
    std::string path;
    if (running_ != nullptr) {
      running_->write(path);
    }
    return path;
  }
  const char* outermost() const { return running_ == nullptr ? "layer" : running_->outermost().name; }

  bool hooked() const { return workspace_.hooked(); }
  /// Shows `output` under the path of the layer that runs, or one of several parts of it: "weights.0" or, for 3, "3".
  void show(const MatrixView<T>& output, const char* part = nullptr, Index index = -1, Index inner = -1,
            Index innermost = -1) const {
    if (!hooked()) [[likely]] {
      return;
    }
    std::string path = this->path();
    const auto append = [&](const std::string& element) { path += (path.empty() ? "" : ".") + element; };
    if (part != nullptr) {
      append(part);
    }
    for (const Index number : {index, inner, innermost}) {
      if (number >= 0) {
        append(text(number));
      }
    }
    workspace_.show(path, output);
  }

 protected:
  /// Where a result goes. It is free while `use` counts no handle.
  struct Place {
    MatrixView<T> rows = {};
    MatrixUse* use = nullptr;
  };

  Inference(Workspace<T>& workspace, const Sequences& sequences, Mask mask, const RunningLayer* running)
      : workspace_(workspace), sequences_(sequences), mask_(mask), running_(running) {}
  /// In the same layer as `around`.
  Inference(const Inference& around, const Sequences& sequences, Mask mask) : Inference(around) {
    sequences_ = sequences;
    mask_ = mask;
  }

  const RunningLayer* running() const { return running_; }
  Derived& self() { return static_cast<Derived&>(*this); }

 private:
  /// Numbers of the memory of a MatrixUse, wherever it begins.
  static constexpr Index use_size = static_cast<Index>((sizeof(MatrixUse) + alignof(MatrixUse)) / sizeof(T));

  /// That of new rows, or of a part of others.
  MatrixUse* new_use(T* memory, MatrixUse* whole = nullptr) const {
    const std::size_t behind = reinterpret_cast<std::uintptr_t>(memory) % alignof(MatrixUse);
    auto* const bytes = reinterpret_cast<std::byte*>(memory) + (behind == 0 ? 0 : alignof(MatrixUse) - behind);
    return ::new (static_cast<void*>(bytes)) MatrixUse{.depth = depth_, .whole = whole};
  }

  /// In the body of a layer while it lives.
  class Inside {
   public:
    Inside(Inference& run, const RunningLayer& layer, const Place& place)
        : run_(run),
          running_(std::exchange(run.running_, &layer)),
          place_(std::exchange(run.place_, place)),
          frame_(run.workspace_.inner_frame()) {
      ++run.depth_;
    }
    ~Inside() {
      --run_.depth_;
      run_.place_ = place_;
      run_.running_ = running_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Inference& run_;
    const RunningLayer* running_;
    Place place_;
    typename Arena<T>::Frame frame_;
  };

  template <class L, class In, class... More>
  Matrix call(const L& layer, In&& x, Epilogue<Derived>&& epilogue, More&&... more) {
    const Contract contract = layer.contract();
    const Index columns = detail::columns_of(x), width = contract.output_columns(columns);
    expect_columns(L::name, contract, columns);
    self().expect_rows(L::name, contract, detail::rows_of(x));
    const Index rows = contract.output_rows(detail::rows_of(x));
    if constexpr (std::same_as<In, Matrix>) {
      if (x.is_owned() && x.rows() == rows && columns == width) {
        const Place place{x, x.use()};
        return body(layer, std::move(x), std::move(epilogue), place, true, std::forward<More>(more)...);
      }
    }
    Matrix made = make(rows, width);
    MatrixUse use{.depth = depth_};
    Matrix y = body(layer, std::move(x), std::move(epilogue), {made, &use}, true, std::forward<More>(more)...);
    return y.use() == &use ? made : y;
  }

  /// What the body makes: at `place`, or where it has made it, if it outlives the body and `stays`.
  template <class L, class In, class... More>
  Matrix body(const L& layer, In&& x, Epilogue<Derived>&& epilogue, const Place& place, bool stays, More&&... more) {
    const RunningLayer running(running_, layer);
    const Inside inside(*this, running, place);
    Matrix y;
    if constexpr (detail::JoinsItself<L, Derived, In, More...>) {
      y = layer.apply(self(), std::move(x), std::forward<More>(more)..., std::move(epilogue));
    } else {
      y = layer.apply(self(), std::move(x), std::forward<More>(more)...);
    }
    require<ShapeError>(y.rows() == place.rows.rows() && y.columns() == place.rows.columns(), L::name, ": its body made ",
                        y.rows(), " × ", y.columns(), ", but its contract says ", place.rows.rows(), " × ",
                        place.rows.columns(), ". Correct `in`, `out`, `rows` or `of_rows` in contract().");
    if (hooked() && !layer.contract().shows_itself) {
      show(y);
    }
    if (y.data == place.rows.data && y.stride == place.rows.stride) {
      return Matrix(place.rows, place.use);
    }
    if (stays && y.outlive(depth_)) {
      return y;
    }
    place.rows.assign(y);
    return Matrix(place.rows, place.use);
  }

  Workspace<T>& workspace_;
  Sequences sequences_;
  Mask mask_;
  const RunningLayer* running_;
  Place place_ = {};
  Index depth_ = 1;  // of layers in layers, from 1 on; what callers own has 0
};

}  // namespace gated
