#pragma once

#include <cmath>

#include "gated/ops/attention.hpp"

/// @file
/// Attention whose scores are not made by queries meeting keys, or not by that alone: an op with its derivative.

namespace gated {

/// What the scores of all heads are made of, besides dot products: one of the forms. Refers to its numbers.
template <class T>
struct SynthesizedScores {
  Index heads = 1;
  Index length = 0;  ///< L, tokens that there are numbers for
  bool causal = false;
  const Matrix<T>* random = nullptr;                 ///< (heads·L) × L: S_ij
  const Matrix<T>*left = nullptr, *right = nullptr;  ///< (heads·L) × k each: S = left rightᵀ
  const Matrix<T>* dense = nullptr;                  ///< L × a, of all heads: S_ij = h_i · dense_j
  const Matrix<T>*outer = nullptr, *inner = nullptr;  ///< c × a and b × a: S_ij = (h_i · outer_{⌊j/b⌋}) (h_i · inner_{j mod b})
  const Vector<T>* share = nullptr;                   ///< 1: σ of it is the share of S, the rest that of dot products

  /// The factors of S and of dot products; with `slope` their derivatives in `share`.
  T own_factor(bool slope = false) const {
    if (share == nullptr || share->size() == 0) {
      return slope ? T{0} : T{1};
    }
    const T s = T{1} / (T{1} + std::exp(-(*share)[0]));
    return slope ? s * (T{1} - s) : s;
  }
  T dot_factor() const { return share == nullptr || share->size() == 0 ? T{1} : T{1} - own_factor(); }
  /// Whether S depends on the tokens, through h.
  bool is_dense() const { return dense != nullptr || outer != nullptr; }
};

/// What a run gives to it: h and v for each token, q and k where dot products are added.
template <class Run>
struct SynthesizerInputs {
  typename Run::Rows v, h = {}, q = {}, k = {};
};

namespace detail::synthesizer {

/// Rows `first` … of a head's part of a matrix that holds L rows a head.
template <class T>
auto head_rows(const Matrix<T>& m, const SynthesizedScores<T>& of, Index head, Index first, Index count) {
  return m.middleRows(head * of.length + first, count);
}

/// y = S of a head for the tokens from position `first` on, among as many as y has columns.
template <class T>
void own_scores(const SynthesizedScores<T>& of, Index head, Index first, const Rows<const T>& h, View<T> y,
                Workspace<T>& workspace) {
  const Index rows = y.rows(), seen = y.cols();
  if (of.random != nullptr) {
    y = head_rows(*of.random, of, head, first, rows).leftCols(seen);
  } else if (of.left != nullptr) {
    const ConstView<T> left = head_rows(*of.left, of, head, first, rows), right = head_rows(*of.right, of, head, 0, seen);
    matmul(left, transposed(right), y, workspace);
  } else if (of.dense != nullptr) {
    const ConstView<T> keys = of.dense->topRows(seen);
    matmul(h, transposed(keys), y, workspace);
  } else {
    const auto frame = workspace.frame();
    MatrixMap<T> outer = workspace.matrix(rows, of.outer->rows()), inner = workspace.matrix(rows, of.inner->rows());
    matmul(h, transposed(*of.outer), outer, workspace);
    matmul(h, transposed(*of.inner), inner, workspace);
    for (Index j = 0; j < seen; j += inner.cols()) {
      const Index count = std::min(inner.cols(), seen - j);
      for (Index i = 0; i < rows; ++i) {
        y.row(i).segment(j, count) = inner.row(i).head(count) * outer(i, j / inner.cols());
      }
    }
  }
}

/// All of it: the scores before the softmax, of which `own` keeps S if it is there.
template <class T>
void all_scores(const SynthesizedScores<T>& of, Index head, Index first, const Rows<const T>& h, const Rows<const T>& q,
                const Rows<const T>& k, const Rows<T>& own, View<T> y, Workspace<T>& workspace) {
  own_scores<T>(of, head, first, h, y, workspace);
  if (own) {
    View<T> kept = own;
    kept = y;
  }
  if (q) {
    y *= of.own_factor();
    matmul(q, transposed(k), y, workspace, {.scale = of.dot_factor(), .added = y});
  }
}

/// y = softmax(scores) v of a head, for the tokens of one sequence from position `first` on; k and v are those of all tokens
/// so far.
template <class T>
void attend(const SynthesizedScores<T>& of, Index head, Index first, const Rows<const T>& h, const Rows<const T>& q,
            const Rows<const T>& k, const Rows<const T>& v, const Rows<T>& y, Workspace<T>& workspace,
            const WeightsWatcher<T>& watch) {
  const Index block = watch ? std::max<Index>(y.count, 1) : query_block;
  for_each_query_block(y.count, v.count, first, of.causal, block, [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    MatrixMap<T> weights = workspace.matrix(rows, seen);
    all_scores<T>(of, head, first + done, h.block(done, 0, rows, h.columns), q.block(done, 0, rows, q.columns),
                  k.block(0, 0, seen, k.columns), {}, weights, workspace);
    softmax<T>(weights, workspace, {.causal = of.causal, .first = first + done});
    if (watch) {
      watch(0, weights);
    }
    const Operand<T> factor = of.causal ? lower<T>(weights, first + done) : Operand<T>(weights);
    matmul(factor, v.middle(0, seen), y.middle(done, rows), workspace);
  });
}

/// The numbers of x in a run or on a tape, or nothing.
template <class T, class Run, class Variable>
Rows<const T> rows_of(Run& run, const Variable& x) {
  return x ? Rows<const T>(run[x]) : Rows<const T>();
}

/// What a head's backward pass adds to.
template <class T>
struct Gradient {
  Rows<T> v, h, q, k;
  double own = 0, dot = 0;  ///< of the factors
};

/// The gradient of rows `row` … of a parameter, or nothing.
template <class Back, class T>
Rows<T> gradient_rows(Back& back, const Matrix<T>& parameter, Index row, Index count) {
  T* const to = back.gradient_of(parameter.data());
  return {to == nullptr ? nullptr : to + row * parameter.cols(), count, parameter.cols(), parameter.cols()};
}

/// to += a · b, if that is there.
template <class T>
void add_product(const Rows<T>& to, const Operand<T>& a, const Operand<T>& b, Workspace<T>& workspace) {
  if (to) {
    matmul(a, b, to, workspace, {.added = to});
  }
}

/// The backward pass through S_ij = (h_i · outer_{⌊j/b⌋}) (h_i · inner_{j mod b}): `slope` is ∂S.
template <class Back, class T>
void factored_backward(Back& back, const SynthesizedScores<T>& of, const Rows<const T>& h, const ConstView<T>& slope,
                       const Rows<T>& dh, Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  const Index rows = slope.rows(), seen = slope.cols(), width = of.inner->rows();
  MatrixMap<T> outer = workspace.matrix(rows, of.outer->rows()), inner = workspace.matrix(rows, width);
  MatrixMap<T> outer_slope = workspace.matrix(rows, outer.cols()), inner_slope = workspace.matrix(rows, width);
  matmul(h, transposed(*of.outer), outer, workspace);
  matmul(h, transposed(*of.inner), inner, workspace);
  outer_slope.setZero();
  inner_slope.setZero();
  for (Index j = 0; j < seen; j += width) {
    const Index count = std::min(width, seen - j), p = j / width;
    for (Index i = 0; i < rows; ++i) {
      outer_slope(i, p) = slope.row(i).segment(j, count).dot(inner.row(i).head(count));
      inner_slope.row(i).head(count) += slope.row(i).segment(j, count) * outer(i, p);
    }
  }
  add_product<T>(dh, outer_slope, *of.outer, workspace);
  add_product<T>(dh, inner_slope, *of.inner, workspace);
  add_product<T>(gradient_rows(back, *of.outer, 0, of.outer->rows()), transposed(outer_slope), h, workspace);
  add_product<T>(gradient_rows(back, *of.inner, 0, width), transposed(inner_slope), h, workspace);
}

/// The backward pass through own_scores(): `slope` is ∂S.
template <class Back, class T>
void own_backward(Back& back, const SynthesizedScores<T>& of, Index head, Index first, const Rows<const T>& h,
                  const ConstView<T>& slope, const Rows<T>& dh, Workspace<T>& workspace) {
  const Index rows = slope.rows(), seen = slope.cols();
  if (of.random != nullptr) {
    if (const Rows<T> to = gradient_rows(back, *of.random, head * of.length + first, rows)) {
      View<T> all = to;
      all.leftCols(seen) += slope;
    }
  } else if (of.left != nullptr) {
    const ConstView<T> left = head_rows(*of.left, of, head, first, rows), right = head_rows(*of.right, of, head, 0, seen);
    add_product<T>(gradient_rows(back, *of.left, head * of.length + first, rows), slope, right, workspace);
    add_product<T>(gradient_rows(back, *of.right, head * of.length, seen), transposed(slope), left, workspace);
  } else if (of.dense != nullptr) {
    const ConstView<T> keys = of.dense->topRows(seen);
    add_product<T>(dh, slope, keys, workspace);
    add_product<T>(gradient_rows(back, *of.dense, 0, seen), transposed(slope), h, workspace);
  } else {
    factored_backward<Back, T>(back, of, h, slope, dh, workspace);
  }
}

/// The backward pass through attend() of a whole sequence.
template <class Back, class T>
void attend_backward(Back& back, const SynthesizedScores<T>& of, Index head, const Rows<const T>& h, const Rows<const T>& q,
                     const Rows<const T>& k, const Rows<const T>& v, const Rows<const T>& dy, Gradient<T>& to) {
  Workspace<T>& workspace = back.workspace();
  for_each_query_block(dy.count, v.count, 0, of.causal, query_block, [&](Index first, Index rows, Index seen) {
    const auto frame = workspace.frame();
    const auto part = [&](const auto& x) { return x.block(first, 0, rows, x.columns); };
    const auto before = [&](const auto& x) { return x.block(0, 0, seen, x.columns); };
    MatrixMap<T> weights = workspace.matrix(rows, seen), slope = workspace.matrix(rows, seen);
    MatrixMap<T> own = workspace.matrix(q ? rows : 0, seen);
    all_scores<T>(of, head, first, part(h), part(q), before(k), q ? Rows<T>(own) : Rows<T>(), weights, workspace);
    softmax<T>(weights, workspace, {.causal = of.causal, .first = first});
    const Rows<T> dv = before(to.v);
    matmul(part(dy), transposed(before(v)), slope, workspace);
    scores_backward<T>(first, Scoring<T>{.kernel = ScoreKernel::softmax}, weights, slope, workspace);
    matmul(transposed(weights), part(dy), dv, workspace, {.added = dv});
    if (q) {
      const Rows<T> dq = part(to.q), dk = before(to.k);
      matmul(slope, before(k), dq, workspace, {.scale = of.dot_factor(), .added = dq});
      matmul(transposed(slope), part(q), dk, workspace, {.scale = of.dot_factor(), .added = dk});
      if (of.own_factor(true) != T{0}) {
        to.own += static_cast<double>(own.cwiseProduct(slope).sum());
        matmul(part(q), transposed(before(k)), own, workspace);
        to.dot += static_cast<double>(own.cwiseProduct(slope).sum());
      }
      slope *= of.own_factor();
    }
    own_backward<Back, T>(back, of, head, first, part(h), slope, part(to.h), workspace);
  });
}

/// The scratch that synthesize() takes for the next token of a stream of up to `capacity`: attend()'s, the token's numbers with
/// the outer and the inner factors, and a panel of what S is a product of for each thread.
template <class T>
Index step_scratch(const SynthesizedScores<T>& of, Index capacity, const Threads& threads) {
  const Index factors = of.outer == nullptr ? 0 : of.outer->rows() + of.inner->rows();
  return attend_scratch<T>(capacity, threads) + 2 * factors + gemm::thread_scratch<T>(of.length) * threads.count();
}

/// y = attend() of all sequences and heads, to the rows k and v of `others`, for tokens from position `first` on.
template <class Run, class T = typename Run::Scalar>
void attend_by_head(Run& run, const SynthesizedScores<T>& of, const SynthesizerInputs<Run>& in, const Sequences& others,
                    const Rows<const T>& k, const Rows<const T>& v, Index first, const Rows<T>& y) {
  require<ShapeError>(others.longest() <= of.length, "synthesize: a sequence has ", others.longest(),
                      " tokens, but there are scores for ", of.length, ".");
  const Sequences& own = run.sequences();
  const Rows<const T> h = rows_of<T>(run, in.h), q = rows_of<T>(run, in.q);
  for_each_head(own, y.count > 0 ? of.heads : 0, [&](const SequenceHead& at) {
    attend<T>(of, at.head, first, at.of(h, own), at.of(q, own), at.of(k, others), at.of(v, others), at.of(y, own),
              run.workspace(), watcher(run, at));
  });
}

/// The backward pass through it, of whole sequences.
template <class Back, class Run, class T = typename Back::Scalar>
void attend_by_head_backward(Back& back, const SynthesizedScores<T>& of, const SynthesizerInputs<Run>& in,
                             const Sequences& sequences, const Rows<const T>& dy) {
  using Variable = typename Run::Rows;
  const auto target = [&back](const Variable& x) { return x ? Rows<T>(accumulator(back, x)) : Rows<T>(); };
  const Rows<const T> v = rows_of<T>(back, in.v), h = rows_of<T>(back, in.h), q = rows_of<T>(back, in.q),
                      k = rows_of<T>(back, in.k);
  const Rows<T> dv = target(in.v), dh = target(in.h), dq = target(in.q), dk = target(in.k);
  double own = 0, dot = 0;
  for_each_head(sequences, of.heads, [&](const SequenceHead& at) {
    const auto part = [&](const auto& x) { return at.of(x, sequences); };
    Gradient<T> to{part(dv), part(dh), part(dq), part(dk)};
    attend_backward<Back, T>(back, of, at.head, part(h), part(q), part(k), part(v), part(dy), to);
    own += to.own;
    dot += to.dot;
  });
  if (const T slope = of.own_factor(true); slope != T{0}) {
    if (T* const to_share = back.gradient_of(of.share->data())) {
      *to_share += slope * static_cast<T>(own - dot);
    }
  }
}

}  // namespace detail::synthesizer

/// y = softmax(S) v for each sequence and head, S being synthesised (arXiv:2005.00743): learned numbers, a function of the
/// token that attends alone, or one of these mixed with dot products, σ(share) · S + (1 - σ(share)) · q kᵀ, or S + q kᵀ without
/// a share. Sequences of fewer than L tokens take the leading rows and columns, before the softmax.
///
/// A stream remembers v, and k where there is one. An observer sees the weights under "weights.b.head", or with one head
/// "weights.b". The numbers that `of` refers to must stay until the backward pass is over.
/// Shapes: y and v are N × heads·a; so are h, q and k where the form asks for them.
/// Errors: ShapeError for sequences of more than L tokens; ArgumentError for a stream that is not causal.
/// Cost: 2·N²·C flops per sequence and as much for what S is a product of, half of it when causal, two and a half times that
/// backward; scratch of 256 rows of scores.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows synthesize(Run& run, const SynthesizedScores<T>& of, const SynthesizerInputs<Run>& in) {
  using detail::synthesizer::attend_by_head, detail::synthesizer::rows_of;
  const auto y = run.make(run.count(in.v), run.width(in.v));
  if constexpr (Run::streams) {
    require<ArgumentError>(of.causal, run.where(),
                           ": the scores are not causal, so a token's output depends on later tokens and cannot be streamed. "
                           "Build it with causal = true.");
    const Index capacity = std::min(run.capacity(), of.length), first = run.position(), seen = first + run.count(in.v);
    const auto remember = [&](const typename Run::Rows& x) {
      Matrix<T>& memory = run.remember(x ? capacity : 0, x.columns);
      if (x) {
        memory.middleRows(first, x.count) = run[x];
      }
      return x ? Rows<const T>(Rows<T>(memory).middle(0, seen)) : Rows<const T>();
    };
    const Rows<const T> k = remember(in.k), v = remember(in.v);
    run.workspace().reserve(detail::synthesizer::step_scratch(of, capacity, run.workspace().threads()));
    attend_by_head<Run>(run, of, in, Sequences::single(seen), k, v, first, Rows<T>(run[y]));
  } else {
    attend_by_head<Run>(run, of, in, run.sequences(), rows_of<T>(run, in.k), rows_of<T>(run, in.v), 0, Rows<T>(run[y]));
  }
  if constexpr (Run::records) {
    run.push([in, of, y, kept = run.kept_sequences()](auto& back) {
      using Back = std::remove_cvref_t<decltype(back)>;
      detail::synthesizer::attend_by_head_backward<Back, Run>(back, of, in, back.sequences(kept),
                                                              Rows<const T>(back.gradient(y)));
    });
  }
  return y;
}

}  // namespace gated
