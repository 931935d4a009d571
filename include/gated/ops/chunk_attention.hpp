#pragma once

#include <algorithm>
#include <utility>

#include "gated/core/stream.hpp"
#include "gated/ops/attention.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/ops/mixed_chunk.hpp"

/// @file
/// Mixed-chunk attention as an op: batches, streams, and the backward pass.

namespace gated {

namespace detail {

/// Backward pass of y += scale · q M: ∂q += scale · ∂y Mᵀ.
template <class T>
void recall_backward(const ConstView<T>& dy, const ConstView<T>& memory, T scale, View<T> dq, Workspace<T>& workspace) {
  matmul(dy, transposed(memory), dq, workspace, {.factor = scale, .added = dq});
}

/// Backward pass of M += share · kᵀ v: ∂k += share · v ∂Mᵀ, ∂v += share · k ∂M.
template <class T>
void remember_backward(const ConstView<T>& k, const ConstView<T>& v, T share, const ConstView<T>& memory, View<T> dk,
                       View<T> dv, Workspace<T>& workspace) {
  matmul(v, transposed(memory), dk, workspace, {.factor = share, .added = dk});
  matmul(k, memory, dv, workspace, {.factor = share, .added = dv});
}

/// Backward pass of the global part if all tokens of `parts` (a sequence or, with own_chunk, a chunk) share one memory.
template <class T>
void shared_memory_backward(ChunkParts<T> parts, T share, const ConstView<T>& dy, ChunkParts<T> to, Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  MatrixMap<T> memory = workspace.matrix(parts.global_k.cols(), parts.values.cols());
  remember<T>(parts.global_k, parts.values, share, {}, memory, workspace);
  recall_backward<T>(dy, memory, T{1}, to.global_q, workspace);
  remember<T>(parts.global_q, dy, T{1}, {}, memory, workspace);  // the gradient of the memory
  remember_backward<T>(parts.global_k, parts.values, share, memory, to.global_k, to.values, workspace);
}

/// Backward pass of the global part if chunk h reads the memory of earlier chunks. A forward sweep computes the memories, and a
/// backward sweep their gradients ∂M_h = ∂M_{h+1} + scale_h · Q_hᵀ ∂y_h.
template <class T>
void causal_memory_backward(ChunkParts<T> parts, const ChunkMixing<T>& mixing, const ConstView<T>& dy, ChunkParts<T> to,
                            Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  const Index length = dy.rows(), c = mixing.chunk, chunks = (length + c - 1) / c;
  const T share = mixing.share(length);
  MatrixMap<T> memory = workspace.matrix(parts.global_k.cols(), parts.values.cols());
  const MatrixView<const T> before = memory;
  for (Index h = 1; h < chunks; ++h) {
    const ChunkParts<T> last = parts.rows((h - 1) * c, c);
    remember<T>(last.global_k, last.values, share, h == 1 ? MatrixView<const T>() : before, memory, workspace);
    const Index rows = std::min(c, length - h * c);
    recall_backward<T>(dy.middleRows(h * c, rows), memory, memory_scale<T>(mixing.reduction, h), to.rows(h * c, rows).global_q,
                       workspace);
  }
  for (Index h = chunks - 1; h > 0; --h) {
    const Index rows = std::min(c, length - h * c);
    remember<T>(parts.rows(h * c, rows).global_q, dy.middleRows(h * c, rows), memory_scale<T>(mixing.reduction, h),
                h == chunks - 1 ? MatrixView<const T>() : before, memory, workspace);
    const ChunkParts<T> last = parts.rows((h - 1) * c, c), back = to.rows((h - 1) * c, c);
    remember_backward<T>(last.global_k, last.values, share, memory, back.global_k, back.values, workspace);
  }
}

}  // namespace detail

/// Backward pass of mix_sequence(): attend_backward() for each chunk, plus the gradients through the memories,
///
///     ∂Q_h = scale_h ∂y_h M_hᵀ        ∂K_h = share · V_h ∂Mᵀ        ∂V_h = share · K_h ∂M
///
/// with ∂M = Σ scale_h' Q_h'ᵀ ∂y_h' over the chunks h' whose memory includes chunk h. Accumulates into `to`, and adds the
/// gradient of the relative bias to `relative` unless that is nullptr.
/// Shapes: queries and keys of `parts` and `to` are N × S, values and dy are N × E.
/// Cost: 2·N·(c·(3·S + 2·E) + 5·S·E) flops; scratch: 512·c + S·E values.
template <class T>
void mix_sequence_backward(ChunkParts<T> parts, const ChunkMixing<T>& mixing, const ConstView<T>& dy, ChunkParts<T> to,
                           T* relative, Workspace<T>& workspace) {
  const Index length = dy.rows(), c = mixing.chunk;
  for (Index first = 0; first < length; first += c) {
    const Index rows = std::min(c, length - first);
    const ChunkParts<T> chunk = parts.rows(first, rows), back = to.rows(first, rows);
    const ConstView<T> own = dy.middleRows(first, rows);
    attend_backward<T>(chunk.local_q, chunk.local_k, chunk.values, own, 0, mixing.local_of(first / c),
                       {back.local_q, back.local_k, back.values, relative}, workspace);
    if (mixing.own_chunk()) {
      detail::shared_memory_backward<T>(chunk, mixing.share(length), own, back, workspace);
    }
  }
  if (mixing.local.causal) {
    detail::causal_memory_backward<T>(parts, mixing, dy, to, workspace);
  } else if (!mixing.own_chunk() && length > 0) {
    detail::shared_memory_backward<T>(parts, mixing.share(length), dy, to, workspace);
  }
}

/// Inputs of mixed-chunk attention: see ChunkParts and AttentionInputs.
template <class Run>
struct ChunkInputs {
  MatrixOf<Run> local_q, local_k, global_q, global_k, values;
  Index heads = 1;
  typename Run::Scalar* relative_gradient = nullptr;

