#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "gated/ops/gradients.hpp"
#include "gated/ops/matmul.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// Attention y = A v with A = kernel(scores), from queries, keys and values.

namespace gated {

/// Receives the weights A of consecutive queries, for attention hooks. `part` is the index of the chunk,
/// or of the part of a stream, that contains the queries.
template <class T>
using WeightsWatcher = std::function<void(Index part, const ConstView<T>& weights)>;

namespace detail {

/// Returns a watcher that calls `watch` with this `part`; empty if `watch` is empty.
template <class T>
WeightsWatcher<T> of_part(const WeightsWatcher<T>& watch, Index part) {
  if (!watch) {
    return {};
  }
  return [&watch, part](Index, const ConstView<T>& weights) { watch(part, weights); };
}

/// y = the scores S or, if there is an `activation`, the weights A before dropout. Queries start at position `first`. With a
/// causal softmax, tiles without visible scores are skipped.
template <class T>
void score(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring,
           std::optional<Activation> activation, View<T> y, Workspace<T>& workspace) {
  expect_shape<T>("attend", "the scores", y, q.rows(), k.rows());
  const auto finish = [&](Index row, Index column, Index rows, Index columns, T* tile) {
    kernels<AttentionKernels<T>>().score_tile(scoring, activation, first + row, column, rows, columns, tile,
                                              &y.coeffRef(row, column), y.outerStride());
  };
  gemm::multiply<T>(q, transposed(k), finish, workspace, scoring.causal && !activation ? first : -1);
}

/// weights = A, before dropout.
template <class T>
void weigh(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring, View<T> weights,
           Workspace<T>& workspace) {
  const auto activation = pointwise(scoring.kernel);
  score<T>(q, k, first, scoring, activation, weights, workspace);
  if (activation) {
    return;
  }
  softmax<T>(weights, workspace,
             {.causal = scoring.causal, .first = first, .reach = scoring.reach, .visible_columns = scoring.visible_keys});
  if (scoring.weight_scale != T{1}) {
    assign<T>(weights, workspace, reader<T>(weights) * number(scoring.weight_scale));
  }
  for (Index i = 0; scoring.visible_queries != nullptr && i < weights.rows(); ++i) {
    if (scoring.visible_queries[first + i] == T{0}) {
      MatrixView<T>(weights).rows(i, 1).fill(T{0});
    }
  }
}

/// weights ← weights ⊙ dropout, for queries starting at position `first`.
template <class T>
void drop(Index first, const DropoutMask<T>& dropout, View<T> weights, const Workspace<T>& workspace) {
  assign<T>(weights, workspace, reader<T>(weights) * terms::Mask<T>{dropout.from_row(first)});
}

/// Queries per block of scores.
inline constexpr Index query_block = 256;

/// Queries per block if the reach is at most this long. A block of n queries scores up to n + 2 · reach keys.
inline constexpr Index short_query_block = 64;

/// Calls `f(done, rows, begin, seen)` for each block of at most `block` queries. The block starts at query `done`, has `rows`
/// queries and sees keys `begin` … `seen` - 1. Query i is at position `first` + i among the keys. A short `reach` limits blocks
/// to max(reach, short_query_block) queries, because each query scores all keys of its block.
template <class F>
void for_each_query_block(Index query_count, Index key_count, Index first, bool causal, Index reach, Index block, const F& f) {
  const Index most = std::min(block, std::max(reach, short_query_block));
  for (Index done = 0; done < query_count; done += most) {
    const Index rows = std::min(most, query_count - done), at = first + done;
    f(done, rows, std::max<Index>(at - reach, 0), std::min(at + rows + (causal ? 0 : reach), key_count));
  }
}
/// The same with an unlimited reach: calls `f(done, rows, seen)`.
template <class F>
void for_each_query_block(Index query_count, Index key_count, Index first, bool causal, Index block, const F& f) {
  for_each_query_block(query_count, key_count, first, causal, unlimited_reach, block,
                       [&](Index done, Index rows, Index, Index seen) { f(done, rows, seen); });
}

/// The weights of a block of queries as an operand of matmul(), which skips the zeros after each query's visible keys, and
/// those before the visible keys of a whole tile. So a NaN or infinity just before a window can reach y. The first query is at
/// position `at` among the keys.
template <class T>
Operand<T> band(const MatrixMap<T>& weights, Index at, bool causal, Index reach) {
  Operand<T> factor = weights;
  if (reach < unlimited_reach) {
    factor.upper = reach - at;
    factor.exact = true;  // a stream and a batch begin at different keys
  }
  if (causal || reach < unlimited_reach) {
    factor.diagonal = causal ? at : at + reach;
  }
  return factor;
}

}  // namespace detail

/// y = A v, with `epilogue` applied, for consecutive queries of one sequence, the rows of q.
///
/// Shapes: q is M × S, k is N × S, v is N × E, y is M × E. Query i is at position first + i among the keys. `watch` is called
/// once, with all rows of A.
/// Cost: 2·M·N·(S + E) flops, about half when causal: each block of 256 queries sees the keys up to its last query. With a
/// reach of r, N counts as at most 3·r + 64. Scratch: 256 rows of scores.
template <class T>
void attend(const std::type_identity_t<ConstView<T>>& q, const std::type_identity_t<ConstView<T>>& k,
            const std::type_identity_t<ConstView<T>>& v, Index first, const Scoring<T>& scoring,
            std::type_identity_t<View<T>> y, Workspace<T>& workspace, const Epilogue<T>& epilogue = {},
            const WeightsWatcher<T>& watch = {}) {
  const auto attend_block = [&](Index done, Index rows, Index begin, Index seen) {
    const auto frame = workspace.frame();
    const Index at = first + done - begin;
    const Scoring<T> own = scoring.from(begin);
    MatrixMap<T> weights = workspace.matrix(rows, seen - begin);
    detail::weigh<T>(q.middleRows(done, rows), k.middleRows(begin, seen - begin), at, own, weights, workspace);
    if (watch) {
      watch(0, weights);
    }
    if (own.dropout.is_active()) {
      detail::drop<T>(at, own.dropout, weights, workspace);
    }
    matmul(detail::band<T>(weights, at, own.causal, own.reach), ConstView<T>(v.middleRows(begin, seen - begin)),
           y.middleRows(done, rows), workspace, epilogue.block(done, 0, rows, y.cols()));
  };
  detail::for_each_query_block(q.rows(), k.rows(), first, scoring.causal, watch ? unlimited_reach : scoring.reach,
                               watch ? std::max<Index>(q.rows(), 1) : detail::query_block, attend_block);
}

/// Upper bound of attend()'s scratch for queries of `width` channels and `key_count` keys: scores, the products with k and v,
/// and a relative bias.
template <class T>
Index attend_scratch(Index query_count, Index width, Index key_count, const Threads& threads) {
  const Index rows = std::min(query_count, detail::query_block);
  return rows * row_stride<T>(key_count) + 2 * key_count +
         detail::gemm::product_scratch<T>(rows, std::max(width, key_count), threads);
}

}  // namespace gated
