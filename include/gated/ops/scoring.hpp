#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "gated/core/elementary.hpp"
#include "gated/ops/activation.hpp"
#include "gated/ops/dropout.hpp"

/// @file
/// Kernels, scales, biases and masks of attention: options only, no loops.

namespace gated {

/// The kernel that turns scores into attention weights.
enum class ScoreKernel {
  relu2,           ///< max(S, 0)²: GAU and FLASH
  laplace,         ///< a smooth approximation of relu²: lucidrains' option
  laplace_legacy,  ///< laplace with the σ of lucidrains' packages before 0.1.7
  softmax,         ///< softmax(S) over the keys
  softmax_plus     ///< softmax(S · ln l / ln 512) for l visible keys: GAU-α; see softmax_plus_scale()
};

constexpr auto names_of(ScoreKernel) {
  return words_for<ScoreKernel>("relu2", "laplace", "laplace_legacy", "softmax", "softmax_plus");
}

/// A Scoring::reach that hides no key. Half of the largest Index, so that adding a position cannot overflow.
inline constexpr Index unlimited_reach = std::numeric_limits<Index>::max() / 2;
/// The size of a stream's key buffer, in rows, if queries reach the last `reach` keys. A fifth is spare, so rows rarely move.
constexpr Index rows_in_reach(Index reach) { return reach + reach / 4 + 1; }

/// How the attention weights A of one sequence (or chunk) follow from q and k: S = (q kᵀ + B) · scale if bias_inside, otherwise
/// S = q kᵀ · scale + B. Then A = kernel(S) · weight_scale, with the masks applied.
template <class T>
struct Scoring {
  ScoreKernel kernel = ScoreKernel::relu2;
  T scale = T{1};
  T weight_scale = T{1};
  bool bias_inside = false;
  bool causal = false;
  Index reach = unlimited_reach;  ///< a query sees only keys at most this far away, as in sliding windows; softmax only
  const T* relative = nullptr;    ///< B_ij = relative[j - i]; points at the value of offset 0
  const T* bias = nullptr;        ///< B_ij = bias[i · bias_stride + j], added to `relative`
  Index bias_stride = 0;
  const T* visible_keys = nullptr;     ///< per key: 1 if visible, 0 if hidden
  const T* visible_queries = nullptr;  ///< per query: 1, or 0 to set the query's row of A to 0
  DropoutMask<T> dropout{};            ///< training only: multiplies A_ij, after the masks

  /// This scoring, restricted to queries and keys at positions `first` and later.
  Scoring from(Index first) const {
    Scoring rest = *this;
    rest.bias = bias == nullptr ? nullptr : bias + first * (bias_stride + 1);
    rest.visible_keys = visible_keys == nullptr ? nullptr : visible_keys + first;
    rest.visible_queries = visible_queries == nullptr ? nullptr : visible_queries + first;
    rest.dropout = dropout.from_row(first);
    return rest;
  }
};

namespace detail {

/// The activation of a pointwise kernel; nullopt for a softmax.
inline std::optional<Activation> pointwise(ScoreKernel kernel) {
  switch (kernel) {
    case ScoreKernel::relu2:
      return Activation::relu2;
    case ScoreKernel::laplace:
      return Activation::laplace;
    case ScoreKernel::laplace_legacy:
      return Activation::laplace_legacy;
    case ScoreKernel::softmax:
    case ScoreKernel::softmax_plus:
      break;
  }
  return std::nullopt;
}

}  // namespace detail

/// True if a query's weights depend on all its scores and sum to 1.
inline bool is_softmax(ScoreKernel kernel) { return !detail::pointwise(kernel); }

/// scale · ln l / ln 512 for l = max(`key_count`, 1) visible keys: the Scoring::scale of softmax_plus. Keeps the entropy of the
/// weights from growing with l (Su, kexue.fm/archives/8823). At 512 keys it equals `scale`.
template <class T>
T softmax_plus_scale(Index key_count, T scale = T{1}) {
  return static_cast<T>(static_cast<double>(scale) * elementary::log(static_cast<double>(std::max<Index>(key_count, 1))) /
                        elementary::log(512.0));
}

}  // namespace gated
