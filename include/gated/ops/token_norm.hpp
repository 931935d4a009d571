#pragma once

#include <cmath>

#include "gated/core/ordered_sum.hpp"
#include "gated/core/stream.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/pool.hpp"

/// @file
/// Norms over the tokens of a sequence, as an op with its derivative.

namespace gated {

/// Which elements of a sequence share a mean and variance, and whether weights and biases are per token or per channel.
enum class TokenNormForm {
  layer_norm,  ///< each channel separately; weights per token (LayerNorm of the transpose)
  instance,    ///< each channel separately; weights per channel (PyTorch's InstanceNorm1d)
  group        ///< all channels together; weights per channel (GroupNorm with one group)
};

constexpr auto names_of(TokenNormForm) { return words_for<TokenNormForm>("layer_norm", "instance", "group"); }

/// Parameters of a norm over tokens. Non-owning.
template <class T>
struct TokenNormParameters {
  TokenNormForm form;
  double eps;
  const Vector<T>*weight, *bias;  ///< a value per token or per channel, depending on the form
};

namespace detail {

/// The mean and the factor 1 / √(var + eps) of each channel in each sequence: sequences × C.
template <class T>
struct TokenMoments {
  T *means, *factors;
  Index channels;

  /// x̂ = (x - mean) · factor, for the rows x of sequence b.
  template <Term A>
  auto normed(const A& x, Index b) const {
    return (x - per_channel<T>(means + b * channels)) * per_channel<T>(factors + b * channels);
  }
};

/// Calls `f(weights, biases)` with the weights and biases of `norm` as terms.
template <class T, class F>
void with_token_norm(const TokenNormParameters<T>& norm, const F& f) {
  if (norm.form == TokenNormForm::layer_norm) {
    f(per_row<T>(norm.weight->data()), per_row<T>(norm.bias->data()));
  } else {
    f(per_channel<T>(norm.weight->data()), per_channel<T>(norm.bias->data()));
  }
}

/// If all channels share mean and variance, replaces each channel's sum by the mean of the sums.
template <class T>
void join_channels(TokenNormForm form, Eigen::Map<Vector<T>> sums) {
  if (form == TokenNormForm::group) {
    sums.setConstant(ordered_sum(sums) / static_cast<T>(sums.size()));
  }
}

/// Adds one sequence's gradients of per-token weights and biases to `to_weight` and `to_bias`, unless null. `given` is the
/// sequence's ∂y, `normed` its x̂.
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

/// Like add_token_sums(), for weights and biases per channel.
template <class T, Term A>
void add_channel_sums(const ConstView<T>& given, const A& normed, T* to_weight, T* to_bias, Workspace<T>& workspace) {
  if (to_weight != nullptr) {
    add_column_sums<T>(given.rows(), given.cols(), to_weight, workspace, reader<T>(given) * normed);
  }
  if (to_bias != nullptr) {
    add_column_sums<T>(given, to_bias, workspace);
  }
}

/// Backward pass of normalize_over_tokens().
template <class Back, class Variable, class T = typename Back::Scalar>
void normalize_over_tokens_backward(Back& back, Variable x, Variable y, const TokenNormParameters<T>& norm,
                                    const TokenMoments<T>& moments, const Sequences& sequences) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const Index channels = moments.channels;
  const MatrixView<const T> dy = back.gradient(y), values = back[x];
  T *const to_weight = back.gradient_of(norm.weight->data()), *const to_bias = back.gradient_of(norm.bias->data());
  const bool wanted = back.wants_gradient(x);
  auto target = wanted ? back.target(x) : typename Back::Target{back[x], false};
  const MatrixView<T> dx = target.view;
  Eigen::Map<Vector<T>> gradients(workspace.take(channels), channels), dots(workspace.take(channels), channels);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index tokens = sequences.length(b);
    const auto part = [first = sequences.offset(b), tokens](const auto& rows) { return rows.rows(first, tokens); };
    const ConstView<T> given = part(dy);
    const auto own = moments.normed(reader<T>(part(values)), b);
    if (norm.form == TokenNormForm::layer_norm) {
      add_token_sums<T>(given, own, to_weight, to_bias, workspace);
    } else {
      add_channel_sums<T>(given, own, to_weight, to_bias, workspace);
    }
    if (!wanted || tokens == 0) {
      continue;
    }
    gradients.setZero();
    dots.setZero();
    with_token_norm(norm, [&](const auto& weight, const auto&) {
      const auto gradient = reader<T>(given) * weight;
      add_column_sums<T>(tokens, channels, gradients.data(), workspace, gradient);
      add_column_sums<T>(tokens, channels, dots.data(), workspace, gradient * own);
      join_channels<T>(norm.form, gradients);
      join_channels<T>(norm.form, dots);
      const auto share = number(T{1} / static_cast<T>(tokens));
      assign<T>(part(dx), workspace,
                (gradient - (per_channel<T>(gradients.data()) + own * per_channel<T>(dots.data())) * share) *
                    per_channel<T>(moments.factors + b * channels),
                !target.fresh);
    });
  }
}

