#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gated/core/words.hpp"
#include "gated/ops/join.hpp"
#include "gated/ops/scores.hpp"

/// @file
/// Mixed-chunk attention: quadratic within a chunk, linear across chunks (Hua et al., arXiv:2202.10447, §3).

namespace gated {

/// How the chunks' products KᵀV combine into the memory M of chunk h, counted from 0. c is the chunk size, n the sequence
/// length.
enum class LinearReduction {
  sum,       ///< causal: Σ_{h'<h} K_h'ᵀV_h' / c; otherwise Σ_h' K_h'ᵀV_h' / n (lucidrains; the paper's equation 7)
  mean,      ///< mean of K_h'ᵀV_h' / c; causal: over the h earlier chunks, 0 if none; otherwise over all (the paper's code)
  own_chunk  ///< causal: as `sum`; otherwise K_hᵀV_h / n (lucidrains' reduce_group_non_causal_attn = False)
};

constexpr auto names_of(LinearReduction) { return words_for<LinearReduction>("sum", "mean", "own_chunk"); }

/// Raises ArgumentError unless `chunk` is from 1 to 2³² tokens (or half of the largest Index, if that is less).
inline void expect_chunk(Where where, Index chunk) {
  constexpr auto longest = std::min<std::int64_t>(std::int64_t{1} << 32, std::numeric_limits<Index>::max() / 2);
  require<ArgumentError>(chunk > 0 && chunk <= longest, where, ": chunk = ", chunk, ", expected 1 … ", longest, " tokens.");
}

/// The options of mixed-chunk attention.
template <class T>
struct ChunkMixing {
  Index chunk = 256;
  LinearReduction reduction = LinearReduction::sum;
  Scoring<T> local{};  ///< scoring within a chunk; `causal` also applies across chunks; `visible_keys` spans the sequence

  bool own_chunk() const { return !local.causal && reduction == LinearReduction::own_chunk; }

  /// The scoring within chunk h: `local` with the masks of this chunk.
  Scoring<T> local_of(Index h) const {
    Scoring<T> own = local;
    own.visible_keys = local.visible_keys == nullptr ? nullptr : local.visible_keys + h * chunk;
    own.dropout = local.dropout.from_row(h * chunk);
    return own;
  }

  /// The factor of each chunk's KᵀV in the sum M, for a sequence of `length` tokens.
  T share(Index length) const {
    const Index chunks = (length + chunk - 1) / chunk;
    return T{1} / static_cast<T>(local.causal ? chunk : reduction == LinearReduction::mean ? chunks * chunk : length);
  }
};

/// Queries, keys and values, one row per token: queries and keys S wide, values E wide.
template <class T>
struct ChunkParts {
  View<T> local_q, local_k, global_q, global_k, values;

