#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "gated/core/run.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Epilogues in a run, and their backward pass.

namespace gated {

/// Copies the parts of `epilogue` into `own`, the epilogue of a product y, with the matrices as views. The factor and biases of
/// `own` stay as they are.
/// Errors: ShapeError if a matrix does not have y's shape; ArgumentError if both gate and scale are given.
template <class Run, class T = typename Run::Scalar>
void add_parts(Run& run, const Epilogue<Run>& epilogue, const MatrixOf<Run>& y, Epilogue<T>& own) {
  const auto rows = [&](const char* name, const auto& x) -> MatrixView<const T> {
    if (!x) {
      return {};
    }
    require<ShapeError>(run.rows(x) == run.rows(y) && run.columns(x) == run.columns(y), "Epilogue: ", name, " is ", run.rows(x),
                        " × ", run.columns(x), ", expected ", run.rows(y), " × ", run.columns(y), ", the shape of the result.");
    return run[x];
  };
  epilogue.expect_one_gate();
  own.added = rows("added", epilogue.added);
  own.activation = form_in(run.workspace(), epilogue.activation);
  if constexpr (Run::records) {
    if (epilogue.saves_derivative()) {
      own.derivative_kernel = kernels<DerivativeKernels<T>>().activate_and_save_derivative;
    }
  }
  own.gate = epilogue.scale == nullptr
                 ? rows("gate", epilogue.gate)
                 : MatrixView<const T>(epilogue.scale, run.rows(y), run.columns(y), 0);  // stride 0 repeats one row
  own.residual = rows("residual", epilogue.residual);
  own.residual_scale = epilogue.residual_scale;
}
/// A run's epilogue with its matrices as views, for a product y.
template <class Run, class T = typename Run::Scalar>
Epilogue<T> epilogue_of(Run& run, const Epilogue<Run>& epilogue, const MatrixOf<Run>& y, Epilogue<T> own = {}) {
  add_parts(run, epilogue, y, own);
  return own;
}

/// The result of an op that applies an epilogue as it writes, and the data for the backward pass.
template <class Run>
struct Joined {
  MatrixOf<Run> y;
  MatrixOf<Run> saved;                           ///< for backward_through(), if the run records
  Epilogue<typename Run::Scalar> epilogue = {};  ///< the op's epilogue, with its matrices as views
};

namespace detail {

/// Makes a Joined. y uses the memory of an epilogue matrix that has no other handle, or new memory.
template <class Run, class T = typename Run::Scalar>
Joined<Run> joined(Run& run, Index rows, Index columns, const Epilogue<Run>& epilogue,
                   const std::type_identity_t<Epilogue<T>>& own = {}) {
  if (epilogue.is_plain()) {
    return {.y = run.make(rows, columns), .saved = {}, .epilogue = own};
  }
  Joined<Run> result{.y = run.make(rows, columns, epilogue), .saved = {}, .epilogue = own};
  add_parts(run, epilogue, result.y, result.epilogue);
  if constexpr (Run::records) {
    if (epilogue.saves()) {
      result.saved = run.make(rows, columns);
      result.epilogue.saved = run[result.saved];
    }
  }
  return result;
}

}  // namespace detail

/// The result of an op with this epilogue. `own` holds the op's own factor and biases.
/// Errors: those of add_parts(); ArgumentError if a training step would drop parts of the branch before it adds the residual.
template <class Run, class T = typename Run::Scalar>
Joined<Run> joined_result(Run& run, Index rows, Index columns, const Epilogue<Run>& epilogue,
                          const std::type_identity_t<Epilogue<T>>& own = {}) {
  if constexpr (Run::records) {
    require<ArgumentError>(!epilogue.residual || !run.drops(epilogue.drop_path),
                           "Epilogue: this training step drops parts of branches, which an op cannot do. Call a layer with the "
                           "epilogue, run(layer, x, {.residual = …}), or join(run, y, {.residual = …}) after the op.");
  }
  return detail::joined(run, rows, columns, epilogue, own);
}

namespace detail {

/// ∂residual += ∂y ⊙ residual_scale     ∂residual_scale += Σ ∂y ⊙ residual
template <class Back, class Run, class T = typename Back::Scalar>
void residual_backward(Back& back, const Epilogue<Run>& epilogue, const ConstView<T>& dy) {
  const T* const scale = epilogue.residual_scale;
  if (scale == nullptr) {
    return add_gradient<Back>(back, epilogue.residual, dy);
  }
  if (T* const to = back.gradient_of(scale)) {
    add_column_sums<T>(dy.rows(), dy.cols(), to, back.workspace(), reader<T>(dy) * reader<T>(back[epilogue.residual]));
  }
  add_gradient(back, epilogue.residual, reader<T>(dy) * per_channel<T>(scale));
}

/// ∂gate += ∂y ⊙ act(z), or ∂scale += Σ ∂y ⊙ act(z); turns ∂y into ∂z = ∂y ⊙ gate ⊙ act'(z) in place.
template <class Back, class Run, class T = typename Back::Scalar>
void gate_backward(Back& back, const Epilogue<Run>& epilogue, const MatrixOf<Run>& z, View<T> dy) {
  Workspace<T>& workspace = back.workspace();
  ActivationBackward<T> through{.activation = form_in(workspace, epilogue.activation), .dy = dy, .z = back[z], .dz = dy};
  if (const T* const scale = epilogue.scale) {
    through.factor = {scale, dy.rows(), dy.cols(), 0};
    const auto frame = workspace.frame();
    T* const to = back.gradient_of(scale);
    if (to != nullptr) {
      through.to_factor = workspace.matrix(dy.rows(), dy.cols());
    }
    activation_backward<T>(through, workspace);
    if (to != nullptr) {
      add_column_sums<T>(ConstView<T>(through.to_factor), to, workspace);
    }
    return;
  }
  through.factor = back[epilogue.gate];
  if (back.wants_gradient(epilogue.gate)) {
    auto [to, fresh] = back.target(epilogue.gate);
    through.to_factor = to;
    through.adds_to_factor = !fresh;
  }
  activation_backward<T>(through, workspace);
}

}  // namespace detail

/// The backward pass through activation, gate and residual: adds their gradients and turns ∂y into ∂z in place.
///
///     ∂residual += ∂y ⊙ residual_scale     ∂residual_scale += Σ ∂y ⊙ residual     ∂gate += ∂y ⊙ act(z)
///     ∂z = ∂y ⊙ gate ⊙ act'(z)             ∂scale += Σ ∂y ⊙ act(z), for a scale instead of a gate
///     ∂bias += Σ ∂z, if there is one
///
/// If epilogue.saves_derivative(), `saved` holds act'(z); otherwise, if epilogue.saves(), it holds z. Returns ∂z in the memory
/// of ∂y.
template <class Back, class Run, class T = typename Back::Scalar>
View<T> backward_through(Back& back, const Epilogue<Run>& epilogue, MatrixOf<Run> y, MatrixOf<Run> saved,
                         T* bias_gradient = nullptr) {
  Workspace<T>& workspace = back.workspace();
  View<T> dz = back.last_gradient(y);
  if (epilogue.residual) {
    detail::residual_backward<Back, Run, T>(back, epilogue, dz);
  }
  if (epilogue.saves_derivative()) {
    const auto change = reader<T>(dz) * reader<T>(back[saved]);
    if (bias_gradient != nullptr) {
      assign_and_add_column_sums<T>(dz, workspace, change, std::exchange(bias_gradient, nullptr));
    } else {
      assign<T>(dz, workspace, change);
    }
  } else if (epilogue.saves()) {
    detail::gate_backward<Back, Run, T>(back, epilogue, saved, dz);
  }
  if (bias_gradient != nullptr) {
    add_column_sums<T>(dz, bias_gradient, workspace);
  }
  if (epilogue.added) {
    add_gradient<Back>(back, epilogue.added, dz);
  }
  return dz;
}

namespace detail {

/// y = `epilogue` applied to z. Uses the kernel that finishes the tiles of products, so results are bit-equal to those of a
/// fused epilogue. y may be z.
template <class T>
void finish_rows(const MatrixView<const T>& z, const Epilogue<T>& epilogue, const MatrixView<T>& y,
                 const Workspace<T>& workspace) {
  const ProductKernels<T>& table = kernels<ProductKernels<T>>();
  const Index width = table.panel_columns;
  for_each_block_of_rows(z.rows(), workspace, [&](Index first, Index rows) {
    alignas(64) T tile[std::size_t{rows_per_task} * 2 * 64 / sizeof(T)];  // enough for vectors of 64 bytes
    for (Index column = 0; column < z.columns(); column += width) {
      const Index columns = std::min(width, z.columns() - column);
      for (Index i = 0; i < rows; ++i) {
        std::copy_n(z.data + (first + i) * z.stride + column, columns, tile + i * width);
        std::fill_n(tile + i * width + columns, width - columns, T{0});
      }
      table.finish_tile(epilogue, first, column, rows, columns, tile, y.data + first * y.stride + column, y.stride);
    }
  });
}

/// y = `epilogue` applied to z, without dropout.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> join_whole(Run& run, MatrixOf<Run> z, const Epilogue<Run>& epilogue) {
  const Joined<Run> joined = detail::joined(run, run.rows(z), run.columns(z), epilogue);
  if constexpr (Run::records) {
    run.push([z, y = joined.y, saved = joined.saved, epilogue](auto& back) {
      const View<T> dz = backward_through(back, epilogue, y, saved);
      add_gradient<std::remove_cvref_t<decltype(back)>>(back, z, dz);
    });
  }
  finish_rows<T>(run[z], joined.epilogue, run[joined.y], run.workspace());
  return joined.y;
}

}  // namespace detail

