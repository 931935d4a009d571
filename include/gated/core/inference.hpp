#pragma once

#include <concepts>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

#include "gated/core/contract.hpp"
#include "gated/core/mask.hpp"
#include "gated/core/run_memory.hpp"
#include "gated/core/running_layer.hpp"

/// @file
/// The base class of Batch and Stream, the runs without a tape (core/run.hpp).

namespace gated {

template <class Of>
struct Epilogue;  // ops/epilogue.hpp

/// The matrix type of a run: RunMatrix<T>, or Variable on a tape.
template <class Run>
using MatrixOf = typename Run::Matrix;

namespace detail {

/// A layer with `apply(run, x, more…, epilogue)`, which fuses the epilogue into its last op. For other layers, the epilogue
/// is a separate pass.
template <class L, class Run, class In, class... More>
concept JoinsItself = requires(const L& layer, Run& run, In x, Epilogue<Run> epilogue, More... more) {
  layer.apply(run, std::move(x), std::forward<More>(more)..., std::move(epilogue));
};

}  // namespace detail

/// The base of Batch and Stream.
template <class Derived, class T>
class Inference : public RunMemory<T> {
 public:
  using Scalar = T;
  using Matrix = RunMatrix<T>;
  static constexpr bool records = false;

  const Sequences& sequences() const { return sequences_; }
  Mask mask() const { return mask_; }

  using RunMemory<T>::make;
  /// A rows × columns matrix for the result of `epilogue`. Reuses an operand of this shape that has no other handle.
  Matrix make(Index rows, Index columns, const Epilogue<Derived>& epilogue) {
    for (const Matrix* x : {&epilogue.residual, &epilogue.gate, &epilogue.added}) {
      if (x->is_owned() && x->rows() == rows && x->columns() == columns) {
        return x->sharing(*x);
      }
    }
    return make(rows, columns);
  }

  /// layer(x) or layer(x, more…), without an epilogue.
  template <class L, class In, class... More>
  requires(!(std::same_as<std::remove_cvref_t<More>, Epilogue<Derived>> || ...)) Matrix operator()(const L& layer, In&& x,
                                                                                                   More&&... more) {
    auto&& own = detail::in_run(std::forward<In>(x));
    Call call(*this, {running_, layer}, layer.contract(), input_of(own));
    if constexpr (detail::JoinsItself<L, Derived, std::remove_cvref_t<decltype(own)>, More...>) {
      return call.result(layer.apply(self(), std::move(own), std::forward<More>(more)..., Epilogue<Derived>()), own);
    } else {
      return call.result(layer.apply(self(), std::move(own), std::forward<More>(more)...), own);
    }
  }
  /// layer(x) with `epilogue` applied.
  template <class L, class In>
  Matrix operator()(const L& layer, In&& x, Epilogue<Derived>&& epilogue) {
    auto&& own = detail::in_run(std::forward<In>(x));
    if constexpr (detail::JoinsItself<L, Derived, std::remove_cvref_t<decltype(own)>>) {
      if (epilogue.is_plain() || !hooked()) [[likely]] {
        Call call(*this, {running_, layer}, layer.contract(), input_of(own));
        return call.result(layer.apply(self(), std::move(own), std::move(epilogue)), own, epilogue);
      }
    }
    Matrix y = (*this)(layer, std::move(own));
    return epilogue.is_plain() ? y : join(self(), std::move(y), std::move(epilogue));
  }
  /// layer(x) with a copy of `epilogue` applied.
  template <class L, class In>
  Matrix operator()(const L& layer, In&& x, const Epilogue<Derived>& epilogue) {
    return (*this)(layer, std::forward<In>(x), Epilogue<Derived>(epilogue));
  }

  /// y = layer(x, more…) in the caller's memory; y may be x. The caller must have checked x against the layer's contract.
  template <class L, class In, class... More>
  void into(const MatrixView<T>& y, const L& layer, const In& x, More&&... more) {
    MatrixUse use{.depth = depth_ - 1};
    auto own = detail::in_run(x);
    if constexpr (std::same_as<decltype(own), Matrix>) {
      if (own.data == y.data) {
        own = Matrix(own, &use);
      }
    }
    Call call(*this, {running_, layer}, Place{y, &use}, hooked() && !layer.contract().shows_itself);
    if constexpr (detail::JoinsItself<L, Derived, decltype(own), More...>) {
      call.result(layer.apply(self(), std::move(own), std::forward<More>(more)..., Epilogue<Derived>()));
    } else {
      call.result(layer.apply(self(), std::move(own), std::forward<More>(more)...));
    }
  }

  // Dropout applies only in training.
  static Matrix embedding_dropout(Matrix x) { return x; }
  static Matrix dropout(Matrix x, double) { return x; }

  /// The path of the running layer, for messages and hooks.
  std::string path() const { return detail::path_of(running_); }
  /// The name of the outermost running layer.
  const char* outermost() const { return detail::outermost_of(running_); }

