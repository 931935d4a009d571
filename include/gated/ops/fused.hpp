#pragma once

#include <utility>

#include "gated/ops/gradients.hpp"

/// @file
/// What is applied to a product in a run before it is stored, and the backward pass through it.

namespace gated {

/// What is applied to the result z of a projection before it is stored, as an Epilogue does:
///
///     y = activation(z + added) ⊙ gate + residual ⊙ residual_scale
///
/// Instead of a gate there may be a scale per channel, the same for all tokens.
/// In training, residual dropout and stochastic depth apply to what a residual is added to. `Rows` are those of the run.
template <class Run>
struct Fused {
  using Rows = typename Run::Rows;
  using T = typename Run::Scalar;

  Rows added = {};
  Activation activation = Activation::identity;
  Rows gate = {};
  const Vector<T>* scale = nullptr;  ///< a parameter in the gate's place; one of no size stands for ones
  Rows residual = {};
  const Vector<T>* residual_scale = nullptr;  ///< a parameter; one of no size stands for ones
  double survival = 1;    ///< the probability that training keeps the branch beside the residual, per sequence
  ColumnMap<T> map = {};  ///< of a batch's product over tokens: what its input goes through first

  bool is_plain() const { return !added && !keeps() && !residual; }
  /// What the backward pass through activation, gate and scale must know.
  bool keeps() const { return activation != Activation::identity || gate || factors() != nullptr; }
  /// Of these, activation'(z) alone where nothing multiplies activation(z).
  bool keeps_slope() const { return keeps() && !gate && factors() == nullptr; }
  const T* factors() const { return data_of(scale); }
  const T* residual_factors() const { return data_of(residual_scale); }

 private:
  static const T* data_of(const Vector<T>* factors) {
    return factors == nullptr || factors->size() == 0 ? nullptr : factors->data();
  }
};

/// `fused` as the epilogue of a product y, with its own scale and biases in `own`.
/// Errors: ShapeError for what has not the shape of y, ArgumentError for options that exclude each other.
template <class Run, class T = typename Run::Scalar>
Epilogue<T> epilogue_of(Run& run, const Fused<Run>& fused, const typename Run::Rows& y, Epilogue<T> own = {}) {
  const auto rows = [&](const char* name, const auto& x) -> gated::Rows<const T> {
    if (!x) {
      return {};
    }
    require<ShapeError>(run.count(x) == run.count(y) && run.width(x) == run.width(y), "Fused: ", name, " is ", run.count(x),
                        " × ", run.width(x), ", expected ", run.count(y), " × ", run.width(y), ", the shape of the result.");
    return run[x];
  };
  require<ArgumentError>(!fused.map, "Fused: map is given, expected none: only products over the tokens of a batch take it.");
  own.added = rows("added", fused.added);
  own.activation = fused.activation;
  if constexpr (Run::records) {
    if (fused.keeps_slope()) {
      own.slope_kernel = kernels<DerivativeKernels<T>>().activate_and_keep_slope;
    }
  }
  own.gate = rows("gate", fused.gate);
  if (const T* const factors = fused.factors()) {
    require<ArgumentError>(!fused.gate, "Fused: gate and scale are both given, expected one of them.");
    require<ShapeError>(fused.scale->size() == run.width(y), "Fused: scale has ", fused.scale->size(), " numbers, expected ",
                        run.width(y), ", one per column of the result.");
    own.gate = {factors, run.count(y), run.width(y), 0};  // the same row for all
  }
  own.residual = rows("residual", fused.residual);
  own.residual_scale = fused.residual_factors();
  return own;
}

/// The backward pass through activation, gate and residual: gives what they receive, and turns ∂y into ∂z in place.
///
///     ∂residual += ∂y ⊙ residual_scale     ∂residual_scale += Σ ∂y ⊙ residual     ∂gate += ∂y ⊙ act(z)
///     ∂z = ∂y ⊙ gate ⊙ act'(z)             ∂scale += Σ ∂y ⊙ act(z), in place of a gate
///     ∂bias += Σ ∂z, if there is one
///
/// `kept` holds z where fused.keeps(), or act'(z) where fused.keeps_slope(). Returns ∂z, in the memory of ∂y, which nobody
/// reads afterwards.
template <class Back, class Run, class T = typename Back::Scalar>
View<T> backward_through(Back& back, const Fused<Run>& fused, typename Run::Rows y, typename Run::Rows kept,
                         T* bias_gradient = nullptr) {
  Workspace<T>& workspace = back.workspace();
  View<T> dz = back.last_gradient(y);
  const auto dy = reader<T>(dz);
  if (fused.residual) {
    if (const T* const scale = fused.residual_factors()) {
      const auto x = reader<T>(back[fused.residual]);
      if (T* const to = back.gradient_of(scale)) {
        add_column_sums<T>(dz.rows(), dz.cols(), to, workspace, dy * x);
      }
      add_gradient(back, fused.residual, dy * per_channel<T>(scale));
    } else {
      add_gradient<Back>(back, fused.residual, dz);
    }
  }
  if (fused.keeps_slope()) {
    const auto change = dy * reader<T>(back[kept]);
    if (bias_gradient != nullptr) {
      assign_and_add_column_sums<T>(dz, workspace, change, std::exchange(bias_gradient, nullptr));
    } else {
      assign<T>(dz, workspace, change);
    }
  } else if (fused.keeps()) {
    ActivationBackward<T> through{.activation = fused.activation, .dy = dz, .z = back[kept], .dz = dz};
    if (const T* const scale = fused.factors()) {
      through.factor = {scale, dz.rows(), dz.cols(), 0};
      const auto frame = workspace.frame();
      T* const to = back.gradient_of(scale);
      if (to != nullptr) {
        through.to_factor = workspace.matrix(dz.rows(), dz.cols());
      }
      activation_backward<T>(through, workspace);
      if (to != nullptr) {
        add_column_sums<T>(ConstView<T>(through.to_factor), to, workspace);
      }
    } else {
      through.factor = back[fused.gate];
      if (back.wants_gradient(fused.gate)) {
        auto [to, fresh] = back.target(fused.gate);
        through.to_factor = to;
        through.adds_to_factor = !fresh;
      }
      activation_backward<T>(through, workspace);
    }
  }
  if (bias_gradient != nullptr) {
    add_column_sums<T>(dz, bias_gradient, workspace);
  }
  if (fused.added) {
    add_gradient<Back>(back, fused.added, dz);
  }
  return dz;
}

/// y = residual + branch(…), where something is dropped from the branch before the residual joins it: what cannot be fused.
/// `compute(fused)` makes the branch. In inference, and in steps that drop nothing, it is compute(fused) with the residual.
template <class Run, class Compute>
typename Run::Rows join_residual(Run& run, const Fused<Run>& fused, const Compute& compute) {
  if constexpr (Run::records) {
    if (fused.residual && run.drops(fused.survival)) {
      Fused<Run> branch = fused;
      branch.residual = {};
      return run.add(run.drop(compute(branch), fused.survival), fused.residual, fused.residual_factors());
    }
  }
  return compute(fused);
}

}  // namespace gated