  ChunkParts rows(Index first, Index count) {
    return {local_q.middleRows(first, count), local_k.middleRows(first, count), global_q.middleRows(first, count),
            global_k.middleRows(first, count), values.middleRows(first, count)};
  }
};

/// The scale of q M in causal attention, where M is the sum over the `finished` earlier chunks; 0 if there are none.
template <class T>
T memory_scale(LinearReduction reduction, Index finished) {
  if (finished == 0) {
    return T{0};
  }
  return reduction == LinearReduction::mean ? T{1} / static_cast<T>(finished) : T{1};
}

/// memory = kᵀ v · scale + previous. `previous` may be absent.
/// Shapes: k is N × S, v is N × E, memory and previous are S × E and may be the same.
/// Cost: 2·N·S·E flops.
template <class T>
void remember(const ConstView<T>& k, const ConstView<T>& v, T scale, const MatrixView<const T>& previous, View<T> memory,
              Workspace<T>& workspace) {
  matmul(transposed(k), v, memory, workspace, {.factor = scale, .added = previous});
}

/// y = A v + q M · scale with `epilogue` applied, for the tokens of a chunk from position `first` on. `k` and `v` are the
/// chunk's local keys and values, including those of these tokens. Epilogue::factor must be 1. If scale is 0, the memory M is
/// not read. y may be the epilogue's gate.
/// Shapes: local_q and global_q are R × S, k is N × S, v is N × E, memory (M) is S × E, y is R × E. Query i is at position
/// first + i among the keys.
/// Cost: 2·R·(N·(S + E) + S·E) flops, about half of the first term when causal; scratch: R × E values, and attend()'s scratch.
template <class T>
void mix_chunk(const ConstView<T>& local_q, const ConstView<T>& global_q, const ConstView<T>& k, const ConstView<T>& v,
               Index first, const Scoring<T>& local, const ConstView<T>& memory, T scale, View<T> y, Workspace<T>& workspace,
               Epilogue<T> epilogue, const WeightsWatcher<T>& watch) {
  if (scale == T{0}) {
    return attend<T>(local_q, k, v, first, local, y, workspace, epilogue, watch);
  }
  const auto frame = workspace.frame();
  MatrixMap<T> own = workspace.matrix(y.rows(), y.cols());
  attend<T>(local_q, k, v, first, local, own, workspace, {}, watch);
  if (!epilogue.added) {
    epilogue.factor = scale;
    epilogue.added = own;
    matmul(global_q, memory, y, workspace, epilogue);
  } else {  // A v + q M first, then the epilogue in a separate pass, as in join()
    matmul(global_q, memory, own, workspace, {.factor = scale, .added = own});
    detail::finish_rows<T>(own, epilogue, y, workspace);
  }
}

/// y = A v + Q M for one whole sequence, with `epilogue` applied. Epilogue::factor must be 1.
///
/// With several threads, chunks run in parallel; if causal, all memories are computed first.
/// Shapes: y is N × E, `parts` have N rows; the last chunk may be short. Global keys of masked tokens must be 0. `watch`
/// receives the weights A of each chunk.
/// Cost: 2·N·(c·(S + E) + 2·S·E) flops; scratch: c·(c + E) + S·E values, plus S·E per chunk if causal with several threads.
template <class T>
void mix_sequence(ChunkParts<T> parts, const ChunkMixing<T>& mixing, View<T> y, Workspace<T>& workspace,
                  const Epilogue<T>& epilogue = {}, const WeightsWatcher<T>& watch = {}) {
  const auto frame = workspace.frame();
  const Index length = y.rows(), c = mixing.chunk, chunks = (length + c - 1) / c;
  const Index s = parts.global_k.cols(), e = parts.values.cols();
  const bool causal = mixing.local.causal, own_chunk = mixing.own_chunk();
  const bool side_by_side = workspace.threads().count() > 1 && chunks > 1 && !watch;

  // Chunk h reads memory h. A single memory suffices if it is the same for all chunks, or if the chunks run sequentially.
  const Index memories = causal && side_by_side ? chunks : 1;
  MatrixMap<T> memory = workspace.matrix(memories * s, e);
  const auto slot = [&](Index h) { return View<T>(memory.middleRows(memories == 1 ? 0 : h * s, s)); };
  const auto add_chunk = [&](Index h) {  // adds chunk h to the memory of chunk h + 1
    const ChunkParts<T> chunk = parts.rows(h * c, c);
    const MatrixView<const T> before = h == 0 ? MatrixView<const T>() : MatrixView<const T>(slot(h));
    remember<T>(chunk.global_k, chunk.values, mixing.share(length), before, slot(h + 1), workspace);
  };
  if (!causal && !own_chunk && length > 0) {
    remember<T>(parts.global_k, parts.values, mixing.share(length), {}, memory, workspace);
  }

  const auto mix = [&](Index h, Workspace<T>& scratch) {
    const auto inner = scratch.frame();
    const Index rows = std::min(c, length - h * c);
    const ChunkParts<T> chunk = parts.rows(h * c, rows);
    MatrixMap<T> own = scratch.matrix(own_chunk ? s : 0, e);
    if (own_chunk) {
      remember<T>(chunk.global_k, chunk.values, mixing.share(length), {}, own, scratch);
    }
    mix_chunk<T>(chunk.local_q, chunk.global_q, chunk.local_k, chunk.values, 0, mixing.local_of(h),
                 own_chunk ? ConstView<T>(own) : ConstView<T>(slot(h)), causal ? memory_scale<T>(mixing.reduction, h) : T{1},
                 y.middleRows(h * c, rows), scratch, epilogue.block(h * c, 0, rows, e), detail::of_part(watch, h));
  };
  if (side_by_side) {
    for (Index h = 0; causal && h + 1 < chunks; ++h) {
      add_chunk(h);
    }
    return workspace.side_by_side(chunks, mix);
  }
  for (Index h = 0; h < chunks; ++h) {
    mix(h, workspace);
    if (causal && h + 1 < chunks) {
      add_chunk(h);
    }
  }
}

}  // namespace gated
