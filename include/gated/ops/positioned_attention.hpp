#pragma once

#include <algorithm>

#include "gated/ops/attention.hpp"

/// @file
/// Multi-head attention with position scores, as an op with its derivative: Transformer-XL's relative attention
/// (arXiv:1901.02860, §3.3), and a variant with absolute positions.

namespace gated {

/// Inputs of attend_by_position(). q, k, v and p have a row per token of the run's sequences; heads split the columns evenly.
template <class Run>
struct PositionedInputs {
  MatrixOf<Run> q, k, v;    ///< queries, keys and values
  MatrixOf<Run> p;          ///< queries for the position scores
  MatrixOf<Run> positions;  ///< P, a row per offset or position
  bool by_offset = true;    ///< true: P has a row per offset j - i (key minus query); false: a row per position j of a key
  Index heads = 1;          ///< h
};

namespace detail {

/// The matrices of all heads and sequences, or of one head of one sequence.
template <class T>
struct PositionedHeads {
  MatrixView<const T> q, k, v, p, positions;
  Index zero;  ///< the row of `positions` for offset 0 or position 0
  bool by_offset;

  /// The matrices of one head of one sequence. q and p are split by `queries`, k and v by `others`.
  PositionedHeads of(const SequenceHead& at, const Sequences& queries, const Sequences& others) const {
    return {at.of(q, queries), at.of(k, others), at.of(v, others), at.of(p, queries), at.columns_of(positions), zero,
            by_offset};
  }
};

/// The position scores B = p P'ᵀ of a block of queries, where P' is the part of P that the block needs.
///
/// If by_offset, the scores of a query start one column further left in B than those of the previous query. B thus serves as a
/// bias matrix if its row stride is reduced by 1. Columns of B beyond the last row of P are for keys hidden by causality.
template <class T>
class PositionScores {
 public:
  /// The scores of `rows` queries, from position `at` on, with keys 0 … `seen` - 1.
  PositionScores(const PositionedHeads<T>& head, Index at, Index rows, Index seen)
      : at_(at),
        slide_(head.by_offset ? 1 : 0),
        origin_(slide_ * (rows - 1)),
        width_(seen + origin_),
        first_(head.zero - slide_ * at - origin_),
        read_(std::min(width_, head.positions.rows() - first_)) {}

  /// Number of columns of B.
  Index width() const { return width_; }
  /// The columns of `b` (B or its gradient) that have a row in P'.
  MatrixView<T> columns(MatrixMap<T>& b) const { return MatrixView<T>(b).columns(0, read_); }
  /// The rows of `positions` (P or its gradient) that belong to P'.
  template <class V>
  MatrixView<V> rows(const MatrixView<V>& positions) const {
    return positions.rows(first_, read_);
  }

  /// The value of Scoring::bias_stride: elements between the scores of consecutive queries in B or its gradient.
  Index stride(const MatrixMap<T>& b) const { return b.outerStride() - slide_; }
  /// The value of Scoring::bias: the address where the scores of a query at position 0 would start.
  T* bias(MatrixMap<T>& b) const { return b.data() + (origin_ - at_ * stride(b)); }

