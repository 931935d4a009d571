#pragma once

#include "gated/core/sequences.hpp"
#include "gated/ops/join.hpp"
#include "gated/ops/scores.hpp"

/// @file
/// Multi-head attention as an op: batches, streams, and the backward pass.

namespace gated {

/// Accumulators for the gradients of one head: of its queries, keys and values in one sequence, and of its biases.
template <class T>
struct AttentionGradient {
  View<T> q, k, v;
  T* relative = nullptr;  ///< gradient of the relative bias for the offsets j - i; points at offset 0; nullptr to skip
  T* bias = nullptr;      ///< gradient of Scoring::bias, in the same layout; its rows must not overlap; nullptr to skip
};

namespace detail {

/// Backward pass from A ⊙ D to the scores S, with dropout mask D, for queries from position `first` on. On entry, `weights` is
/// S for a pointwise kernel, or A for a softmax, and `gradient` is ∂(A ⊙ D). On return, `weights` is A ⊙ D, `gradient` is ∂S.
template <class T>
void scores_backward(Index first, const Scoring<T>& scoring, View<T> weights, View<T> gradient, const Workspace<T>& workspace) {
  const auto kernel = pointwise(scoring.kernel);
  for_each_block_of_rows(weights.rows(), workspace, [&](Index row, Index rows) {
    kernels<DerivativeKernels<T>>().scores_backward_rows(scoring, kernel, first + row, rows, weights.cols(),
                                                         &weights.coeffRef(row, 0), weights.outerStride(),
                                                         &gradient.coeffRef(row, 0), gradient.outerStride());
  });
}

/// One head of sequence b: the head's columns in the sequence's rows.
struct SequenceHead {
  Index b, head, heads;

  template <class T>
  MatrixView<T> of(const MatrixView<T>& x, const Sequences& sequences) const {
    const Index width = x.columns() / heads;
    return x.block(sequences.offset(b), head * width, sequences.length(b), width);
  }
  /// The part of `epilogue` for this head's block of y, where y has `columns` columns.
  template <class T>
  Epilogue<T> of(const Epilogue<T>& epilogue, const Sequences& sequences, Index columns) const {
    const Index width = columns / heads;
    return epilogue.block(sequences.offset(b), head * width, sequences.length(b), width);
  }
  /// The key head that this query head uses. Each of `others` key heads serves heads / others consecutive query heads.
  SequenceHead among(Index others) const { return {b, head * others / heads, others}; }
  /// This head's columns of x in all rows.
  template <class T>
  MatrixView<T> columns_of(const MatrixView<T>& x) const {
    const Index width = x.columns() / heads;
    return x.columns(head * width, width);
  }
  /// The index of this head among the heads of all sequences.
  Index index() const { return b * heads + head; }
};

/// Calls `f(head)` for each head of each sequence.
template <class F>
void for_each_head(const Sequences& sequences, Index heads, const F& f) {
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index head = 0; head < heads; ++head) {
      f(SequenceHead{b, head, heads});
    }
  }
}

/// Returns a function that passes a head's attention weights to the run's hook as "weights.b" or, if there are several heads,
/// "weights.b.head". If `in_parts`, appends the index of the stream's part. Returns an empty function if there is no hook.
template <class Run, class T = typename Run::Scalar>
WeightsWatcher<T> watcher(Run& run, const SequenceHead& at, bool in_parts = false) {
  if constexpr (!Run::records) {
    if (run.hooked()) {
      return [&run, at, in_parts](Index part, const ConstView<T>& weights) {
        const Index last = in_parts ? part : -1;
        run.show(input_view<T>(weights), "weights", at.b, at.heads > 1 ? at.head : last, at.heads > 1 ? last : -1);
      };
    }
  }
  return {};
}

}  // namespace detail