  /// The parts of one head; `matrix(x)` returns a view of x, or of x's gradient.
  template <class Matrix>
  auto parts(const Sequences& sequences, const detail::SequenceHead& at, const Matrix& matrix) const {
    const auto part = [&](const MatrixOf<Run>& x) {
      return View<typename Run::Scalar>(at.of(MatrixView<typename Run::Scalar>(matrix(x)), sequences));
    };
    return ChunkParts<typename Run::Scalar>{part(local_q), part(local_k), part(global_q), part(global_k), part(values)};
  }
};

namespace detail {

/// Upper bound of mix_stream()'s scratch for `rows` tokens; `s` is the width of the global keys, `e` the width of the values.
/// Covers attend() over a chunk's keys, a finished chunk's product of keys and values, the local and the global output, and the
/// product with the memory.
template <class T>
Index mix_stream_scratch(Index rows, Index chunk, Index s, Index e, const Threads& threads) {
  return attend_scratch<T>(rows, s, chunk, threads) + gemm::product_scratch<T>(s, chunk, threads) +
         2 * rows * row_stride<T>(e) + gemm::product_scratch<T>(rows, s, threads);
}

/// Mixes the next tokens of a stream. Position p is token p mod c of chunk ⌊p / c⌋. The memory accumulates finished chunks.
/// Of the open chunk, the stream keeps local keys, global keys and values.
template <class T>
void mix_stream(Stream<T>& run, const ChunkInputs<Stream<T>>& in, const ChunkMixing<T>& mixing, const Epilogue<T>& epilogue,
                const MatrixView<T>& y) {
  using Memory = typename Stream<T>::Memory;
  Workspace<T>& workspace = run.workspace();
  const Index c = mixing.chunk, heads = in.heads, e = run.columns(in.values), s = run.columns(in.global_k);
  Matrix<T>& memory = run.remember(s, e / heads, Memory::sums);  // the heads' memories, stacked vertically
  Matrix<T>& local_keys = run.remember(c, s, Memory::sums);
  Matrix<T>& global_keys = run.remember(c, s, Memory::sums);
  Matrix<T>& values = run.remember(c, e, Memory::sums);
  Index position = run.position();
  workspace.reserve(mix_stream_scratch<T>(std::min(y.rows(), c), c, s, e, workspace.threads()));
  for (Index done = 0; done < y.rows();) {
    const Index filled = position % c, finished = position / c, rows = std::min(y.rows() - done, c - filled),
                seen = filled + rows;
    const auto next = [&](const MatrixView<T>& x) { return ConstView<T>(x.rows(done, rows)); };
    local_keys.middleRows(filled, rows) = next(in.local_k);
    global_keys.middleRows(filled, rows) = next(in.global_k);
    values.middleRows(filled, rows) = next(in.values);
    const auto head_of = [&](const MatrixView<T>& x, Index head, Index first, Index count) {
      return x.block(first, head * (x.columns() / heads), count, x.columns() / heads);
    };
    for (Index head = 0; head < heads; ++head) {
      const WeightsWatcher<T> watch = watcher(run, SequenceHead{0, head, heads}, true);
      const MatrixView<T> own_memory = MatrixView<T>(memory).rows(head * (s / heads), s / heads),
                          out = head_of(y, head, done, rows);
      mix_chunk<T>(head_of(in.local_q, head, done, rows), head_of(in.global_q, head, done, rows),
                   head_of(local_keys, head, 0, seen), head_of(values, head, 0, seen), filled, mixing.local, own_memory,
                   memory_scale<T>(mixing.reduction, finished), out, workspace,
                   epilogue.block(done, head * out.columns(), rows, out.columns()), of_part(watch, finished));
      if (seen == c) {
        remember<T>(head_of(global_keys, head, 0, c), head_of(values, head, 0, c), T{1} / static_cast<T>(c),
                    finished == 0 ? MatrixView<const T>() : MatrixView<const T>(own_memory), own_memory, workspace);
      }
    }
    position += rows;
    done += rows;
  }
}

/// `mixing` for the sequence that starts at row `offset`, with `dropout` and the sequence's part of the mask `visible`, if any.
template <class T>
ChunkMixing<T> of_sequence(ChunkMixing<T> mixing, const T* visible, Index offset, const DropoutMask<T>& dropout) {
  mixing.local.visible_keys = visible == nullptr ? nullptr : visible + offset;
  mixing.local.dropout = dropout;
  return mixing;
}

/// Backward pass of mix_chunks() for all sequences and heads.
template <class Back, class Run, class T = typename Back::Scalar>
void mix_chunks_backward(Back& back, const ChunkInputs<Run>& in, const ChunkMixing<T>& mixing, const T* visible,
                         const DropoutMask<T>& dropout, const Sequences& sequences, MatrixView<T> dy) {
  for_each_head(sequences, in.heads, [&](const SequenceHead& at) {
    mix_sequence_backward<T>(in.parts(sequences, at, [&](auto x) { return back[x]; }),
                             of_sequence(mixing, visible, sequences.offset(at.b), dropout.at(at.index())), at.of(dy, sequences),
                             in.parts(sequences, at, [&](auto x) { return accumulator(back, x); }), in.relative_gradient,
                             back.workspace());
  });
}

}  // namespace detail

/// y = (A ⊙ D) v + Q M for each sequence and head, with `epilogue` applied. `mixing` defines A and the memory M; D is the
/// attention dropout mask. Tokens hidden by the run's mask are not attended to.
///
/// A causal stream keeps the memory and the open chunk's local keys, global keys and values. For h heads, these are h·(S·E +
/// c·(2·S + E)) values, however long the sequence. A hook sees A of each chunk as "weights.b.chunk", or "weights.b.head.chunk"
/// if there are several heads. Data that `mixing` points to must outlive the backward pass.
/// Shapes: for h heads, queries and keys are rows × h·S; values, y and the epilogue's matrices are rows × h·E.
/// Errors: ShapeError if an epilogue matrix is not shaped like y.
/// Cost: see mix_sequence() and mix_sequence_backward().
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> mix_chunks(Run& run, ChunkInputs<Run> in, const ChunkMixing<T>& mixing, Epilogue<Run> epilogue) {
  run.sequences().expect_total("mix_chunks", run.rows(in.values));
  const Joined<Run> joined = joined_result(run, run.rows(in.values), run.columns(in.values), epilogue);
  const T* const visible = mask_values<T>(run.mask(), run);
  if (visible != nullptr) {
    in.global_k = scale(run, std::move(in.global_k), per_row<T>(visible));
  }
  DropoutMask<T> dropout;
  if constexpr (Run::streams) {
    detail::mix_stream<T>(run, in, mixing, joined.epilogue, joined.y);
    return joined.y;
  }
  if constexpr (Run::records) {
    dropout = run.attention_dropout();
    run.push([in, y = joined.y, saved = joined.saved, epilogue, mixing, visible, dropout,
              sequences = run.kept_sequences()](auto& back) {
      const MatrixView<T> dz = backward_through(back, epilogue, y, saved);
      detail::mix_chunks_backward(back, in, mixing, visible, dropout, back.sequences(sequences), dz);
    });
  }
  const Sequences& sequences = run.sequences();
  const MatrixView<T> place = run[joined.y];
  detail::for_each_head(sequences, place.rows() > 0 ? in.heads : 0, [&](const detail::SequenceHead& at) {
    mix_sequence<T>(in.parts(sequences, at, [&](auto x) { return run[x]; }),
                    detail::of_sequence(mixing, visible, sequences.offset(at.b), dropout.at(at.index())),
                    at.of(place, sequences), run.workspace(), at.of(joined.epilogue, sequences, place.columns()),
                    detail::watcher(run, at, true));
  });
  return joined.y;
}

}  // namespace gated
