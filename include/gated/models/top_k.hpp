#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gated/core/matrix.hpp"

/// @file
/// The k best scores.

namespace gated {

/// The index of a class or token, and its score.
template <class T>
struct Scored {
  Index index;
  T score;
};

/// The `k` largest scores of a row, or all if there are fewer: largest first, ties by index. NaN ranks below any number.
///
///     for (const auto& [index, score] : top_k<float>(logits.row(0), 5)) { … labels[index] … }
///
/// Shapes: scores is 1 × C.
/// Errors: ShapeError, ArgumentError for a negative k.
/// Cost: C log k comparisons.
template <class T>
std::vector<Scored<T>> top_k(const ConstView<T>& scores, Index k) {
  require<ShapeError>(scores.rows() == 1, "top_k: scores has ", scores.rows(), " rows, expected one.");
  require<ArgumentError>(k >= 0, "top_k: k = ", k, " must not be negative.");
  std::vector<Index> order(static_cast<std::size_t>(scores.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto end = order.begin() + std::min(k, scores.cols());
  std::partial_sort(order.begin(), end, order.end(), [&](Index a, Index b) {
    const T x = scores(0, a), y = scores(0, b);
    if (std::isnan(x) || std::isnan(y)) {
      return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    }
    return x != y ? x > y : a < b;
  });
  std::vector<Scored<T>> best;
  std::for_each(order.begin(), end, [&](Index i) { best.push_back({i, scores(0, i)}); });
  return best;
}

}  // namespace gated