/// Backward pass of attend(q, k, v, first, scoring, y). With w = scoring.weight_scale where a query sees a key, otherwise 0:
///
///     ∂v = (A ⊙ D)ᵀ ∂y        ∂A = (∂y vᵀ) ⊙ D
///     ∂S = w ∂A ⊙ kernel'(S), or A ⊙ (∂A - Σ_j A_ij ∂A_ij / w) for a softmax
///     ∂q = scale · ∂S k       ∂k = scale · ∂Sᵀ q
///     ∂bias_ij = ∂S_ij        ∂relative[o] = Σ_{j-i=o} ∂S_ij; both are multiplied by scale if bias_inside
///
/// Accumulates into `to`. Recomputes scores, 256 queries at a time, instead of storing them.
/// Shapes: q is M × S, k is N × S, v is N × E, dy is M × E; the matrices of `to` have the shapes of q, k and v.
/// Cost: 2·M·N·(3·S + 2·E) flops, half if causal; scratch: 2 · 256 rows of scores.
template <class T>
void attend_backward(const ConstView<T>& q, const ConstView<T>& k, const ConstView<T>& v, const ConstView<T>& dy, Index first,
                     const Scoring<T>& scoring, AttentionGradient<T> to, Workspace<T>& workspace) {
  const auto block = [&](Index done, Index rows, Index begin, Index end) {
    const auto frame = workspace.frame();
    const Index seen = end - begin, at = first + done - begin;
    const Scoring<T> own = scoring.from(begin);
    const ConstView<T> queries = q.middleRows(done, rows), back = dy.middleRows(done, rows);
    const ConstView<T> keys = k.middleRows(begin, seen), values = v.middleRows(begin, seen);
    View<T> dq = to.q.middleRows(done, rows), dk = to.k.middleRows(begin, seen), dv = to.v.middleRows(begin, seen);
    MatrixMap<T> weights = workspace.matrix(rows, seen), scores = workspace.matrix(rows, seen);
    if (detail::pointwise(own.kernel)) {
      detail::score<T>(queries, keys, at, own, std::nullopt, weights, workspace);
    } else {
      detail::weigh<T>(queries, keys, at, own, weights, workspace);
    }
    matmul(back, transposed(values), scores, workspace);
    detail::scores_backward<T>(at, own, weights, scores, workspace);
    matmul(transposed(weights), back, dv, workspace, {.added = dv});
    matmul(scores, keys, dq, workspace, {.factor = scoring.scale, .added = dq});
    matmul(transposed(scores), queries, dk, workspace, {.factor = scoring.scale, .added = dk});
    const auto bias_factor = number(scoring.bias_inside ? scoring.scale : T{1});
    for (Index i = 0; to.relative != nullptr && i < rows; ++i) {
      const auto change = per_channel<T>(&scores.coeffRef(i, 0)) * bias_factor;
      assign<T>(MatrixView<T>{to.relative - at - i, 1, seen, seen}, workspace, change, true);
    }
    if (to.bias != nullptr) {
      const MatrixView<T> change{to.bias + (first + done) * scoring.bias_stride + begin, rows, seen, scoring.bias_stride};
      assign<T>(change, workspace, reader<T>(scores) * bias_factor, true);
    }
  };
  detail::for_each_query_block(q.rows(), k.rows(), first, scoring.causal, scoring.reach, detail::query_block, block);
}

/// Inputs of attention. q has a row per token of the run's sequences; k and v have a row per token attended to. Heads split the
/// columns evenly. With fewer key heads than query heads, consecutive query heads share a key head: grouped-query attention
/// (arXiv:2305.13245).
template <class Run>
struct AttentionInputs {
  MatrixOf<Run> q, k, v;
  Index heads = 1;
  Index key_heads = heads;                            ///< number of heads of k and v; divides `heads`
  Index reach = unlimited_reach;                      ///< Scoring::reach; a stream discards tokens that no later query reaches
  const Sequences* others = nullptr;                  ///< the sequences of k and v; if nullptr, q's sequences
  typename Run::Scalar* relative_gradient = nullptr;  ///< AttentionGradient::relative, summed over all sequences
  Index relative_stride = 0;                          ///< stride from one head's relative bias (and its gradient) to the next
};