/// Completes the moments of sequence b of x. On entry, `moments.means` has the mean of each channel.
template <class T>
void find_token_moments(const ConstView<T>& x, const TokenNormParameters<T>& norm, const TokenMoments<T>& moments, Index b,
                        const Workspace<T>& workspace) {
  const Index channels = x.cols();
  Eigen::Map<Vector<T>> means(moments.means + b * channels, channels), factors(moments.factors + b * channels, channels);
  join_channels<T>(norm.form, means);
  const auto centred = reader<T>(x) - per_channel<T>(means.data());
  factors.setZero();
  add_column_sums<T>(x.rows(), channels, factors.data(), workspace, centred * centred);
  join_channels<T>(norm.form, factors);
  for (T& factor : factors) {
    factor = T{1} / std::sqrt(factor / static_cast<T>(x.rows()) + static_cast<T>(norm.eps));
  }
}

}  // namespace detail

/// y = (x - mean) / √(var + eps) · weight + bias, with mean and variance over the tokens of each sequence, channel by channel
/// or over all channels: see TokenNormForm. The variance is biased.
///
/// Backward, with x̂ = (x - mean) · factor and g = ∂y · weight. Each mean is over the same elements as in the forward pass:
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight = Σ ∂y ⊙ x̂, ∂bias = Σ ∂y over all elements they apply to
///
/// Shapes: x and y are N × C; with weights per token, each sequence has as many tokens as there are weights.
/// Errors: ArgumentError in a stream.
/// Cost: three passes over x, five more backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> normalize_over_tokens(Run& run, MatrixOf<Run> x, const TokenNormParameters<T>& norm) {
  expect_all_tokens(run, "a norm over the tokens");
  const Sequences& sequences = run.sequences();
  sequences.expect_total("normalize_over_tokens", run.rows(x));
  const Index count = sequences.count(), channels = run.columns(x);
  const auto y = run.reuse(x);
  const detail::TokenMoments<T> moments{run.take(count * channels), run.take(count * channels), channels};
  mean_over_tokens<T>(run[x], sequences, Eigen::Map<Matrix<T>>(moments.means, count, channels), run.workspace());
  for (Index b = 0; b < count; ++b) {
    const Index first = sequences.offset(b), tokens = sequences.length(b);
    detail::find_token_moments<T>(run[x].middleRows(first, tokens), norm, moments, b, run.workspace());
    detail::with_token_norm(norm, [&](const auto& weight, const auto& bias) {
      assign<T>(run[y].middleRows(first, tokens), run.workspace(),
                moments.normed(reader<T>(run[x].middleRows(first, tokens)), b) * weight + bias);
    });
  }
  if constexpr (Run::records) {
    run.push([x, y, norm, moments, kept = run.kept_sequences()](auto& back) {
      detail::normalize_over_tokens_backward(back, x, y, norm, moments, back.sequences(kept));
    });
  }
  return y;
}

}  // namespace gated
