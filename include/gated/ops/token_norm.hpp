#pragma once

#include <cmath>

#include "gated/core/stream.hpp"
#include "gated/ops/pool.hpp"

/// @file
/// Normalisation of each channel over the tokens of a sequence: an op with its derivative.

namespace gated {

/// A LayerNorm over tokens. Refers to its numbers, one for each token of a sequence.
template <class T>
struct TokenNormParameters {
  double eps;
  const Vector<T>*weight, *bias;
};

/// y_ic = (x_ic - mean_c) / √(var_c + eps) · weight_i + bias_i, with the mean and the variance of channel c over the tokens of
/// its sequence: the LayerNorm of the transpose.
///
/// Backward, with x̂ = (x - mean) · factor and g = ∂y · weight_i, channel by channel
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight_i = Σ ∂y ⊙ x̂, ∂bias_i = Σ ∂y over channels and sequences
///
/// Shapes: x and y are N × C; every sequence has as many tokens as there are weights.
/// Errors: ArgumentError in a stream.
/// Cost: three passes over x, five more backward.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows normalise_over_tokens(Run& run, const typename Run::Rows& x, const TokenNormParameters<T>& norm,
                                         const typename Run::Place& to) {
  expect_all_tokens(run, "a norm over the tokens");
  const Sequences& sequences = run.sequences();
  const Index count = sequences.count(), tokens = norm.weight->size(), channels = run.width(x);
  const auto y = run.make(run.count(x), channels, to);
  T *const means = run.take(count * channels), *const factors = run.take(count * channels);
  mean_over_tokens<T>(run[x], sequences, Eigen::Map<Matrix<T>>(means, count, channels), run.workspace());
  std::fill(factors, factors + count * channels, T{0});
  // x̂ of sequence b
  const auto normed = [means, factors, channels](const auto& rows, Index b) {
    return (rows - per_channel<T>(means + b * channels)) * per_channel<T>(factors + b * channels);
  };
  for (Index b = 0; b < count; ++b) {
    const auto rows = reader<T>(run[x].middleRows(sequences.offset(b), tokens));
    const auto centred = rows - per_channel<T>(means + b * channels);
    T* const factor = factors + b * channels;
    add_column_sums<T>(tokens, channels, factor, run.workspace(), centred * centred);
    std::transform(factor, factor + channels, factor,
                   [&](T sum) { return T{1} / std::sqrt(sum / static_cast<T>(tokens) + static_cast<T>(norm.eps)); });
    assign<T>(run[y].middleRows(sequences.offset(b), tokens), run.workspace(),
              normed(rows, b) * per_row<T>(norm.weight->data()) + per_row<T>(norm.bias->data()));
  }
  if constexpr (Run::records) {
    run.push([x, y, norm, factors, normed, tokens, channels, kept = run.kept_sequences()](auto& back) {
      Workspace<T>& workspace = back.workspace();
      const auto frame = workspace.frame();
      const Sequences split = back.sequences(kept);
      const Rows<const T> dy = back.gradient(y), values = back[x];
      T *const to_weight = back.gradient_of(norm.weight->data()), *const to_bias = back.gradient_of(norm.bias->data());
      const bool wanted = back.wants_gradient(x);
      auto target = wanted ? back.target(x) : typename std::remove_cvref_t<decltype(back)>::Target{back[x], false};
      const Rows<T> dx = target.view;
      T *const slopes = workspace.take(channels), *const dots = workspace.take(channels);
      MatrixMap<T> products = workspace.matrix(tokens, channels);
      const auto weight = per_row<T>(norm.weight->data());
      const auto share = number(T{1} / static_cast<T>(tokens));
      for (Index b = 0; b < split.count(); ++b) {
        const auto part = [first = split.offset(b), tokens](const auto& rows) { return rows.middle(first, tokens); };
        const ConstView<T> given = part(dy);
        const auto slope = reader<T>(given);
        const auto own = normed(reader<T>(part(values)), b);
        if (to_weight != nullptr || to_bias != nullptr) {
          assign<T>(products, workspace, slope * own);
          for (Index i = 0; i < tokens; ++i) {
            if (to_weight != nullptr) {
              to_weight[i] += products.row(i).sum();
            }
            if (to_bias != nullptr) {
              to_bias[i] += given.row(i).sum();
            }
          }
        }
        if (wanted) {
          std::fill(slopes, slopes + channels, T{0});
          std::fill(dots, dots + channels, T{0});
          add_column_sums<T>(tokens, channels, slopes, workspace, slope * weight);
          add_column_sums<T>(tokens, channels, dots, workspace, slope * weight * own);
          assign<T>(part(dx), workspace,
                    (slope * weight - (per_channel<T>(slopes) + own * per_channel<T>(dots)) * share) *
                        per_channel<T>(factors + b * channels),
                    !target.fresh);
        }
      }
    });
  }
  return y;
}

}  // namespace gated
