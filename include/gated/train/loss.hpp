#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "gated/ops/gradients.hpp"
#include "gated/ops/kernels.hpp"
#include "gated/train/tape.hpp"

/// @file
/// What training makes small.

namespace gated {

/// The class of each row, 0 … V-1, or CrossEntropyOptions::ignored.
using Targets = std::span<const Index>;

/// The options of a cross-entropy.
struct CrossEntropyOptions {
  double label_smoothing = 0;  ///< ε: the target is ε / V on every class, and 1 - ε more on its own (arXiv:1512.00567, §7)
  Index ignored = -100;        ///< rows with this target do not count: padding, or what masked language modelling shows
};

namespace detail {

inline Index counted_targets(Targets targets, Index rows, Index classes, const CrossEntropyOptions& options) {
  constexpr const char* where = "cross_entropy";
  require<ShapeError>(static_cast<Index>(targets.size()) == rows, where, ": ", targets.size(), " targets, expected ", rows,
                      ", one for each row of logits.");
  require<ArgumentError>(options.label_smoothing >= 0 && options.label_smoothing <= 1, where,
                         ": label_smoothing = ", options.label_smoothing, ", expected 0 … 1.");
  Index counted = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Index target = targets[i];
    require<ArgumentError>(target == options.ignored || (target >= 0 && target < classes), where, ": target ", i, " is ",
                           target, ", expected 0 … ", classes - 1, ", or ", options.ignored, " for a row that does not count.");
    counted += target == options.ignored ? 0 : 1;
  }
  require<ArgumentError>(counted > 0, where, ": none of the ", rows, " targets counts, so there is nothing to learn from.");
  return counted;
}

}  // namespace detail

/// The mean over the rows that count of -Σ_j t_j log softmax(x)_j, with the target t: softmax cross-entropy, a 1 × 1 variable.
///
/// ∂x = (softmax(x) - t) / rows.
/// Shapes: logits is N × V; `targets` has N classes and must stay until the backward pass is over.
/// Errors: ShapeError for another number of targets; ArgumentError for a class that does not exist, and if no row counts.
/// Cost: an exponential for each logit, here and in the backward pass.
template <class T>
Variable cross_entropy(Tape<T>& tape, Variable logits, Targets targets, const CrossEntropyOptions& options = {}) {
  const View<T> x = tape[logits];
  const Index rows = x.rows(), classes = x.cols();
  const Index counted = detail::counted_targets(targets, rows, classes, options);
  const double smoothing = options.label_smoothing;
  // log Σ_j exp(x_j) of each row as the sum of two numbers, because one would lose the digits of the smaller.
  T* const largest = tape.take(rows);
  T* const rest = tape.take(rows);
  for_each_row(rows, tape.workspace(),
               [&](Index i) { GATED_KERNEL(log_sum_exp_of_row<T>(&x.coeffRef(i, 0), classes, largest + i, rest + i)); });
  double sum = 0;
  for (Index i = 0; i < rows; ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    if (target != options.ignored) {
      const double normaliser = static_cast<double>(largest[i]) + static_cast<double>(rest[i]);
      sum += (1 - smoothing) * (normaliser - static_cast<double>(x(i, target)));
      if (smoothing > 0) {
        sum += smoothing * (normaliser - x.row(i).template cast<double>().mean());
      }
    }
  }
  const Variable loss = tape.make(1, 1);
  tape[loss](0, 0) = static_cast<T>(sum / static_cast<double>(counted));

  tape.push([logits, loss, targets, largest, rest, smoothing, ignored = options.ignored, counted, classes](Tape<T>& back) {
    const T scale = back.gradient(loss)(0, 0) / static_cast<T>(counted);
    if (!back.wants_gradient(logits)) {
      return;
    }
    const View<T> from = back[logits];
    auto [to, fresh] = back.target(logits);
    const auto everywhere = static_cast<T>(smoothing / static_cast<double>(classes)), more = static_cast<T>(1 - smoothing);
    for_each_row(from.rows(), back.workspace(), [&, &to = to, adds = !fresh](Index i) {
      const Index target = targets[static_cast<std::size_t>(i)];
      T* const row = &to.coeffRef(i, 0);
      if (target != ignored) {
        GATED_KERNEL(softmax_difference<T>(&from.coeffRef(i, 0), classes, largest[i], rest[i], everywhere, target, more, scale,
                                           row, adds));
      } else if (!adds) {
        std::fill_n(row, classes, T{0});
      }
    });
  });
  return loss;
}

/// Temporary targets would be gone before the backward pass.
template <class T>
Variable cross_entropy(Tape<T>&, Variable, std::vector<Index>&&, const CrossEntropyOptions& = {}) = delete;

/// Nor would a temporary target last.
template <class T, Fleeting<T> M>
Variable mean_squared_error(Tape<T>&, Variable, M&&) = delete;

/// The mean over all numbers of (y - target)²: a 1 × 1 variable. ∂y = 2 (y - target) / numbers.
///
/// Shapes: y and target are N × C; `target` must stay until the backward pass is over.
/// Errors: ShapeError; ArgumentError for N = 0.
template <class T>
Variable mean_squared_error(Tape<T>& tape, Variable y, const std::type_identity_t<ConstView<T>>& target) {
  const View<T> values = tape[y];
  require<ShapeError>(target.rows() == values.rows() && target.cols() == values.cols(), "mean_squared_error: target is ",
                      target.rows(), " × ", target.cols(), ", expected ", values.rows(), " × ", values.cols(), ".");
  require<ArgumentError>(values.size() > 0, "mean_squared_error: there are no numbers to compare.");
  double sum = 0;
  for (Index i = 0; i < values.rows(); ++i) {
    sum += (values.row(i) - target.row(i)).template cast<double>().squaredNorm();
  }
  const Variable loss = tape.make(1, 1);
  tape[loss](0, 0) = static_cast<T>(sum / static_cast<double>(values.size()));
  tape.push([y, loss, wanted = reader<T>(target)](Tape<T>& back) {
    const T scale = 2 * back.gradient(loss)(0, 0) / static_cast<T>(back[y].size());
    add_gradient(back, y, (reader<T>(back[y]) - wanted) * number(scale));
  });
  return loss;
}

}  // namespace gated
