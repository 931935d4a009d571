#pragma once

#include <cmath>

#include "gated/core/ordered_sum.hpp"
#include "gated/core/stream.hpp"
#include "gated/ops/pool.hpp"

/// @file
/// Normalisation of each channel over the tokens of a sequence, as an op with its derivative.

namespace gated {

/// Parameters of a LayerNorm over tokens, one weight and bias per token of a sequence. Non-owning.
template <class T>
struct TokenNormParameters {
  double eps;
  const Vector<T>*weight, *bias;
};

namespace detail {

/// The mean and factor of each channel of each sequence, sequences × C.
template <class T>
struct TokenMoments {
  T *means, *factors;
  Index channels;

  /// x̂ of sequence b.
  template <Term A>
  auto normed(const A& x, Index b) const {
    return (x - per_channel<T>(means + b * channels)) * per_channel<T>(factors + b * channels);
  }
};

/// Adds a sequence's gradients of weight and bias; either target may be nullptr. `given` is its ∂y, `normed` its x̂.
template <class T, Term A>
void add_token_sums(const ConstView<T>& given, const A& normed, T* to_weight, T* to_bias, Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  MatrixMap<T> products = workspace.matrix(to_weight == nullptr ? 0 : given.rows(), given.cols());
  assign<T>(products, workspace, reader<T>(given) * normed);
  for (Index i = 0; i < products.rows(); ++i) {
    to_weight[i] += ordered_sum(products.row(i));
  }
  for (Index i = 0; to_bias != nullptr && i < given.rows(); ++i) {
    to_bias[i] += ordered_sum(given.row(i));
  }
}

/// Backward pass of normalise_over_tokens().
template <class Back, class Variable, class T = typename Back::Scalar>
void normalise_over_tokens_backward(Back& back, Variable x, Variable y, const TokenNormParameters<T>& norm,
                                    const TokenMoments<T>& moments, const Sequences& sequences) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const Index tokens = norm.weight->size(), channels = moments.channels;
  const MatrixView<const T> dy = back.gradient(y), values = back[x];
  T *const to_weight = back.gradient_of(norm.weight->data()), *const to_bias = back.gradient_of(norm.bias->data());
  const bool wanted = back.wants_gradient(x);
  auto target = wanted ? back.target(x) : typename Back::Target{back[x], false};
  const MatrixView<T> dx = target.view;
  T *const gradients = workspace.take(channels), *const dots = workspace.take(channels);
  const auto weight = per_row<T>(norm.weight->data());
  const auto share = number(T{1} / static_cast<T>(tokens));
  for (Index b = 0; b < sequences.count(); ++b) {
    const auto part = [first = sequences.offset(b), tokens](const auto& rows) { return rows.rows(first, tokens); };
    const ConstView<T> given = part(dy);
    const auto gradient = reader<T>(given);
    const auto own = moments.normed(reader<T>(part(values)), b);
    add_token_sums<T>(given, own, to_weight, to_bias, workspace);
    if (wanted) {
      std::fill(gradients, gradients + channels, T{0});
      std::fill(dots, dots + channels, T{0});
      add_column_sums<T>(tokens, channels, gradients, workspace, gradient * weight);
      add_column_sums<T>(tokens, channels, dots, workspace, gradient * weight * own);
      assign<T>(part(dx), workspace,
                (gradient * weight - (per_channel<T>(gradients) + own * per_channel<T>(dots)) * share) *
                    per_channel<T>(moments.factors + b * channels),
                !target.fresh);
    }
  }
}

}  // namespace detail

/// y_ic = (x_ic - mean_c) / √(var_c + eps) · weight_i + bias_i, with the mean and variance of channel c over the tokens of its
/// sequence: a LayerNorm of the transpose.
///
/// Backward, with x̂ = (x - mean) · factor and g = ∂y · weight_i, channel by channel
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight_i = Σ ∂y ⊙ x̂, ∂bias_i = Σ ∂y over channels and sequences
///
/// Shapes: x and y are N × C; every sequence has one token per weight.
/// Errors: ArgumentError in a stream.
/// Cost: three passes over x, five more backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> normalise_over_tokens(Run& run, MatrixOf<Run> x, const TokenNormParameters<T>& norm) {
  expect_all_tokens(run, "a norm over the tokens");
  const Sequences& sequences = run.sequences();
  const Index count = sequences.count(), tokens = norm.weight->size(), channels = run.columns(x);
  const auto y = run.reuse(x);
  const detail::TokenMoments<T> moments{run.take(count * channels), run.take(count * channels), channels};
  mean_over_tokens<T>(run[x], sequences, Eigen::Map<Matrix<T>>(moments.means, count, channels), run.workspace());
  std::fill(moments.factors, moments.factors + count * channels, T{0});
  for (Index b = 0; b < count; ++b) {
    const auto rows = reader<T>(run[x].middleRows(sequences.offset(b), tokens));
    const auto centred = rows - per_channel<T>(moments.means + b * channels);
    T* const factor = moments.factors + b * channels;
    add_column_sums<T>(tokens, channels, factor, run.workspace(), centred * centred);
    std::transform(factor, factor + channels, factor,
                   [&](T sum) { return T{1} / std::sqrt(sum / static_cast<T>(tokens) + static_cast<T>(norm.eps)); });
    assign<T>(run[y].middleRows(sequences.offset(b), tokens), run.workspace(),
              moments.normed(rows, b) * per_row<T>(norm.weight->data()) + per_row<T>(norm.bias->data()));
  }
  if constexpr (Run::records) {
    run.push([x, y, norm, moments, kept = run.kept_sequences()](auto& back) {
      detail::normalise_over_tokens_backward(back, x, y, norm, moments, back.sequences(kept));
    });
  }
  return y;
}

}  // namespace gated
