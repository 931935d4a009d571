#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "gated/ops/activation.hpp"
#include "gated/ops/dropout.hpp"

/// @file
/// How the weights of an attention are made of scores: the options, without the loops.

namespace gated {

/// What turns scores into attention weights.
enum class ScoreKernel {
  relu2,           ///< max(S, 0)²: GAU and FLASH
  laplace,         ///< see Laplace: lucidrains' option
  laplace_legacy,  ///< with the σ of packages before 0.1.7
  softmax,         ///< over the keys
  softmax_plus     ///< softmax(S · ln l / ln 512), l the number of keys: GAU-α. Its factor: softmax_plus_scale()
};

constexpr auto names_of(ScoreKernel) {
  return words_for<ScoreKernel>("relu2", "laplace", "laplace_legacy", "softmax", "softmax_plus");
}

/// How the weights of one sequence (or one chunk) are made:
/// S = (q kᵀ + B) · scale if the bias stands inside the scale, q kᵀ · scale + B otherwise; A = kernel(S) · weight_scale, then
/// masks.
template <class T>
struct Scoring {
  ScoreKernel kernel = ScoreKernel::relu2;
  T scale = T{1};
  T weight_scale = T{1};
  bool bias_inside = false;
  bool causal = false;
  const T* relative = nullptr;  ///< B_ij = relative[j - i]; points at offset 0
  const T* bias = nullptr;      ///< B_ij = bias[i · bias_stride + j], added to the relative one
  Index bias_stride = 0;
  const T* visible_keys = nullptr;     ///< 0 or 1 per key
  const T* visible_queries = nullptr;  ///< 0 or 1 per query: rows that are taken away
  DropoutMask<T> dropout{};            ///< of training: A_ij is multiplied with its number of (i, j), after the masks
};

namespace detail {

/// The activation that makes weights of scores one by one; none for a softmax.
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

/// Whether weights are made of all scores of a query together, so that they sum to 1.
inline bool is_softmax(ScoreKernel kernel) { return !detail::pointwise(kernel); }

/// scale · ln l / ln 512 for l = `key_count` keys that are seen, at least 1: what Scoring::scale is with softmax_plus. It keeps
/// the entropy of the weights from growing with l (Su, kexue.fm/archives/8823), and is 1 at 512 keys.
template <class T>
T softmax_plus_scale(Index key_count, T scale = T{1}) {
  return scale * std::log(static_cast<T>(std::max<Index>(key_count, 1))) / std::log(T{512});
}

}  // namespace gated
