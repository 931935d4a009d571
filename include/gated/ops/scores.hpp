#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "gated/ops/matmul.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// From queries, keys and values to what attention gives: y = A v with A = kernel(scores).

namespace gated {

/// What turns scores into attention weights.
enum class ScoreKernel {
  relu2,           ///< max(S, 0)²: GAU and FLASH
  laplace,         ///< see Laplace: lucidrains' option
  laplace_legacy,  ///< with the σ of packages before 0.1.7
  softmax,         ///< over the keys
  softmax_plus     ///< softmax(S · ln l / ln 512), l the number of keys: GAU-α. The factor is the caller's, in Scoring::scale
};

constexpr auto names_of(ScoreKernel) {
  return std::array{std::pair{ScoreKernel::relu2, std::string_view("relu2")},
                    std::pair{ScoreKernel::laplace, std::string_view("laplace")},
                    std::pair{ScoreKernel::laplace_legacy, std::string_view("laplace_legacy")},
                    std::pair{ScoreKernel::softmax, std::string_view("softmax")},
                    std::pair{ScoreKernel::softmax_plus, std::string_view("softmax_plus")}};
}

/// How the weights of one sequence (or one chunk) are made:
/// S = (q kᵀ + B) · scale if the bias stands inside the scale, q kᵀ · scale + B otherwise; A = kernel(S) · weight_scale, then
/// masks.
template <class T>
struct Scoring {
  ScoreKernel kernel = ScoreKernel::relu2;
  T scale = T{1};
  T weight_scale = T{1};
  bool bias_inside = false;
  bool causal = false;
  const T* relative = nullptr;  ///< B_ij = relative[j - i]; points at offset 0
  const T* bias = nullptr;      ///< B_ij = bias[i · bias_stride + j], added to the relative one
  Index bias_stride = 0;
  const T* keys = nullptr;     ///< 0 or 1 per key
  const T* queries = nullptr;  ///< 0 or 1 per query: rows that are taken away
};

namespace detail {

/// value + B_ij for queries from position `first` on.
template <class T>
struct AddScoreBias {
  const Scoring<T>& scoring;
  Index first;

  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    if (scoring.relative != nullptr) {
      value = value + Simd<T>::load(scoring.relative + (at.column - at.row - first), at.lanes);
    }
    if (scoring.bias != nullptr) {
      value = value + Simd<T>::load(scoring.bias + (first + at.row) * scoring.bias_stride + at.column, at.lanes);
    }
    return value;
  }
};

/// The kernel's weights, without those that masks and causality take away.
template <class T>
struct KeepVisible {
  const Scoring<T>& scoring;
  Index first;

  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> weight) const {
    weight = weight * Simd<T>(scoring.weight_scale);
    // A hidden score may be anything: its weight is replaced, not multiplied, because infinity times 0 is not 0.
    if (scoring.keys != nullptr) {
      weight = select_less(Simd<T>(T{0}), Simd<T>::load(scoring.keys + at.column, at.lanes), weight, Simd<T>(T{0}));
    }
    if (scoring.queries != nullptr && scoring.queries[first + at.row] == T{0}) {
      weight = Simd<T>(T{0});
    }
    return scoring.causal ? weight.keep(std::clamp<Index>(first + at.row - at.column + 1, 0, Simd<T>::width)) : weight;
  }
};

template <class T>
void score(const ConstView<T>& q, const ConstView<T>& k, Index first, const Scoring<T>& scoring, View<T> weights,
           Workspace<T>& workspace) {
  const Scale<T> scale{scoring.scale};
  const AddScoreBias<T> bias{scoring, first};
  const KeepVisible<T> visible{scoring, first};
  const auto product = [&](const auto&... stages) {
    if (scoring.bias_inside) {
      matmul<T>(q, transposed<T>(k), weights, workspace, bias, scale, stages...);
    } else {
      matmul<T>(q, transposed<T>(k), weights, workspace, scale, bias, stages...);
    }
  };
  switch (scoring.kernel) {
    case ScoreKernel::relu2:
      return product(Activate{Activation::relu2}, visible);
    case ScoreKernel::laplace:
      return product(Activate{Activation::laplace}, visible);
    case ScoreKernel::laplace_legacy:
      return product(Activate{Activation::laplace_legacy}, visible);
    case ScoreKernel::softmax:
    case ScoreKernel::softmax_plus:
      break;
  }
  product();
  softmax<T>(weights, scoring.causal, workspace, first, scoring.keys);
  if (scoring.weight_scale != T{1}) {
    weights *= scoring.weight_scale;
  }
  for (Index i = 0; scoring.queries != nullptr && i < weights.rows(); ++i) {
    if (scoring.queries[first + i] == T{0}) {
      weights.row(i).setZero();
    }
  }
}

}  // namespace detail

/// y = stages(A v) for the queries `first`, `first` + 1, … of one sequence, as many as q has rows.
///
/// Shapes: q is M × S, k is N × S, v is N × E, y is M × E. Query i stands at position first + i among the keys. Cost: 2·M·N·(S
/// + E) flops, half of it when causal; scratch of 128 rows of scores. An observer sees A, all rows of it.
template <class T, class... Stages>
void attend(ConstView<T> q, ConstView<T> k, ConstView<T> v, Index first, const Scoring<T>& scoring, View<T> y,
            Workspace<T>& workspace, const Stages&... stages) {
  const Index block = workspace.observed() ? std::max<Index>(q.rows(), 1) : 128;
  for (Index done = 0; done < q.rows(); done += block) {
    const auto frame = workspace.frame();
    const Index rows = std::min(block, q.rows() - done);
    const Index seen = scoring.causal ? std::min(first + done + rows, k.rows()) : k.rows();
    MatrixMap<T> weights = workspace.matrix(rows, seen);
    detail::score<T>(q.middleRows(done, rows), k.topRows(seen), first + done, scoring, weights, workspace);
    workspace.show(weights);
    matmul<T>(weights, ConstView<T>(v.topRows(seen)), y.middleRows(done, rows), workspace, shifted(stages, done, 0)...);
  }
}

}  // namespace gated
