#pragma once

#include "gated/core/sequences.hpp"
#include "gated/ops/join.hpp"
#include "gated/ops/scores.hpp"

/// @file
/// Multi-head attention as an op: batches, streams, and the backward pass.

namespace gated {

/// Accumulators for the gradients of one sequence's queries, keys and values.
template <class T>
struct AttentionGradient {
  View<T> q, k, v;
  T* relative = nullptr;  ///< of the relative bias, indexed by the offset j - i; points at offset 0; nullptr to skip
  T* bias = nullptr;      ///< of Scoring::bias, at the same places, whose rows must not overlap; nullptr to skip
};

namespace detail {

/// Backward pass of the scores, for a block of queries from position `first` on. On entry, `weights` holds S for a pointwise
/// kernel or A for a softmax, and `gradient` holds ∂(A ⊙ D). On return, they hold A ⊙ D and ∂S.
template <class T>
void scores_backward(Index first, const Scoring<T>& scoring, View<T> weights, View<T> gradient, const Workspace<T>& workspace) {
  const auto kernel = pointwise(scoring.kernel);
  for_each_block_of_rows(weights.rows(), workspace, [&](Index row, Index rows) {
    kernels<DerivativeKernels<T>>().scores_backward_rows(scoring, kernel, first + row, rows, weights.cols(),
                                                         &weights.coeffRef(row, 0), weights.outerStride(),
                                                         &gradient.coeffRef(row, 0), gradient.outerStride());
  });
}

/// One head of sequence b: its columns in the rows of that sequence.
struct SequenceHead {
  Index b, head, heads;

