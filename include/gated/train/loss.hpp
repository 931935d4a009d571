#pragma once

#include <cmath>
#include <limits>
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

/// log Σ_j exp(x_j) as the sum of two numbers, because one would lose the digits of the smaller.
template <class T>
struct LogSumExp {
  T largest, rest;  ///< max_j x_j, and log Σ_j exp(x_j - largest)

  /// exp(x) / Σ_j exp(x_j).
  Simd<T> softmax(Simd<T> x) const { return exp_of_negative((x - Simd<T>(largest)) - Simd<T>(rest)); }
  double value() const { return static_cast<double>(largest) + static_cast<double>(rest); }
};

template <class T>
LogSumExp<T> log_sum_exp(const T* row, Index count) {
  T largest = -std::numeric_limits<T>::infinity();
  for (Index j = 0; j < count; ++j) {
    largest = row[j] > largest || std::isnan(row[j]) ? row[j] : largest;
  }
  RunningSum<T> sum;
  for_each_vector<T>(count, [&](Index j, Index lanes) {
    sum.add(exp_of_negative(Simd<T>::load(row + j, lanes) - Simd<T>(largest)).keep(lanes));
  });
  return {largest, std::log(sum.total())};
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
  T* const largest = tape.take(rows);  // of each row
  T* const rest = tape.take(rows);
  for_each_row(rows, tape.workspace(), [&](Index i) {
    const auto normaliser = detail::log_sum_exp<T>(&x.coeffRef(i, 0), classes);
    largest[i] = normaliser.largest;
    rest[i] = normaliser.rest;
  });
  double sum = 0;
  for (Index i = 0; i < rows; ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    if (target != options.ignored) {
      const double normaliser = detail::LogSumExp<T>{largest[i], rest[i]}.value();
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
    const auto from = reader<T>(back[logits]);
    const Simd<T> everywhere(static_cast<T>(smoothing / static_cast<double>(classes)));
    add_gradient(back, logits, [&](Index i, Index j, Index lanes) {
      const Index target = targets[static_cast<std::size_t>(i)];
      if (target == ignored) {
        return Simd<T>(T{0});
      }
      Simd<T> difference = detail::LogSumExp<T>{largest[i], rest[i]}.softmax(from(i, j, lanes)) - everywhere;
      if (target >= j && target < j + lanes) {
        EIGEN_ALIGN_MAX T values[Simd<T>::lane_count];
        difference.store(values);
        values[target - j] -= static_cast<T>(1 - smoothing);
        difference = Simd<T>::load(values);
      }
      return difference * Simd<T>(scale);
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
    const auto from = reader<T>(back[y]);
    add_gradient(back, y,
                 [&](Index i, Index j, Index lanes) { return (from(i, j, lanes) - wanted(i, j, lanes)) * Simd<T>(scale); });
  });
  return loss;
}

}  // namespace gated