/// If this training step applies dropout to the branch, moves the residual and its scale out of `epilogue` and returns them.
template <class Run>
Epilogue<Run> take_dropping_residual(Run& run, Epilogue<Run>& epilogue) {
  if constexpr (Run::records) {
    if (epilogue.residual && run.drops(epilogue.drop_path)) {
      return {.residual = std::exchange(epilogue.residual, {}),
              .residual_scale = std::exchange(epilogue.residual_scale, nullptr),
              .drop_path = epilogue.drop_path};
    }
  }
  return {};
}

/// residual + y, with residual dropout and stochastic depth applied to y. Returns y if take_dropping_residual() took nothing.
template <class Run>
MatrixOf<Run> drop_and_add(Run& run, MatrixOf<Run> y, const Epilogue<Run>& taken) {
  if constexpr (Run::records) {
    if (taken.residual) {
      return detail::join_whole(run, run.drop(y, taken.drop_path), taken);
    }
  }
  return y;
}

/// y = `epilogue` applied to a result z, for ops that do not apply it themselves.
/// Shapes: y has z's shape.
/// Errors: ShapeError if a matrix of the epilogue does not have y's shape.
/// Cost: one pass over z, two backward.
template <class Run>
MatrixOf<Run> join(Run& run, MatrixOf<Run> z, Epilogue<Run> epilogue) {
  const Epilogue<Run> residual = take_dropping_residual(run, epilogue);
  z = epilogue.is_plain() ? std::move(z) : detail::join_whole(run, std::move(z), epilogue);
  return drop_and_add(run, std::move(z), residual);
}

}  // namespace gated
