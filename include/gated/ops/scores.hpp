#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "gated/ops/dropout.hpp"
#include "gated/ops/matmul.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// From queries, keys and values to what attention gives: y = A v with A = kernel(scores).

namespace gated {

/// What turns scores into attention weights.
enum class ScoreKernel {
  relu2,           ///< max(S, 0)²: GAU and FLASH
  laplace,         ///< see Laplace: lucidrains' option
  laplace_legacy,  ///< with the σ of packages before 0.1.7
  softmax,         ///< over the keys
  softmax_plus     ///< softmax(S · ln l / ln 512), l the number of keys: GAU-α. The factor is the caller's, in Scoring::scale
};

constexpr auto names_of(ScoreKernel) {
  return std::array{std::pair{ScoreKernel::relu2, std::string_view("relu2")},
                    std::pair{ScoreKernel::laplace, std::string_view("laplace")},
                    std::pair{ScoreKernel::laplace_legacy, std::string_view("laplace_legacy")},
                    std::pair{ScoreKernel::softmax, std::string_view("softmax")},
                    std::pair{ScoreKernel::softmax_plus, std::string_view("softmax_plus")}};
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
  const T* keys = nullptr;     ///< 0 or 1 per key
  const T* queries = nullptr;  ///< 0 or 1 per query: rows that are taken away
  DropoutMask<T> dropout{};    ///< of training: A_ij is multiplied with its number of (i, j), after the masks
};

namespace detail {

/// value + B_ij for queries from position `first` on.
template <class T>
struct AddScoreBias {
  const Scoring<T>& scoring;
  Index first;

  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    if (scoring.relative != nullptr) {
      value = value + Simd<T>::load(scoring.relative + (at.column - at.row - first), at.lanes);
    }
    if (scoring.bias != nullptr) {
      value = value + Simd<T>::load(scoring.bias + (first + at.row) * scoring.bias_stride + at.column, at.lanes);
    }
    return value;
  }
};

/// The kernel's weights, without those that masks and causality take away.
template <class T>
struct KeepVisible {
  const Scoring<T>& scoring;
  Index first;

  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> weight) const {
    weight = weight * Simd<T>(scoring.weight_scale);
    // A hidden score may be anything: its weight is replaced, not multiplied, because infinity times 0 is not 0.
    if (scoring.keys != nullptr) {
      weight = select_less(Simd<T>(T{0}), Simd<T>::load(scoring.keys + at.column, at.lanes), weight, Simd<T>(T{0}));
    }
    if (scoring.queries != nullptr && scoring.queries[first + at.row] == T{0}) {
      weight = Simd<T>(T{0});
    }
    return scoring.causal ? weight.keep(std::clamp<Index>(first + at.row - at.column + 1, 0, Simd<T>::width)) : weight;
  }
};

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

/// scores = stages(S) for queries from position `first` on.
template <class T, class... Stages>
void score(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring, View<T> scores,
           Workspace<T>& workspace, const Stages&... stages) {
  const Scale<T> scale{scoring.scale};
  const AddScoreBias<T> bias{scoring, first};
  if (scoring.bias_inside) {
    matmul<T>(q, transposed<T>(k), scores, workspace, bias, scale, stages...);
  } else {
    matmul<T>(q, transposed<T>(k), scores, workspace, scale, bias, stages...);
  }
}

/// weights = A before dropout.
template <class T>
void weigh(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring, View<T> weights,
           Workspace<T>& workspace) {
  if (const auto activation = pointwise(scoring.kernel)) {
    return score<T>(q, k, first, scoring, weights, workspace, Activate{*activation}, KeepVisible<T>{scoring, first});
  }
  score<T>(q, k, first, scoring, weights, workspace);
  softmax<T>(weights, scoring.causal, workspace, first, scoring.keys);
  if (scoring.weight_scale != T{1}) {
    weights *= scoring.weight_scale;
  }
  for (Index i = 0; scoring.queries != nullptr && i < weights.rows(); ++i) {
    if (scoring.queries[first + i] == T{0}) {
      weights.row(i).setZero();
    }
  }
}

/// weights ← weights ⊙ dropout for queries from position `first` on.
template <class T>
void drop(Index first, const DropoutMask<T>& dropout, View<T> weights, const Workspace<T>& workspace) {
  for_each_row(weights.rows(), workspace, [&](Index i) {
    T* const row = &weights.coeffRef(i, 0);
    for_each_vector<T>(weights.cols(), [&](Index j, Index lanes) {
      (Simd<T>::load(row + j, lanes) * dropout(first + i, j, lanes)).store(row + j, lanes);
    });
  });
}

/// Queries whose scores are made at a time.
inline constexpr Index query_block = 256;

/// Calls `f(done, rows, seen)` for each block of at most `block` queries: `rows` of them from `done` on, which stand from
/// `first` + `done` on among the keys and see the first `seen` of them.
template <class F>
void for_each_query_block(Index queries, Index keys, Index first, bool causal, Index block, const F& f) {
  for (Index done = 0; done < queries; done += block) {
    const Index rows = std::min(block, queries - done);
    f(done, rows, causal ? std::min(first + done + rows, keys) : keys);
  }
}

}  // namespace detail

/// y = stages(A v) for the queries `first`, `first` + 1, … of one sequence, as many as q has rows.
///
/// Shapes: q is M × S, k is N × S, v is N × E, y is M × E. Query i stands at position first + i among the keys. Cost: 2·M·N·(S
/// + E) flops, about half of it when causal (blocks of 256 queries see the keys up to their last one); scratch of 256 rows of
/// scores. An observer sees A, all rows of it.
template <class T, class... Stages>
void attend(ConstView<T> q, ConstView<T> k, ConstView<T> v, Index first, const Scoring<T>& scoring, View<T> y,
            Workspace<T>& workspace, const Stages&... stages) {
  const Index block = workspace.observed() ? std::max<Index>(q.rows(), 1) : detail::query_block;
  detail::for_each_query_block(q.rows(), k.rows(), first, scoring.causal, block, [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    MatrixMap<T> weights = workspace.matrix(rows, seen);
    detail::weigh<T>(q.middleRows(done, rows), k.topRows(seen), first + done, scoring, weights, workspace);
    workspace.show(weights);
    if (scoring.dropout.is_active()) {
      detail::drop<T>(first + done, scoring.dropout, weights, workspace);
    }
    const Operand<T> factor = scoring.causal ? lower<T>(weights, first + done) : Operand<T>(weights);
    matmul<T>(factor, ConstView<T>(v.topRows(seen)), y.middleRows(done, rows), workspace, shifted(stages, done, 0)...);
  });
}

}  // namespace gated
