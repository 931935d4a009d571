#pragma once

#include "gated/core/ordered_sum.hpp"
#include "gated/ops/attention.hpp"
#include "gated/ops/synthesized_scores.hpp"

/// @file
/// Synthesizer attention, whose scores need neither queries nor keys: the op and its derivative.

namespace gated {

/// The inputs of synthesize(), one row per token. Set h if S depends on the tokens, q and k if dot products are added.
template <class Run>
struct SynthesizerInputs {
  MatrixOf<Run> v, h = {}, q = {}, k = {};
};

namespace detail::synthesizer {

/// y = softmax(scores) v of one head, for tokens of one sequence from position `first` on. k and v include all tokens so far.
template <class T>
void attend(const SynthesizedScores<T>& of, Index head, Index first, const MatrixView<const T>& h, const MatrixView<const T>& q,
            const MatrixView<const T>& k, const MatrixView<const T>& v, const MatrixView<T>& y, Workspace<T>& workspace,
            const WeightsWatcher<T>& watch) {
  const Index block = watch ? std::max<Index>(y.rows(), 1) : query_block;
  for_each_query_block(y.rows(), v.rows(), first, of.causal, block, [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    MatrixMap<T> weights = workspace.matrix(rows, seen);
    all_scores<T>(of, head, first + done, h.block(done, 0, rows, h.columns()), q.block(done, 0, rows, q.columns()),
                  k.block(0, 0, seen, k.columns()), {}, weights, workspace);
    softmax<T>(weights, workspace, {.causal = of.causal, .first = first + done});
    if (watch) {
      watch(0, weights);
    }
    const Operand<T> factor = of.causal ? lower<T>(weights, first + done) : Operand<T>(weights);
    matmul(factor, v.rows(0, seen), y.rows(done, rows), workspace);
  });
}

/// The values of x in a run or on a tape; empty if x is absent.
template <class T, class Run, class Variable>
MatrixView<const T> rows_of(Run& run, const Variable& x) {
  return x ? MatrixView<const T>(run[x]) : MatrixView<const T>();
}

/// Σ a_ij b_ij.
template <class T>
double product_sum(const MatrixMap<T>& a, const MatrixMap<T>& b) {
  double sum = 0;
  for (Index i = 0; i < a.rows(); ++i) {
    sum += static_cast<double>(ordered_dot(a.row(i), b.row(i)));
  }
  return sum;
}

/// Gradients of one head.
template <class T>
struct Gradient {
  MatrixView<T> v, h, q, k;
  double own = 0, dot = 0;  ///< with respect to own_factor() and dot_factor()
};

/// Backward pass of attend() for a whole sequence.
template <class Back, class T>
void attend_backward(Back& back, const SynthesizedScores<T>& of, Index head, const MatrixView<const T>& h,
                     const MatrixView<const T>& q, const MatrixView<const T>& k, const MatrixView<const T>& v,
                     const MatrixView<const T>& dy, Gradient<T>& to) {
  Workspace<T>& workspace = back.workspace();
  for_each_query_block(dy.rows(), v.rows(), 0, of.causal, query_block, [&](Index first, Index rows, Index seen) {
    const auto frame = workspace.frame();
    const auto part = [&](const auto& x) { return x.block(first, 0, rows, x.columns()); };
    const auto before = [&](const auto& x) { return x.block(0, 0, seen, x.columns()); };
    MatrixMap<T> weights = workspace.matrix(rows, seen), gradient = workspace.matrix(rows, seen);
    MatrixMap<T> own = workspace.matrix(q ? rows : 0, seen);
    all_scores<T>(of, head, first, part(h), part(q), before(k), q ? MatrixView<T>(own) : MatrixView<T>(), weights, workspace);
    softmax<T>(weights, workspace, {.causal = of.causal, .first = first});
    const MatrixView<T> dv = before(to.v);
    matmul(part(dy), transposed(before(v)), gradient, workspace);
    scores_backward<T>(first, Scoring<T>{.kernel = ScoreKernel::softmax}, weights, gradient, workspace);
    matmul(transposed(weights), part(dy), dv, workspace, {.added = dv});
    if (q) {
      const MatrixView<T> dq = part(to.q), dk = before(to.k);
      matmul(gradient, before(k), dq, workspace, {.factor = of.dot_factor(), .added = dq});
      matmul(transposed(gradient), part(q), dk, workspace, {.factor = of.dot_factor(), .added = dk});
      if (of.own_factor(true) != T{0}) {
        to.own += product_sum(own, gradient);
        matmul(part(q), transposed(before(k)), own, workspace);
        to.dot += product_sum(own, gradient);
      }
      gradient *= of.own_factor();
    }
    own_backward<Back, T>(back, of, head, first, part(h), gradient, part(to.h), workspace);
  });
}

/// Upper bound of synthesize()'s scratch for the next `rows` tokens of a stream of at most `capacity` tokens: attend_scratch(),
/// the tokens' products with `outer` and `inner`, and those products' scratch.
template <class T>
Index stream_scratch(const SynthesizedScores<T>& of, Index rows, Index width, Index capacity, const Threads& threads) {
  const Index block = std::min(rows, query_block);
  const Index factors = of.outer == nullptr ? 0 : row_stride<T>(of.outer->rows()) + row_stride<T>(of.inner->rows());
  return attend_scratch<T>(block, width, capacity, threads) + block * factors +
         gemm::product_scratch<T>(block, of.length, threads);
}

/// Calls attend() for each head of each sequence. `others` are the sequences of k and v; tokens start at position `first`.
template <class Run, class T = typename Run::Scalar>
void attend_by_head(Run& run, const SynthesizedScores<T>& of, const SynthesizerInputs<Run>& in, const Sequences& others,
                    const MatrixView<const T>& k, const MatrixView<const T>& v, Index first, const MatrixView<T>& y) {
  require<ShapeError>(others.longest() <= of.length, "synthesize: a sequence has ", others.longest(),
                      " tokens, but there are scores for ", of.length, ".");
  const Sequences& own = run.sequences();
  const MatrixView<const T> h = rows_of<T>(run, in.h), q = rows_of<T>(run, in.q);
  for_each_head(own, y.rows() > 0 ? of.heads : 0, [&](const SequenceHead& at) {
    attend<T>(of, at.head, first, at.of(h, own), at.of(q, own), at.of(k, others), at.of(v, others), at.of(y, own),
              run.workspace(), watcher(run, at));
  });
}

/// Backward pass of attend_by_head() for whole sequences.
template <class Back, class Run, class T = typename Back::Scalar>
void attend_by_head_backward(Back& back, const SynthesizedScores<T>& of, const SynthesizerInputs<Run>& in,
                             const Sequences& sequences, const MatrixView<const T>& dy) {
  using Variable = MatrixOf<Run>;
  const auto target = [&back](const Variable& x) { return x ? MatrixView<T>(accumulator(back, x)) : MatrixView<T>(); };
  const MatrixView<const T> v = rows_of<T>(back, in.v), h = rows_of<T>(back, in.h), q = rows_of<T>(back, in.q),
                            k = rows_of<T>(back, in.k);
  const MatrixView<T> dv = target(in.v), dh = target(in.h), dq = target(in.q), dk = target(in.k);
  double own = 0, dot = 0;
  for_each_head(sequences, of.heads, [&](const SequenceHead& at) {
    const auto part = [&](const auto& x) { return at.of(x, sequences); };
    Gradient<T> to{part(dv), part(dh), part(dq), part(dk)};
    attend_backward<Back, T>(back, of, at.head, part(h), part(q), part(k), part(v), part(dy), to);
    own += to.own;
    dot += to.dot;
  });
  if (const T gradient = of.own_factor(true); gradient != T{0}) {
    if (T* const to_share = back.gradient_of(of.share->data())) {
      *to_share += rounded(gradient * static_cast<T>(own - dot));
    }
  }
}

}  // namespace detail::synthesizer

/// y = softmax(scores) v for each sequence and head, with synthesized scores S (arXiv:2005.00743). S is learned, or a function
/// of the attending token alone. With dot products, the scores are σ(share) · S + (1 - σ(share)) · q kᵀ, or S + q kᵀ if there
/// is no share. Sequences shorter than L use the leading rows and columns of S, before the softmax.
///
/// A stream remembers v, and k if there is one. A hook sees the weights of sequence b as "weights.b", or as "weights.b.head" if
/// there are several heads. The matrices in `of` must outlive the backward pass.
/// Shapes: y and v are N × heads·a; so are h, q and k if the form uses them.
/// Errors: ShapeError if a sequence is longer than L; ArgumentError for a stream that is not causal.
/// Cost: 2·N²·C flops per sequence, plus at most as many to compute S; half when causal. Scratch: 256 rows of scores. The
/// backward pass needs 2.5 times the flops, and two or three times the scratch.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> synthesize(Run& run, const SynthesizedScores<T>& of, const SynthesizerInputs<Run>& in) {
  using detail::synthesizer::attend_by_head, detail::synthesizer::rows_of;
  const auto y = run.make(run.rows(in.v), run.columns(in.v));
  if constexpr (Run::streams) {
    require<ArgumentError>(of.causal, run.where(),
                           ": the scores are not causal, so a token's output depends on later tokens and cannot be streamed. "
                           "Build it with causal = true.");
    const Index capacity = std::min(run.capacity(), of.length), first = run.position(), seen = first + run.rows(in.v);
    const auto remember = [&](const MatrixOf<Run>& x) {
      Matrix<T>& memory = run.remember(x ? capacity : 0, x.columns());
      if (x) {
        memory.middleRows(first, x.rows()) = run[x];
      }
      return x ? MatrixView<const T>(MatrixView<T>(memory).rows(0, seen)) : MatrixView<const T>();
    };
    const MatrixView<const T> k = remember(in.k), v = remember(in.v);
    run.workspace().reserve(detail::synthesizer::stream_scratch(of, run.rows(in.v), run.columns(in.v) / of.heads, capacity,
                                                                run.workspace().threads()));
    attend_by_head<Run>(run, of, in, Sequences::single(seen), k, v, first, MatrixView<T>(run[y]));
  } else {
    attend_by_head<Run>(run, of, in, run.sequences(), rows_of<T>(run, in.k), rows_of<T>(run, in.v), 0, MatrixView<T>(run[y]));
  }
  if constexpr (Run::records) {
    run.push([in, of, y, kept = run.kept_sequences()](auto& back) {
      using Back = std::remove_cvref_t<decltype(back)>;
      detail::synthesizer::attend_by_head_backward<Back, Run>(back, of, in, back.sequences(kept),
                                                              MatrixView<const T>(back.gradient(y)));
    });
  }
  return y;
}

}  // namespace gated