namespace detail {

/// `scoring` for one head: with the reach of `in`, and the head's own relative bias (if any) and dropout.
template <class T, class Run>
Scoring<T> of_head(Scoring<T> scoring, const AttentionInputs<Run>& in, const SequenceHead& at, const DropoutMask<T>& dropout) {
  if (scoring.relative != nullptr) {
    scoring.relative += at.head * in.relative_stride;
  }
  scoring.reach = in.reach;
  scoring.dropout = dropout.at(at.index());
  return scoring;
}

/// Views of attention's inputs, output and epilogue. The first query of each sequence is at position `first`.
template <class T>
struct AttentionViews {
  MatrixView<T> q, k, v, y;
  Index first = 0;
  Epilogue<T> epilogue = {};
  Index keys = 0;   ///< in a stream: the most keys of any call; scratch for that many is reserved
  Index part = -1;  ///< for hooks: the part's index, if a stream's tokens are divided into parts; otherwise -1
};

/// y = attend() for all sequences and heads. `others` are the sequences of k and v. If there are enough heads for all threads,
/// heads run in parallel. Otherwise, and always for a single query or with a hook, heads run one by one, each on all threads.
template <class Run, class ScoringOf, class T = typename Run::Scalar>
void attend_by_head(Run& run, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, const Sequences& queries,
                    const Sequences& others, const AttentionViews<T>& x, const DropoutMask<T>& dropout = {}) {
  const auto attend_head = [&](const SequenceHead& at, Workspace<T>& scratch) {
    const SequenceHead shared = at.among(in.key_heads);
    const WeightsWatcher<T> watch = watcher(run, at, x.part >= 0);
    if (x.keys > 0) {
      scratch.reserve(attend_scratch<T>(x.q.rows(), x.q.columns() / in.heads, x.keys, scratch.threads()));
    }
    attend<T>(at.of(x.q, queries), shared.of(x.k, others), shared.of(x.v, others), x.first,
              of_head(scoring_of(others, at.b), in, at, dropout), at.of(x.y, queries), scratch,
              at.of(x.epilogue, queries, x.y.columns()), of_part(watch, x.part));
  };
  const Index heads = x.y.rows() > 0 ? in.heads : 0;
  if (x.y.rows() > 1 && !run.workspace().hooked() && keeps_busy(run.workspace().threads(), queries.count() * heads)) {
    if (x.keys > 0) {  // for single queries
      run.workspace().reserve(attend_scratch<T>(1, x.q.columns() / in.heads, x.keys, run.workspace().threads()));
    }
    return run.workspace().side_by_side(queries.count() * heads, [&](Index i, Workspace<T>& scratch) {
      attend_head(SequenceHead{i / heads, i % heads, heads}, scratch);
    });
  }
  for_each_head(queries, heads, [&](const SequenceHead& at) { attend_head(at, run.workspace()); });
}

/// A buffer, with spare room, for the rows of a stream that later tokens can reach. When it is full, the rows still in reach
/// move to its beginning. So rows stay in order, and a token costs fewer than five row copies on average.
struct RecentRows {
  Index reach, count;  ///< `count`: capacity of the buffer in rows, ≥ min(tokens of the stream, reach + 1)

