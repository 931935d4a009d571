#pragma once

#include "gated/ops/scores.hpp"

/// @file
/// Mixed-chunk attention: quadratic within a chunk, linear across chunks (Hua et al., arXiv:2202.10447, §3).

namespace gated {

/// How the chunks' products KᵀV are combined into the global part. c is the chunk, n the sequence, h counts chunks from 0.
enum class LinearReduction {
  sum,   ///< causal: Σ_{h'<h} K_h'ᵀV_h' / c; otherwise Σ over all / n: lucidrains, and equation 7 of the paper
  mean,  ///< causal: the mean over the h earlier chunks, 0 for the first; otherwise over all chunks: the paper's pseudo-code
  own_chunk  ///< not causal: K_hᵀV_h / n of the own chunk only: lucidrains' reduce_group_non_causal_attn = False
};

constexpr auto names_of(LinearReduction) {
  return std::array{std::pair{LinearReduction::sum, std::string_view("sum")},
                    std::pair{LinearReduction::mean, std::string_view("mean")},
                    std::pair{LinearReduction::own_chunk, std::string_view("own_chunk")}};
}

/// How the tokens of a sequence are mixed.
template <class T>
struct ChunkMixing {
  Index chunk = 256;
  LinearReduction reduction = LinearReduction::sum;
  Scoring<T> local{};  ///< of one chunk; its `causal` holds for both parts, its `keys` are those of the whole sequence
};

/// Queries, keys and values of some tokens, a row each: S wide, values E wide.
template <class T>
struct ChunkParts {
  View<T> local_q, local_k, global_q, global_k, values;

  ChunkParts rows(Index first, Index count) {
    return {local_q.middleRows(first, count), local_k.middleRows(first, count), global_q.middleRows(first, count),
            global_k.middleRows(first, count), values.middleRows(first, count)};
  }
};

/// What the memory, a sum over `finished` chunks, is multiplied with in a causal sequence: 0 for the first chunk.
template <class T>
T memory_scale(LinearReduction reduction, Index finished) {
  if (finished == 0) {
    return T{0};
  }
  return reduction == LinearReduction::mean ? T{1} / static_cast<T>(finished) : T{1};
}

/// memory = kᵀ v · scale, or memory += kᵀ v · scale unless it is the `first`. Shapes: k is N × S, v is N × E, memory is S × E.
template <class T>
void remember(const ConstView<T>& k, const ConstView<T>& v, T scale, View<T> memory, bool first, Workspace<T>& workspace) {
  if (first) {
    matmul<T>(transposed<T>(k), v, memory, workspace, Scale<T>{scale});
  } else {
    matmul<T>(transposed<T>(k), v, memory, workspace, Scale<T>{scale}, Add<T>(memory));
  }
}

/// y = stages(A v + q M · scale) for tokens that stand from `first` on in a chunk with local keys `k` and values `v`, of which
/// they are part. A scale of 0 leaves the memory M unread.
template <class T, class... Stages>
void mix_chunk(const ConstView<T>& local_q, const ConstView<T>& global_q, const ConstView<T>& k, const ConstView<T>& v,
               Index first, const Scoring<T>& local, const ConstView<T>& memory, T scale, View<T> y, Workspace<T>& workspace,
               const Stages&... stages) {
  if (scale == T{0}) {
    attend<T>(local_q, k, v, first, local, y, workspace, stages...);
    return;
  }
  attend<T>(local_q, k, v, first, local, y, workspace);
  matmul<T>(global_q, memory, y, workspace, Scale<T>{scale}, Add<T>(y), stages...);
}

/// y = stages(A v + Q M) for one whole sequence.
///
/// Shapes: y is N × E, `parts` have N rows; the last chunk may be short. Masked tokens' global keys must be 0 already. Cost:
/// 2·N·(c·(S + E) + 2·S·E) flops; scratch S·E + 128·c.
template <class T, class... Stages>
void mix_sequence(ChunkParts<T> parts, const ChunkMixing<T>& mixing, View<T> y, Workspace<T>& workspace,
                  const Stages&... stages) {
  const auto frame = workspace.frame();
  const Index length = y.rows(), c = mixing.chunk, chunks = (length + c - 1) / c;
  const bool causal = mixing.local.causal;
  MatrixMap<T> memory = workspace.matrix(parts.global_k.cols(), parts.values.cols());
  if (!causal && mixing.reduction != LinearReduction::own_chunk && length > 0) {
    const Index divisor = mixing.reduction == LinearReduction::mean ? chunks * c : length;
    remember<T>(parts.global_k, parts.values, T{1} / static_cast<T>(divisor), memory, true, workspace);
  }
  Scoring<T> local = mixing.local;
  for (Index h = 0; h < chunks; ++h) {
    const Index rows = std::min(c, length - h * c);
    const ChunkParts<T> chunk = parts.rows(h * c, rows);
    local.keys = mixing.local.keys == nullptr ? nullptr : mixing.local.keys + h * c;
    if (!causal && mixing.reduction == LinearReduction::own_chunk) {
      remember<T>(chunk.global_k, chunk.values, T{1} / static_cast<T>(length), memory, true, workspace);
    }
    mix_chunk<T>(chunk.local_q, chunk.global_q, chunk.local_k, chunk.values, 0, local, memory,
                 causal ? memory_scale<T>(mixing.reduction, h) : T{1}, y.middleRows(h * c, rows), workspace,
                 shifted(stages, h * c, 0)...);
    if (causal && h + 1 < chunks) {
      remember<T>(chunk.global_k, chunk.values, T{1} / static_cast<T>(c), memory, h == 0, workspace);
    }
  }
}

}  // namespace gated