 private:
  Index at_, slide_, origin_, width_, first_, read_;
};

/// Computes B for the queries `p` of a block, and returns `scoring` with B as its bias.
template <class T>
Scoring<T> with_position_scores(Scoring<T> scoring, const PositionScores<T>& scores, const MatrixView<const T>& p,
                                const MatrixView<const T>& positions, MatrixMap<T>& b, Workspace<T>& workspace) {
  matmul(p, transposed(Operand<T>(scores.rows(positions))), scores.columns(b), workspace);
  scoring.bias = scores.bias(b);
  scoring.bias_stride = scores.stride(b);
  scoring.bias_inside = true;
  return scoring;
}

/// y = A v of one head, for queries from position `first` on: see attend().
template <class T>
void attend_head(const PositionedHeads<T>& head, Index first, const Scoring<T>& scoring, const MatrixView<T>& y,
                 Workspace<T>& workspace, const Epilogue<T>& epilogue, const WeightsWatcher<T>& watch) {
  const Index block = watch ? std::max<Index>(y.rows(), 1) : query_block;
  for_each_query_block(y.rows(), head.k.rows(), first, scoring.causal, block, [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    const PositionScores<T> scores(head, first + done, rows, seen);
    MatrixMap<T> b = workspace.matrix(rows, scores.width());
    const Scoring<T> biased = with_position_scores<T>(scoring, scores, head.p.rows(done, rows), head.positions, b, workspace);
    attend<T>(head.q.rows(done, rows), head.k, head.v, first + done, biased, y.rows(done, rows), workspace,
              epilogue.block(done, 0, rows, y.columns()), watch);
  });
}

/// Accumulators for the gradients of one head.
template <class T>
struct PositionedGradient {
  MatrixView<T> q, k, v, p, positions;
};

/// Backward pass of attend_head() for a whole sequence: ∂p = ∂B P', ∂P' = ∂Bᵀ p, and the other gradients as in
/// attend_backward().
template <class T>
void attend_head_backward(const PositionedHeads<T>& head, const MatrixView<const T>& dy, const Scoring<T>& scoring,
                          const PositionedGradient<T>& to, Workspace<T>& workspace) {
  const auto block = [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    const PositionScores<T> scores(head, done, rows, seen);
    const MatrixView<const T> p = head.p.rows(done, rows);
    MatrixMap<T> b = workspace.matrix(rows, scores.width()), gradient = workspace.matrix(rows, scores.width());
    gradient.setZero();
    const Scoring<T> biased = with_position_scores<T>(scoring, scores, p, head.positions, b, workspace);
    attend_backward<T>(head.q.rows(done, rows), head.k, head.v, dy.rows(done, rows), done, biased,
                       {to.q.rows(done, rows), to.k, to.v, nullptr, scores.bias(gradient)}, workspace);
    const MatrixView<T> db = scores.columns(gradient), dp = to.p.rows(done, rows), dpositions = scores.rows(to.positions);
    matmul(db, scores.rows(head.positions), dp, workspace, {.added = dp});
    matmul(transposed(Operand<T>(db)), p, dpositions, workspace, {.added = dpositions});
  };
  for_each_query_block(dy.rows(), head.k.rows(), 0, scoring.causal, query_block, block);
}

/// Calls attend_head() for each head of each sequence. `others` are the sequences of k and v; queries start at position
/// `first`.
template <class Run, class ScoringOf, class T = typename Run::Scalar>
void attend_positioned(Run& run, Index heads, const PositionedHeads<T>& all, const ScoringOf& scoring_of,
                       const Sequences& others, Index first, const DropoutMask<T>& dropout, const MatrixView<T>& y,
                       const Epilogue<T>& epilogue) {
  const Sequences& queries = run.sequences();
  for_each_head(queries, y.rows() > 0 ? heads : 0, [&](const SequenceHead& at) {
    Scoring<T> scoring = scoring_of(others, at.b);
    scoring.dropout = dropout.at(at.index());
    attend_head<T>(all.of(at, queries, others), first, scoring, at.of(y, queries), run.workspace(),
                   at.of(epilogue, queries, y.columns()), watcher(run, at));
  });
}

/// Backward pass of attend_positioned() for whole sequences.
template <class Run, class Back, class ScoringOf, class T = typename Back::Scalar>
void attend_positioned_backward(Back& back, const PositionedInputs<Run>& in, const PositionedHeads<T>& all,
                                const ScoringOf& scoring_of, const Sequences& sequences, const DropoutMask<T>& dropout,
                                const MatrixView<const T>& dy) {
  const MatrixView<T> dq = accumulator(back, in.q), dk = accumulator(back, in.k), dv = accumulator(back, in.v),
                      dp = accumulator(back, in.p), dpositions = accumulator(back, in.positions);
  for_each_head(sequences, in.heads, [&](const SequenceHead& at) {
    Scoring<T> scoring = scoring_of(sequences, at.b);
    scoring.dropout = dropout.at(at.index());
    const PositionedGradient<T> to{at.of(dq, sequences), at.of(dk, sequences), at.of(dv, sequences), at.of(dp, sequences),
                                   at.columns_of(dpositions)};
    attend_head_backward<T>(all.of(at, sequences, sequences), at.of(dy, sequences), scoring, to, back.workspace());
  });
}

/// The matrices of all heads, for whole sequences of up to `longest` tokens.
template <class Run, class Values, class T = typename Run::Scalar>
PositionedHeads<T> positioned_heads(Values& values, const PositionedInputs<Run>& in, Index longest) {
  return {values[in.q], values[in.k], values[in.v], values[in.p], values[in.positions], in.by_offset ? longest - 1 : 0,
          in.by_offset};
}

/// The matrices of all heads for the next tokens of a stream, which remembers k, v and P.
template <class Run, class T = typename Run::Scalar>
PositionedHeads<T> remembered_heads(Run& run, const PositionedInputs<Run>& in) {
  const Index capacity = run.capacity(), first = run.position(), rows = run.rows(in.q), seen = first + rows;
  const auto remember = [&](const auto& x, Index at) {
    Matrix<T>& memory = run.remember(capacity, run.columns(x));
    memory.middleRows(at, rows) = run[x];
    return MatrixView<const T>(MatrixView<T>(memory));
  };
  const MatrixView<const T> k = remember(in.k, first).rows(0, seen), v = remember(in.v, first).rows(0, seen);
  const MatrixView<const T> positions = remember(in.positions, in.by_offset ? capacity - seen : first);
  return {run[in.q], k, v, run[in.p], positions, in.by_offset ? capacity - 1 : 0, in.by_offset};
}

/// Raises ShapeError unless P has q's columns, and one row per offset or position of the run's longest sequence.
template <class Run>
void expect_position_rows(const Run& run, const PositionedInputs<Run>& in, bool causal) {
  const Index longest = run.sequences().longest();
  const Index rows = !Run::streams && in.by_offset && !causal ? std::max<Index>(2 * longest - 1, 0) : longest;
  require<ShapeError>(run.rows(in.positions) == rows && run.columns(in.positions) == run.columns(in.q),
                      "attend_by_position: positions is ", run.rows(in.positions), " × ", run.columns(in.positions),
                      ", expected ", rows, " × ", run.columns(in.q), ".");
}

}  // namespace detail

/// y = (A ⊙ D) v for each sequence b and head, with `epilogue` applied, where A = softmax(S) with
///
///     S_ij = (q_i · k_j + p_i · P_ij) · scale
///
/// and P_ij is the row of `positions` for the offset j - i or, unless by_offset, for the position j. Sequence b's Scoring is
/// `scoring_of(sequences, b)`, without biases. D is the attention dropout mask: see attend().
///
/// If the longest sequence has L tokens, `positions` has a row per offset from -(L - 1) to L - 1 (to 0 if causal) or, unless
/// by_offset, a row per position 0 … L - 1. In a stream, it has only the new rows for the next tokens, in the same order: the
/// stream remembers earlier ones, as it does keys and values.
/// Shapes: for h heads, q, k, p and positions have h·S columns; v, y and the epilogue's matrices have h·E.
/// Errors: ShapeError if `positions` or an epilogue matrix has another shape; ArgumentError for a stream without a capacity.
/// Cost: 2·M·N·(2·S + E) flops per head for M queries and N keys, about half when causal; 2.7 times that backward. With
/// by_offset, up to 2·M·256·S flops more, unless causal. Scratch: 2 · 256 rows of scores; 4 · 256 rows backward. A stream's
/// state holds capacity × (2·S + E) values per head.
template <class Run, class ScoringOf, class T = typename Run::Scalar>
MatrixOf<Run> attend_by_position(Run& run, const PositionedInputs<Run>& in, bool causal, const ScoringOf& scoring_of,
                                 Epilogue<Run> epilogue) {
  detail::expect_position_rows(run, in, causal);
  const Joined<Run> joined = joined_result(run, run.rows(in.q), run.columns(in.v), epilogue);
  const MatrixView<T> y = run[joined.y];
  if constexpr (Run::streams) {
    const auto all = detail::remembered_heads(run, in);
    const Index rows = std::min(run.rows(in.q), detail::query_block);
    run.workspace().reserve(rows * row_stride<T>(run.capacity() + rows) +  // position scores
                            attend_scratch<T>(rows, run.columns(in.q) / in.heads, run.capacity(), run.workspace().threads()));
    detail::attend_positioned<Run>(run, in.heads, all, scoring_of, Sequences::single(all.k.rows()), run.position(), {}, y,
                                   joined.epilogue);
    return joined.y;
  }
  const Sequences& sequences = run.sequences();
  DropoutMask<T> dropout;
  if constexpr (Run::records) {
    dropout = run.attention_dropout();
    run.push([in, y = joined.y, saved = joined.saved, epilogue, scoring_of, dropout, split = run.kept_sequences()](auto& back) {
      const MatrixView<T> dz = backward_through(back, epilogue, y, saved);
      const Sequences& all = back.sequences(split);
      detail::attend_positioned_backward<Run>(back, in, detail::positioned_heads<Run>(back, in, all.longest()), scoring_of, all,
                                              dropout, MatrixView<const T>(dz));
    });
  }
  detail::attend_positioned<Run>(run, in.heads, detail::positioned_heads<Run>(run, in, sequences.longest()), scoring_of,
                                 sequences, 0, dropout, y, joined.epilogue);
  return joined.y;
}

}  // namespace gated