  /// The position of the buffer's first row once the row at `position` is stored.
  Index begin(Index position) const {
    const Index step = count - reach;
    return position < count ? 0 : ((position - count) / step + 1) * step;
  }
  /// Makes room in `rows` for the row at `position`.
  template <class T>
  void advance(Index position, Matrix<T>& rows) const {
    if (const Index step = begin(position) - begin(position - 1); step > 0) {
      std::copy(rows.data() + step * rows.cols(), rows.data() + rows.size(), rows.data());
    }
  }
};

/// y = attend() for the next tokens of a stream. The stream remembers all keys and values or, with a reach, only recent ones.
template <class Run, class ScoringOf, class T = typename Run::Scalar>
void attend_in_stream(Run& run, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, AttentionViews<T> x) {
  const bool forgets = in.reach < unlimited_reach;
  const RecentRows recent{in.reach, forgets ? run.room(rows_in_reach(in.reach)) : run.capacity()};
  const auto kind = forgets ? Run::Memory::recent : Run::Memory::tokens;
  Matrix<T>&keys = run.remember(recent.count, x.k.columns(), kind), &values = run.remember(recent.count, x.v.columns(), kind);
  for (Index done = 0, rows = 0, part = 0; done < x.q.rows(); done += rows, ++part) {
    const Index position = run.position() + done, begin = recent.begin(position);
    recent.advance(position, keys);
    recent.advance(position, values);
    rows = std::min(x.q.rows() - done, begin + recent.count - position);
    const Index first = position - begin, seen = first + rows;
    MatrixView<T>(keys).rows(first, rows).assign(x.k.rows(done, rows));
    MatrixView<T>(values).rows(first, rows).assign(x.v.rows(done, rows));
    attend_by_head<Run>(run, in, scoring_of, Sequences::single(rows), Sequences::single(seen),
                        AttentionViews<T>{x.q.rows(done, rows), MatrixView<T>(keys).rows(0, seen),
                                          MatrixView<T>(values).rows(0, seen), x.y.rows(done, rows), first,
                                          x.epilogue.block(done, 0, rows, x.y.columns()), recent.count, forgets ? part : -1});
  }
}

/// Backward pass of attend_by_head() for whole sequences.
template <class Back, class Run, class ScoringOf, class T = typename Back::Scalar>
void attend_by_head_backward(Back& back, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, const Sequences& queries,
                             const Sequences& others, const DropoutMask<T>& dropout, MatrixView<T> dy) {
  const MatrixView<T> q = back[in.q], k = back[in.k], v = back[in.v];
  const MatrixView<T> dq = accumulator(back, in.q), dk = accumulator(back, in.k), dv = accumulator(back, in.v);
  for_each_head(queries, in.heads, [&](const SequenceHead& at) {
    const SequenceHead shared = at.among(in.key_heads);
    T* const relative = in.relative_gradient == nullptr ? nullptr : in.relative_gradient + at.head * in.relative_stride;
    attend_backward<T>(at.of(q, queries), shared.of(k, others), shared.of(v, others), at.of(dy, queries), 0,
                       of_head(scoring_of(others, at.b), in, at, dropout),
                       {at.of(dq, queries), shared.of(dk, others), shared.of(dv, others), relative}, back.workspace());
  });
}

}  // namespace detail

/// y = (A ⊙ D) v for each sequence b and head, with `epilogue` applied. `scoring_of(sequences, b)` returns the scoring that
/// defines A; `sequences` are the keys' sequences. D is the attention dropout mask, applied after the kernel and the masks as
/// in lucidrains' models.
///
/// A stream remembers keys and values, and calls `scoring_of` with a single sequence, the tokens so far. A hook sees A as
/// "weights.b", or "weights.b.head" if there are several heads. With a reach, a stream computes its tokens in parts, and
/// the names end in the part's index. `scoring_of` is copied bytewise; data that it points to must outlive the backward pass.
/// Shapes: for h query heads and g key heads, q is rows × h·S, k is keys × g·S, v is keys × g·E; y and the epilogue's matrices
/// are rows × h·E. Errors: ShapeError if an epilogue matrix is not shaped like y; ArgumentError for a stream without a
/// capacity, unless it has a reach. Cost: see attend() and attend_backward(); a stream's state holds n × (S + E) values per key
/// head, with n = min(capacity, 1¼ · reach + 1).
template <class Run, class ScoringOf, class T = typename Run::Scalar>
MatrixOf<Run> attend(Run& run, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, Epilogue<Run> epilogue) {
  run.sequences().expect_total("attend", run.rows(in.q));
  const Joined<Run> joined = joined_result(run, run.rows(in.q), run.columns(in.v) / in.key_heads * in.heads, epilogue);
  const detail::AttentionViews<T> views{run[in.q], run[in.k], run[in.v], run[joined.y], 0, joined.epilogue};
  if constexpr (Run::streams) {
    detail::attend_in_stream<Run>(run, in, scoring_of, views);
    return joined.y;
  }
  DropoutMask<T> dropout;
  if constexpr (Run::records) {
    dropout = run.attention_dropout();
    const Index queries = run.kept_sequences(), others = in.others == nullptr ? queries : run.keep(*in.others);
    run.push([in, y = joined.y, saved = joined.saved, epilogue, scoring_of, dropout, queries, others](auto& back) {
      const MatrixView<T> dz = backward_through(back, epilogue, y, saved);
      detail::attend_by_head_backward(back, in, scoring_of, back.sequences(queries), back.sequences(others), dropout, dz);
    });
  }
  detail::attend_by_head<Run>(run, in, scoring_of, run.sequences(), in.others == nullptr ? run.sequences() : *in.others, views,
                              dropout);
  return joined.y;
}

}  // namespace gated
