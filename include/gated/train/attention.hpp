#pragma once

#include "gated/ops/scores.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of attention: the way back through y = (A ⊙ D) v of ops/scores.hpp.

namespace gated {

/// Where the gradients of one sequence's queries, keys and values are added up.
template <class T>
struct AttentionGradient {
  View<T> q, k, v;
  T* relative = nullptr;  ///< of the relative bias, by offset j - i; points at offset 0. nullptr where none is asked for
};

namespace detail {

/// For a block of queries from position `first` on: `weights` holds S if the kernel is pointwise, otherwise A, and becomes
/// A ⊙ D; `gradient` holds ∂(A ⊙ D) and becomes ∂S.
template <class T>
void scores_back(Index first, const Scoring<T>& scoring, View<T> weights, View<T> gradient, const Workspace<T>& workspace) {
  using V = Simd<T>;
  const bool drops = scoring.dropout.is_active();
  const auto dropped = [&](Index i, Index j, Index lanes) { return drops ? scoring.dropout(first + i, j, lanes) : V(T{1}); };
  if (const auto activation = pointwise(scoring.kernel)) {
    const KeepVisible<T> visible{scoring, first};
    return with_activation(*activation, [&](auto kernel) {
      for_each_row(weights.rows(), workspace, [&](Index i) {
        T *const weight = &weights.coeffRef(i, 0), *const slope = &gradient.coeffRef(i, 0);
        for_each_vector<T>(weights.cols(), [&](Index j, Index lanes) {
          const V score = V::load(weight + j, lanes), kept = dropped(i, j, lanes);
          (visible(Position{i, j, lanes}, kernel.value(score)) * kept).store(weight + j, lanes);
          const V back = kernel.derivative(score) * V::load(slope + j, lanes) * kept;
          visible(Position{i, j, lanes}, back).store(slope + j, lanes);
        });
      });
    });
  }
  const V share(T{1} / scoring.weight_scale);  // A is weight_scale times the softmax
  for_each_row(weights.rows(), workspace, [&](Index i) {
    T *const weight = &weights.coeffRef(i, 0), *const slope = &gradient.coeffRef(i, 0);
    V product(T{0});
    for_each_vector<T>(weights.cols(), [&](Index j, Index lanes) {
      const V kept = dropped(i, j, lanes), a = V::load(weight + j, lanes), back = V::load(slope + j, lanes) * kept;
      product = fma(a, back, product);
      back.store(slope + j, lanes);
    });
    const V mean = V(product.sum()) * share;
    for_each_vector<T>(weights.cols(), [&](Index j, Index lanes) {
      const V a = V::load(weight + j, lanes);
      (a * (V::load(slope + j, lanes) - mean)).store(slope + j, lanes);
      (a * dropped(i, j, lanes)).store(weight + j, lanes);
    });
  });
}

}  // namespace detail

/// The way back through attend(q, k, v, first, scoring, y). With w = weight_scale on visible weights, 0 on others:
///
///     ∂v = (A ⊙ D)ᵀ ∂y        ∂A = (∂y vᵀ) ⊙ D
///     ∂S = w ∂A ⊙ kernel'(S), or A ⊙ (∂A - Σ_j A_ij ∂A_ij / w) for a softmax
///     ∂q = scale · ∂S k       ∂k = scale · ∂Sᵀ q       ∂relative[o] = the sum of ∂S_ij over j - i = o, times scale if inside
///
/// Gradients are added to. Scores are computed again, 256 queries at a time, and never kept. Cost: 2·M·N·(3·S + 2·E) flops,
/// half of it when causal; scratch of 256 rows of scores.
template <class T>
void attend_back(const ConstView<T>& q, const ConstView<T>& k, const ConstView<T>& v, const ConstView<T>& dy, Index first,
                 const Scoring<T>& scoring, AttentionGradient<T> to, Workspace<T>& workspace) {
  const auto block = [&](Index done, Index rows, Index seen) {
    const auto frame = workspace.frame();
    const Index at = first + done;
    const ConstView<T> queries = q.middleRows(done, rows), back = dy.middleRows(done, rows);
    const ConstView<T> keys = k.topRows(seen), values = v.topRows(seen);
    View<T> dq = to.q.middleRows(done, rows), dk = to.k.topRows(seen), dv = to.v.topRows(seen);
    MatrixMap<T> weights = workspace.matrix(rows, seen), scores = workspace.matrix(rows, seen);
    if (detail::pointwise(scoring.kernel)) {
      detail::score<T>(queries, keys, at, scoring, weights, workspace);
    } else {
      detail::weigh<T>(queries, keys, at, scoring, weights, workspace);
    }
    matmul<T>(back, transposed<T>(values), scores, workspace);
    detail::scores_back<T>(at, scoring, weights, scores, workspace);
    matmul<T>(transposed<T>(weights), back, dv, workspace, Add<T>(dv));
    const Scale<T> scale{scoring.scale};
    matmul<T>(scores, keys, dq, workspace, scale, Add<T>(dq));
    matmul<T>(transposed<T>(scores), queries, dk, workspace, scale, Add<T>(dk));
    for (Index i = 0; to.relative != nullptr && i < rows; ++i) {
      Eigen::Map<Vector<T>>(to.relative - at - i, seen) +=
          scores.row(i).transpose() * (scoring.bias_inside ? scoring.scale : T{1});
    }
  };
  detail::for_each_query_block(q.rows(), k.rows(), first, scoring.causal, detail::query_block, block);
}

/// What attends to what, on a tape: a row of q for each token of the sequences that `queries` names (see Tape::keep()), a row
/// of k and v for each of `keys`. With several heads, each has an equal share of the columns.
template <class T>
struct AttentionInputs {
  Variable q, k, v;
  Index queries, keys;
  Index heads = 1;
  T* relative_gradient = nullptr;  ///< as in AttentionGradient, of all sequences together
};

/// The masks of attention dropout for this step, one for each sequence and head by DropoutMask::at(); inactive without noise.
template <class T>
DropoutMask<T> attention_dropout(Tape<T>& tape) {
  const double rate = tape.options().attention_dropout;
  return rate > 0 && tape.noise() != nullptr ? DropoutMask<T>(tape.noise()->bits(), rate) : DropoutMask<T>();
}

namespace detail {

/// The rows of sequence b and the columns of one of several heads.
template <class X>
X head_of(X x, const Sequences& sequences, Index b, Index head, Index heads) {
  const Index width = x.cols() / heads;
  return x.block(sequences.offset(b), head * width, sequences.length(b), width);
}

}  // namespace detail

/// y = (A ⊙ D) v for each sequence b and head, with A as `scoring_of(b)` says and the mask D of TapeOptions::attention_dropout:
/// dropout comes last, after kernel and masks, as in lucidrains' models.
///
/// `scoring_of` may capture as Tape::push() says; what it points to must stay until the way back is over. y has a row for each
/// of q and a column for each of v. Cost: see attend() and attend_back().
template <class T, class ScoringOf>
Variable attend(Tape<T>& tape, const AttentionInputs<T>& in, const ScoringOf& scoring_of) {
  const Variable y = tape.make(tape.rows(in.q), tape.width(in.v));
  const DropoutMask<T> dropout = attention_dropout(tape);
  const auto for_each_head = [&tape, in, scoring_of, dropout](const auto& f) {
    const Sequences queries = tape.sequences(in.queries), keys = tape.sequences(in.keys);
    for (Index b = 0; b < queries.count(); ++b) {
      Scoring<T> scoring = scoring_of(b);
      for (Index head = 0; head < in.heads; ++head) {
        scoring.dropout = dropout.at(b * in.heads + head);
        const auto of_query = [&](auto x) { return detail::head_of(x, queries, b, head, in.heads); };
        const auto of_key = [&](auto x) { return detail::head_of(x, keys, b, head, in.heads); };
        f(of_query, of_key, scoring);
      }
    }
  };
  for_each_head([&](const auto& of_query, const auto& of_key, const Scoring<T>& scoring) {
    attend<T>(of_query(tape[in.q]), of_key(tape[in.k]), of_key(tape[in.v]), 0, scoring, of_query(tape[y]), tape.workspace());
  });
  tape.push([&tape, in, y, for_each_head] {
    const ConstView<T> dy = tape.gradient(y);
    const View<T> dq = accumulator(tape, in.q), dk = accumulator(tape, in.k), dv = accumulator(tape, in.v);
    for_each_head([&](const auto& of_query, const auto& of_key, const Scoring<T>& scoring) {
      attend_back<T>(of_query(tape[in.q]), of_key(tape[in.k]), of_key(tape[in.v]), of_query(dy), 0, scoring,
                     {of_query(dq), of_key(dk), of_key(dv), in.relative_gradient}, tape.workspace());
    });
  });
  return y;
}

}  // namespace gated