  bool hooked() const { return workspace_.hooked(); }
  /// Passes `output` to the hook. Its path is that of the running layer, followed by `part` and the indices: "weights.0".
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
  Inference(Workspace<T>& workspace, const Sequences& sequences, Mask mask, const RunningLayer* running)
      : RunMemory<T>(workspace), sequences_(sequences), mask_(mask), running_(running) {}
  /// A run inside the same layer as `around`, but with the given sequences and mask.
  Inference(const Inference& around, const Sequences& sequences, Mask mask) : Inference(around) {
    sequences_ = sequences;
    mask_ = mask;
  }

  const RunningLayer* running() const { return running_; }
  Derived& self() { return static_cast<Derived&>(*this); }

 private:
  using typename RunMemory<T>::Place;
  using RunMemory<T>::workspace_, RunMemory<T>::place_, RunMemory<T>::depth_;

  /// The input of a call: its shape, and its memory if the result may overwrite it.
  struct Input {
    Index rows, columns;
    Place place = {};
  };
  static Input input_of(const Matrix& x) { return {x.rows(), x.columns(), x.is_owned() ? Place{x, x.use()} : Place{}}; }
  template <class Ids>
  static Input input_of(const Ids& ids) {
    return {detail::rows_of(ids), detail::columns_of(ids)};
  }

  /// One call of a layer. Lives while the layer's body runs. Not a template of the layer, so it is compiled once.
  class Call {
   public:
    /// The result goes to the run's memory, or over x if the call has the only handle of x and the shapes match.
    /// Errors: ShapeError or ArgumentError if x breaks the layer's contract.
    Call(Inference& run, const RunningLayer& layer, const Contract& contract, const Input& x)
        : run_(run),
          running_(layer),
          made_(run.made_for(layer, contract, x)),
          use_{.depth = run.depth_},
          place_(is_new() ? Place{made_, &use_} : x.place),
          stays_(true),
          shows_result_(run.hooked() && !contract.shows_itself),
          frame_(run.workspace_.inner_frame()) {
      enter();
    }
    /// The result goes to `place`.
    Call(Inference& run, const RunningLayer& layer, const Place& place, bool shows_result)
        : run_(run),
          running_(layer),
          place_(place),
          stays_(false),
          shows_result_(shows_result),
          frame_(run.workspace_.inner_frame()) {
      enter();
    }
    ~Call() {
      --run_.depth_;
      run_.place_ = outer_place_;
      run_.running_ = running_.outer;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Returns the body's result y, after copying it to place_ if it is elsewhere. If stays_, does not copy a y whose memory
    /// outlives the call. First releases `given`, the body's arguments, so that y is the only handle of its rows.
    template <class... Given>
    Matrix result(Matrix y, Given&... given) {
      (let_go(given), ...);
      if (y.rows() != place_.rows.rows() || y.columns() != place_.rows.columns()) [[unlikely]] {
        refuse_result(running_.name(), y.rows(), y.columns(), place_.rows.rows(), place_.rows.columns());
      }
      if (shows_result_) [[unlikely]] {
        run_.show(y);
      }
      if (y.data != place_.rows.data || (y.rows() > 1 && y.stride != place_.rows.stride)) {
        if (stays_ && y.outlive(run_.depth_)) {
          return y;
        }
        place_.rows.assign(y);
      }
      return is_new() ? std::move(made_) : Matrix(place_.rows, place_.use);
    }

   private:
    void enter() {
      outer_place_ = std::exchange(run_.place_, &place_);
      run_.running_ = &running_;
      ++run_.depth_;
    }
    bool is_new() const { return made_.use() != nullptr; }  // checks use(), not data: made_ may have no elements

    static void let_go(Matrix& x) { x.reset(); }
    static void let_go(Epilogue<Derived>& epilogue) {
      epilogue.added.reset();
      epilogue.gate.reset();
      epilogue.residual.reset();
    }
    template <class Ids>
    static void let_go(const Ids&) {}

    Inference& run_;
    const RunningLayer running_;
    Matrix made_;  // set only if the result needs new memory
    MatrixUse use_;
    const Place* outer_place_ = nullptr;
    const Place place_;
    const bool stays_, shows_result_;
    typename Arena<T>::Frame frame_;
  };

  /// A new matrix for the result of a call, or Matrix() if the result may overwrite x.
  Matrix made_for(const RunningLayer& layer, const Contract& contract, const Input& x) {
    if (!contract.takes_columns(x.columns) || !self().takes_rows(contract, x.rows)) [[unlikely]] {
      refuse(layer.name(), contract, x);
    }
    const Index rows = contract.output_rows(x.rows), columns = contract.output_columns(x.columns);
    return x.place.use != nullptr && x.rows == rows && x.columns == columns ? Matrix() : make(rows, columns);
  }
  /// Raises the error for an input x that breaks the contract.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* name, const Contract& contract, const Input& x) {
    expect_columns(name, contract, x.columns);
    self().expect_rows(name, contract, x.rows);
    std::abort();  // one of the two calls raises
  }

  Sequences sequences_;
  Mask mask_;
  const RunningLayer* running_;
};

}  // namespace gated
