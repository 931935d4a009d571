#pragma once

#include "gated/ops/mixed_chunk.hpp"
#include "gated/train/attention.hpp"

/// @file
/// Training of mixed-chunk attention: the way back through y = A v + Q M of ops/mixed_chunk.hpp.

namespace gated {

namespace detail {

/// The way back through y += scale · q M: ∂q += scale · ∂y Mᵀ.
template <class T>
void recall_back(const ConstView<T>& dy, const ConstView<T>& memory, T scale, View<T> dq, Workspace<T>& workspace) {
  matmul<T>(dy, transposed<T>(memory), dq, workspace, Scale<T>{scale}, Add<T>(dq));
}

/// The way back through M += share · kᵀ v: ∂k += share · v ∂Mᵀ, ∂v += share · k ∂M.
template <class T>
void remember_back(const ConstView<T>& k, const ConstView<T>& v, T share, const ConstView<T>& memory, View<T> dk, View<T> dv,
                   Workspace<T>& workspace) {
  const Scale<T> scale{share};
  matmul<T>(v, transposed<T>(memory), dk, workspace, scale, Add<T>(dk));
  matmul<T>(k, memory, dv, workspace, scale, Add<T>(dv));
}

/// The global part where tokens read one memory of all of them: a sequence, or with own_chunk a chunk.
template <class T>
void shared_memory_back(ChunkParts<T> parts, T share, const ConstView<T>& dy, ChunkParts<T> to, Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  MatrixMap<T> memory = workspace.matrix(parts.global_k.cols(), parts.values.cols());
  remember<T>(parts.global_k, parts.values, share, nullptr, memory, workspace);
  recall_back<T>(dy, memory, T{1}, to.global_q, workspace);
  remember<T>(parts.global_q, dy, T{1}, nullptr, memory, workspace);  // the gradient of the memory
  remember_back<T>(parts.global_k, parts.values, share, memory, to.global_k, to.values, workspace);
}

/// The global part where chunk h reads the memory of the chunks before it: once forward for the memories, then backward for
/// their gradients, ∂M_h = ∂M_{h+1} + scale_h · Q_hᵀ ∂y_h.
template <class T>
void causal_memory_back(ChunkParts<T> parts, const ChunkMixing<T>& mixing, const ConstView<T>& dy, ChunkParts<T> to,
                        Workspace<T>& workspace) {
  const auto frame = workspace.frame();
  const Index length = dy.rows(), c = mixing.chunk, chunks = (length + c - 1) / c;
  const T share = mixing.share(length);
  MatrixMap<T> memory = workspace.matrix(parts.global_k.cols(), parts.values.cols());
  const View<T> before = memory;
  for (Index h = 1; h < chunks; ++h) {
    const ChunkParts<T> last = parts.rows((h - 1) * c, c);
    remember<T>(last.global_k, last.values, share, h == 1 ? nullptr : &before, memory, workspace);
    const Index rows = std::min(c, length - h * c);
    recall_back<T>(dy.middleRows(h * c, rows), memory, memory_scale<T>(mixing.reduction, h), to.rows(h * c, rows).global_q,
                   workspace);
  }
  for (Index h = chunks - 1; h > 0; --h) {
    const Index rows = std::min(c, length - h * c);
    remember<T>(parts.rows(h * c, rows).global_q, dy.middleRows(h * c, rows), memory_scale<T>(mixing.reduction, h),
                h == chunks - 1 ? nullptr : &before, memory, workspace);
    const ChunkParts<T> last = parts.rows((h - 1) * c, c), back = to.rows((h - 1) * c, c);
    remember_back<T>(last.global_k, last.values, share, memory, back.global_k, back.values, workspace);
  }
}

}  // namespace detail

/// The way back through mix_sequence() of one whole sequence: attend_back() of each chunk, and of the memories
///
///     ∂Q_h = scale_h ∂y_h M_hᵀ        ∂K_h = share · V_h ∂Mᵀ        ∂V_h = share · K_h ∂M
///
/// with ∂M = Σ scale_h' Q_h'ᵀ ∂y_h' over the chunks h' that read what chunk h gave. Gradients are added to; those of the
/// relative bias go where `relative` points, unless to nullptr. Cost: 2·N·(c·(3·S + 2·E) + 5·S·E) flops; scratch 256·c + S·E.
template <class T>
void mix_sequence_back(ChunkParts<T> parts, const ChunkMixing<T>& mixing, const ConstView<T>& dy, ChunkParts<T> to, T* relative,
                       Workspace<T>& workspace) {
  const Index length = dy.rows(), c = mixing.chunk;
  for (Index first = 0; first < length; first += c) {
    const Index rows = std::min(c, length - first);
    const ChunkParts<T> chunk = parts.rows(first, rows), back = to.rows(first, rows);
    const ConstView<T> own = dy.middleRows(first, rows);
    attend_back<T>(chunk.local_q, chunk.local_k, chunk.values, own, 0, mixing.local_of(first / c),
                   {back.local_q, back.local_k, back.values, relative}, workspace);
    if (mixing.own_chunk()) {
      detail::shared_memory_back<T>(chunk, mixing.share(length), own, back, workspace);
    }
  }
  if (mixing.local.causal) {
    detail::causal_memory_back<T>(parts, mixing, dy, to, workspace);
  } else if (!mixing.own_chunk() && length > 0) {
    detail::shared_memory_back<T>(parts, mixing.share(length), dy, to, workspace);
  }
}

/// What mixes in chunks, on a tape: see ChunkParts and AttentionInputs. Masked tokens' global keys must be 0 already.
template <class T>
struct ChunkInputs {
  Variable local_q, local_k, global_q, global_k, values;
  Index sequences;
  Index heads = 1;
  T* relative_gradient = nullptr;
};

/// y = (A ⊙ D) v + Q M for each sequence b and head, mixed as `mixing_of(b)` says, with the mask D of attention dropout.
///
/// `mixing_of` may capture as Tape::push() says; what it points to must stay until the way back is over. Cost: see
/// mix_sequence() and mix_sequence_back().
template <class T, class MixingOf>
Variable mix_chunks(Tape<T>& tape, const ChunkInputs<T>& in, const MixingOf& mixing_of) {
  const Variable y = tape.make(tape.rows(in.values), tape.width(in.values));
  const DropoutMask<T> dropout = attention_dropout(tape);
  const auto for_each_head = [&tape, in, mixing_of, dropout](const auto& f) {
    const Sequences sequences = tape.sequences(in.sequences);
    for (Index b = 0; b < sequences.count(); ++b) {
      ChunkMixing<T> mixing = mixing_of(b);
      for (Index head = 0; head < in.heads; ++head) {
        mixing.local.dropout = dropout.at(b * in.heads + head);
        f([&](auto x) { return detail::head_of(x, sequences, b, head, in.heads); }, mixing);
      }
    }
  };
  const auto parts_of = [in](const auto& of_head, const auto& matrix) {
    return ChunkParts<T>{of_head(matrix(in.local_q)), of_head(matrix(in.local_k)), of_head(matrix(in.global_q)),
                         of_head(matrix(in.global_k)), of_head(matrix(in.values))};
  };
  const auto values = [&tape](Variable x) { return tape[x]; };
  for_each_head([&](const auto& of_head, const ChunkMixing<T>& mixing) {
    mix_sequence<T>(parts_of(of_head, values), mixing, of_head(tape[y]), tape.workspace());
  });
  tape.push([&tape, in, y, for_each_head, parts_of, values] {
    const ConstView<T> dy = tape.gradient(y);
    const auto gradients = [&tape](Variable x) { return accumulator(tape, x); };
    for_each_head([&](const auto& of_head, const ChunkMixing<T>& mixing) {
      mix_sequence_back<T>(parts_of(of_head, values), mixing, of_head(dy), parts_of(of_head, gradients), in.relative_gradient,
                           tape.workspace());
    });
  });
  return y;
}

}  // namespace gated
