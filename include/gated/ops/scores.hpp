#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "gated/core/words.hpp"
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
  const T* keys = nullptr;     ///< 0 or 1 per key
  const T* queries = nullptr;  ///< 0 or 1 per query: rows that are taken away
  DropoutMask<T> dropout{};    ///< of training: A_ij is multiplied with its number of (i, j), after the masks
};

/// Receives the weights A of some queries: what an observer of attention sees. `part` counts the chunks of a sequence.
template <class T>
using WeightsWatcher = std::function<void(Index part, const ConstView<T>& weights)>;

namespace detail {

/// (value + B_ij) · scale or value · scale + B_ij, for the query at `row` among the keys from `column` on.
template <class T>
EIGEN_STRONG_INLINE Simd<T> score_of(const Scoring<T>& scoring, Index row, Index column, Index lanes, Simd<T> value) {
  const Simd<T> scale(scoring.scale);
  value = scoring.bias_inside ? value : value * scale;
  if (scoring.relative != nullptr) {
    value = value + Simd<T>::load(scoring.relative + (column - row), lanes);
  }
  if (scoring.bias != nullptr) {
    value = value + Simd<T>::load(scoring.bias + row * scoring.bias_stride + column, lanes);
  }
  return scoring.bias_inside ? value * scale : value;
}

/// The kernel's weights, without those that masks and causality take away.
template <class T>
EIGEN_STRONG_INLINE Simd<T> visible_of(const Scoring<T>& scoring, Index row, Index column, Index lanes, Simd<T> weight) {
  weight = weight * Simd<T>(scoring.weight_scale);
  // A hidden score may be anything: its weight is replaced, not multiplied, because infinity times 0 is not 0.
  if (scoring.keys != nullptr) {
    weight = select_less(Simd<T>(T{0}), Simd<T>::load(scoring.keys + column, lanes), weight, Simd<T>(T{0}));
  }
  if (scoring.queries != nullptr && scoring.queries[row] == T{0}) {
    weight = Simd<T>(T{0});
  }
  return scoring.causal ? weight.keep(std::clamp<Index>(row - column + 1, 0, Simd<T>::width)) : weight;
}

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

/// y = S, or with a pointwise `activation` the weights A before dropout, for queries from position `first` on.
template <class T>
void score(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring,
           std::optional<Activation> activation, View<T> y, Workspace<T>& workspace) {
  expect_shape<T>("attend", "the scores", y, q.rows(), k.rows());
  // to ← f(row, column, lanes, value) for the vectors of a tile
  const auto pass = [](Index rows, Index columns, const T* tile, T* to, Index to_stride, const auto& f) {
    for (Index i = 0; i < rows; ++i, tile += gemm::panel_columns<T>, to += to_stride) {
      for_each_vector<T>(columns, [&](Index j, Index lanes) { f(i, j, lanes, Simd<T>::load(tile + j)).store(to + j, lanes); });
    }
  };
  const auto finish = [&](Index row, Index column, Index rows, Index columns, T* tile) {
    T* const to = &y.coeffRef(row, column);
    const auto scored = [&](Index i, Index j, Index lanes, Simd<T> value) {
      return score_of(scoring, first + row + i, column + j, lanes, value);
    };
    if (!activation) {
      return pass(rows, columns, tile, to, y.outerStride(), scored);
    }
    pass(rows, columns, tile, tile, gemm::panel_columns<T>, scored);
    activate_tile<T>(*activation, tile, nullptr, rows, columns, tile, gemm::panel_columns<T>);
    pass(rows, columns, tile, to, y.outerStride(), [&](Index i, Index j, Index lanes, Simd<T> value) {
      return visible_of(scoring, first + row + i, column + j, lanes, value);
    });
  };
  gemm::multiply<T>(q, transposed(k), gemm::TileFunction<T>(finish), workspace);
}

/// weights = A before dropout.
template <class T>
void weigh(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring, View<T> weights,
           Workspace<T>& workspace) {
  const auto activation = pointwise(scoring.kernel);
  score<T>(q, k, first, scoring, activation, weights, workspace);
  if (activation) {
    return;
  }
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

/// y = A v, joined by `epilogue`, for the queries `first`, `first` + 1, … of one sequence, as many as q has rows.
///
/// Shapes: q is M × S, k is N × S, v is N × E, y is M × E. Query i stands at position first + i among the keys. `watch`
/// receives A, all rows of it.
/// Cost: 2·M·N·(S + E) flops, about half of it when causal (blocks of 256 queries see the keys up to their last one); scratch
/// of 256 rows of scores.
template <class T>
void attend(const std::type_identity_t<ConstView<T>>& q, const std::type_identity_t<ConstView<T>>& k,
            const std::type_identity_t<ConstView<T>>& v, Index first, const Scoring<T>& scoring,
            std::type_identity_t<View<T>> y, Workspace<T>& workspace, const Epilogue<T>& epilogue = {},
            const WeightsWatcher<T>& watch = {}) {
  const Index block = watch ? std::max<Index>(q.rows(), 1) : detail::query_block;
  detail::for_each_query_block(q.rows(), k.rows(), first, scoring.causal, block, [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    MatrixMap<T> weights = workspace.matrix(rows, seen);
    detail::weigh<T>(q.middleRows(done, rows), k.topRows(seen), first + done, scoring, weights, workspace);
    if (watch) {
      watch(0, weights);
    }
    if (scoring.dropout.is_active()) {
      detail::drop<T>(first + done, scoring.dropout, weights, workspace);
    }
    const Operand<T> factor = scoring.causal ? lower<T>(weights, first + done) : Operand<T>(weights);
    matmul(factor, ConstView<T>(v.topRows(seen)), y.middleRows(done, rows), workspace, epilogue.block(done, 0, rows, y.cols()));
  });
}

/// The scratch that attend() takes for one query among `keys` keys and what goes with it: scores, a panel of v for each thread,
/// and a bias by offset.
template <class T>
Index attend_scratch(Index keys, const Threads& threads) {
  return row_stride<T>(keys) + 2 * keys + detail::gemm::thread_scratch<T>(keys) * threads.count();
}

}  // namespace gated