  template <class T>
  MatrixView<T> of(const MatrixView<T>& x, const Sequences& sequences) const {
    const Index width = x.columns() / heads;
    return x.block(sequences.offset(b), head * width, sequences.length(b), width);
  }
  /// This head's block of an epilogue whose result has `columns` columns.
  template <class T>
  Epilogue<T> of(const Epilogue<T>& epilogue, const Sequences& sequences, Index columns) const {
    const Index width = columns / heads;
    return epilogue.block(sequences.offset(b), head * width, sequences.length(b), width);
  }
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

/// Returns a function that passes a head's weights to the run's hook as "weights.b" or, if there are several heads,
/// "weights.b.head". If `in_parts`, the part's index comes last. Returns an empty function if there is no hook.
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

/// Backward pass of attend(q, k, v, first, scoring, y). Let w be weight_scale for visible weights and 0 for all others:
///
///     ∂v = (A ⊙ D)ᵀ ∂y        ∂A = (∂y vᵀ) ⊙ D
///     ∂S = w ∂A ⊙ kernel'(S), or A ⊙ (∂A - Σ_j A_ij ∂A_ij / w) for a softmax
///     ∂q = scale · ∂S k       ∂k = scale · ∂Sᵀ q
///     ∂bias_ij = ∂S_ij        ∂relative[o] = Σ_{j-i=o} ∂S_ij, both times scale if bias_inside
///
/// Accumulates into `to`. Recomputes scores, 256 queries at a time, instead of storing them.
/// Shapes: q is M × S, k is N × S, v is N × E, dy is M × E; the matrices of `to` have the shapes of q, k and v.
/// Cost: 2·M·N·(3·S + 2·E) flops, half if causal; scratch: 256 rows of scores.
template <class T>
void attend_backward(const ConstView<T>& q, const ConstView<T>& k, const ConstView<T>& v, const ConstView<T>& dy, Index first,
                     const Scoring<T>& scoring, AttentionGradient<T> to, Workspace<T>& workspace) {
  const auto block = [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    const Index at = first + done;
    const ConstView<T> queries = q.middleRows(done, rows), back = dy.middleRows(done, rows);
    const ConstView<T> keys = k.topRows(seen), values = v.topRows(seen);
    View<T> dq = to.q.middleRows(done, rows), dk = to.k.topRows(seen), dv = to.v.topRows(seen);
    MatrixMap<T> weights = workspace.matrix(rows, seen), scores = workspace.matrix(rows, seen);
    if (detail::pointwise(scoring.kernel)) {
      detail::score<T>(queries, keys, at, scoring, std::nullopt, weights, workspace);
    } else {
      detail::weigh<T>(queries, keys, at, scoring, weights, workspace);
    }
    matmul(back, transposed(values), scores, workspace);
    detail::scores_backward<T>(at, scoring, weights, scores, workspace);
    matmul(transposed(weights), back, dv, workspace, {.added = dv});
    matmul(scores, keys, dq, workspace, {.factor = scoring.scale, .added = dq});
    matmul(transposed(scores), queries, dk, workspace, {.factor = scoring.scale, .added = dk});
    const auto bias_factor = number(scoring.bias_inside ? scoring.scale : T{1});
    for (Index i = 0; to.relative != nullptr && i < rows; ++i) {
      const auto change = per_channel<T>(&scores.coeffRef(i, 0)) * bias_factor;
      assign<T>(MatrixView<T>{to.relative - at - i, 1, seen, seen}, workspace, change, true);
    }
    if (to.bias != nullptr) {
      const MatrixView<T> change{to.bias + at * scoring.bias_stride, rows, seen, scoring.bias_stride};
      assign<T>(change, workspace, reader<T>(scores) * bias_factor, true);
    }
  };
  detail::for_each_query_block(q.rows(), k.rows(), first, scoring.causal, detail::query_block, block);
}

/// Inputs of attention. q has a row per token of the run's sequences; k and v have a row per token attended to. Heads split the
/// columns evenly.
template <class Run>
struct AttentionInputs {
  MatrixOf<Run> q, k, v;
  Index heads = 1;
  const Sequences* others = nullptr;                  ///< the sequences of k and v; nullptr: those of q
  typename Run::Scalar* relative_gradient = nullptr;  ///< AttentionGradient::relative, summed over all sequences
  Index relative_stride = 0;                          ///< from one head's relative bias, or gradient, to the next head's
};

namespace detail {

/// The scoring of one head, with its own relative bias, if any, and its own dropout.
template <class T, class Run>
Scoring<T> of_head(Scoring<T> scoring, const AttentionInputs<Run>& in, const SequenceHead& at, const DropoutMask<T>& dropout) {
  if (scoring.relative != nullptr) {
    scoring.relative += at.head * in.relative_stride;
  }
  scoring.dropout = dropout.at(at.index());
  return scoring;
}

/// y = attend() for all sequences and heads. `others` are the sequences of k and v; the first query is at position `first`.
template <class Run, class ScoringOf, class T = typename Run::Scalar>
void attend_by_head(Run& run, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, const Sequences& others,
                    MatrixView<T> k, MatrixView<T> v, Index first, const DropoutMask<T>& dropout, MatrixView<T> y,
                    const Epilogue<T>& epilogue) {
  const Sequences& queries = run.sequences();
  const MatrixView<T> q = run[in.q];
  for_each_head(queries, y.rows() > 0 ? in.heads : 0, [&](const SequenceHead& at) {
    attend<T>(at.of(q, queries), at.of(k, others), at.of(v, others), first, of_head(scoring_of(others, at.b), in, at, dropout),
              at.of(y, queries), run.workspace(), at.of(epilogue, queries, y.columns()), watcher(run, at));
  });
}

/// Backward pass of attend_by_head() for whole sequences.
template <class Back, class Run, class ScoringOf, class T = typename Back::Scalar>
void attend_by_head_backward(Back& back, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, const Sequences& queries,
                             const Sequences& others, const DropoutMask<T>& dropout, MatrixView<T> dy) {
  const MatrixView<T> q = back[in.q], k = back[in.k], v = back[in.v];
  const MatrixView<T> dq = accumulator(back, in.q), dk = accumulator(back, in.k), dv = accumulator(back, in.v);
  for_each_head(queries, in.heads, [&](const SequenceHead& at) {
    T* const relative = in.relative_gradient == nullptr ? nullptr : in.relative_gradient + at.head * in.relative_stride;
    attend_backward<T>(at.of(q, queries), at.of(k, others), at.of(v, others), at.of(dy, queries), 0,
                       of_head(scoring_of(others, at.b), in, at, dropout),
                       {at.of(dq, queries), at.of(dk, others), at.of(dv, others), relative}, back.workspace());
  });
}

}  // namespace detail

/// y = (A ⊙ D) v for each sequence b and head, with `epilogue` applied. `scoring_of(sequences, b)` returns the scoring that
/// defines A; `sequences` are those of the keys. D is the attention dropout mask, applied after the kernel and the masks as in
/// lucidrains' models.
///
/// A stream remembers keys and values, and calls `scoring_of` with a single sequence, the tokens so far. A hook sees A as
/// "weights.b", or "weights.b.head" if there are several heads. `scoring_of` is copied bytewise; data that it points to must
/// outlive the backward pass.
/// Shapes: for h heads, q is rows × h·S, k is keys × h·S, v is keys × h·E; y and the epilogue's matrices are rows × h·E.
/// Errors: ShapeError if an epilogue matrix is not shaped like y; ArgumentError for a stream without a capacity.
/// Cost: see attend() and attend_backward(); a stream's state holds capacity × (S + E) values per head.
template <class Run, class ScoringOf, class T = typename Run::Scalar>
MatrixOf<Run> attend(Run& run, const AttentionInputs<Run>& in, const ScoringOf& scoring_of, Epilogue<Run> epilogue) {
  const Joined<Run> joined = joined_result(run, run.rows(in.q), run.columns(in.v), epilogue);
  const auto attend_to = [&](const Sequences& others, MatrixView<T> k, MatrixView<T> v, Index first,
                             const DropoutMask<T>& dropout) {
    detail::attend_by_head<Run>(run, in, scoring_of, others, k, v, first, dropout, MatrixView<T>(run[joined.y]),
                                joined.epilogue);
  };
  if constexpr (Run::streams) {
    const Index capacity = run.capacity(), first = run.position(), seen = first + run.rows(in.q);
    Matrix<T>&keys = run.remember(capacity, run.columns(in.k)), &values = run.remember(capacity, run.columns(in.v));
    keys.middleRows(first, run.rows(in.q)) = run[in.k];
    values.middleRows(first, run.rows(in.q)) = run[in.v];
    run.workspace().reserve(attend_scratch<T>(capacity, run.workspace().threads()));
    attend_to(Sequences::single(seen), MatrixView<T>(keys).rows(0, seen), MatrixView<T>(values).rows(0, seen), first, {});
    return joined.y;
  }
  DropoutMask<T> dropout;
  if constexpr (Run::records) {
    dropout = run.attention_dropout();
    const Index queries = run.kept_sequences(), others = in.others == nullptr ? queries : run.keep(*in.others);
    run.push([in, y = joined.y, kept = joined.kept, epilogue, scoring_of, dropout, queries, others](auto& back) {
      const MatrixView<T> dz = backward_through(back, epilogue, y, kept);
      detail::attend_by_head_backward(back, in, scoring_of, back.sequences(queries), back.sequences(others), dropout, dz);
    });
  }
  attend_to(in.others == nullptr ? run.sequences() : *in.others, run[in.k], run[in.v], 0, dropout);
  return joined.y;
}

}  // namespace gated
