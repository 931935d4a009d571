#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "gated/core/ordered_sum.hpp"
#include "gated/ops/gradients.hpp"
#include "gated/ops/kernel_calls.hpp"
#include "gated/train/tape.hpp"

/// @file
/// Cross-entropy loss.

namespace gated {

/// The class of each row of logits: 0 … V-1 for V classes, or CrossEntropyOptions::ignored.
using Targets = std::span<const Index>;

/// The options of cross_entropy().
struct CrossEntropyOptions {
  double label_smoothing = 0;  ///< ε: probability ε / V per class, plus 1 - ε for the target class (arXiv:1512.00567, §7)
  Index ignored = -100;        ///< rows with this target are ignored, such as padding or unmasked tokens
};

namespace detail {

inline Index counted_targets(Targets targets, Index rows, Index classes, const CrossEntropyOptions& options) {
  constexpr const char* where = "cross_entropy";
  require<ShapeError>(static_cast<Index>(targets.size()) == rows, where, ": targets has ", targets.size(),
                      " entries, expected ", rows, ", one per row of logits.");
  require<ArgumentError>(options.label_smoothing >= 0 && options.label_smoothing <= 1, where,
                         ": label_smoothing = ", options.label_smoothing, ", expected 0 … 1.");
  Index counted = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Index target = targets[i];
    require<ArgumentError>(target == options.ignored || (target >= 0 && target < classes), where, ": target ", i, " is ",
                           target, ", expected 0 … ", classes - 1, ", or ", options.ignored, " to ignore the row.");
    counted += target == options.ignored ? 0 : 1;
  }
  return counted;
}

/// The loss of row i, given log Σ_j exp(x_j) as `largest` + `rest`.
template <class T>
double row_loss(const ConstView<T>& x, Index i, Index target, T largest, T rest, double smoothing) {
  const double normalizer = static_cast<double>(largest) + static_cast<double>(rest);
  const double own = rounded((1 - smoothing) * (normalizer - static_cast<double>(x(i, target))));
  if (smoothing == 0) {
    return own;
  }
  const double sum = ordered_sum(x.cols(), [&](Index j) { return static_cast<double>(x(i, j)); });
  return own + rounded(smoothing * (normalizer - sum / static_cast<double>(x.cols())));
}

}  // namespace detail

/// A mean loss and its number of rows, for combining the means of several batches.
struct MeanLoss {
  double mean = 0;  ///< 0 if all rows are ignored
  Index count = 0;  ///< number of rows that are not ignored
};

/// The mean over the rows of both batches.
inline MeanLoss operator+(const MeanLoss& a, const MeanLoss& b) {
  const Index count = a.count + b.count;
  if (count == 0) {
    return {};
  }
  const auto share = [&](const MeanLoss& x) { return x.mean * (static_cast<double>(x.count) / static_cast<double>(count)); };
  return {rounded(share(a)) + rounded(share(b)), count};
}

/// Cross-entropy without gradients: the same mean as the overload for a tape (below), and the number of rows not ignored,
/// which may be 0.
///
///     MeanLoss loss;
///     for (…) {
///       loss = loss + cross_entropy(model.forward(tokens, sequences, workspace), targets);
///     }
///     const double bits = loss.mean / std::log(2.0);
///
/// Shapes: logits is N × V; `targets` has N entries.
/// Errors: ShapeError for a wrong number of targets; ArgumentError for a class outside 0 … V-1 or a label_smoothing outside
/// 0 … 1.
/// Cost: one exponential per logit.
template <class Logits, class T = typename Logits::Scalar>
MeanLoss cross_entropy(const Eigen::MatrixBase<Logits>& logits, Targets targets, const CrossEntropyOptions& options = {}) {
  const ConstView<T> x(logits.derived());
  MeanLoss loss{0, detail::counted_targets(targets, x.rows(), x.cols(), options)};
  for (Index i = 0; i < x.rows(); ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    if (target != options.ignored) {
      T largest, rest;
      kernels<LossKernels<T>>().log_sum_exp_of_row(&x.coeffRef(i, 0), x.cols(), &largest, &rest);
      loss.mean += detail::row_loss(x, i, target, largest, rest, options.label_smoothing);
    }
  }
  loss.mean = loss.count == 0 ? 0 : loss.mean / static_cast<double>(loss.count);
  return loss;
}

/// Softmax cross-entropy, a 1 × 1 variable: the mean of -Σ_j t_j log softmax(x)_j over the rows not ignored.
///
/// Here t is a row's target distribution. ∂x = (softmax(x) - t) / (number of rows not ignored), and 0 for ignored rows.
/// Shapes: logits is N × V; `targets` has N entries.
/// Errors: ShapeError for a wrong number of targets; ArgumentError for a class outside 0 … V-1, a label_smoothing outside
/// 0 … 1, and if all rows are ignored.
/// Cost: one exponential per logit, in each pass.
template <class T>
Variable cross_entropy(Tape<T>& tape, Variable logits, Targets targets, const CrossEntropyOptions& options = {}) {
  const View<T> x = tape[logits];
  const Index rows = x.rows(), classes = x.cols();
  const Index counted = detail::counted_targets(targets, rows, classes, options);
  require<ArgumentError>(counted > 0, "cross_entropy: all ", rows, " targets are ignored, expected at least one that is not.");
  const double smoothing = options.label_smoothing;
  // log Σ_j exp(x_j) = `largest` + `rest` for each row: a single scalar would lose digits of the smaller term.
  T* const largest = tape.take(rows);
  T* const rest = tape.take(rows);
  for_each_row(rows, tape.workspace(), [&](Index i) {
    kernels<LossKernels<T>>().log_sum_exp_of_row(&x.coeffRef(i, 0), classes, largest + i, rest + i);
  });
  double sum = 0;
  for (Index i = 0; i < rows; ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    if (target != options.ignored) {
      sum += detail::row_loss<T>(x, i, target, largest[i], rest[i], smoothing);
    }
  }
  const Variable loss = tape.make(1, 1);
  tape[loss](0, 0) = static_cast<T>(sum / static_cast<double>(counted));

  tape.push([logits, loss, targets = tape.keep(targets), largest, rest, smoothing, ignored = options.ignored, counted,
             classes](Tape<T>& back) {
    const T scale = back.gradient(loss)(0, 0) / static_cast<T>(counted);
    if (!back.wants_gradient(logits)) {
      return;
    }
    const View<T> from = back[logits];
    auto [gradient, fresh] = back.target(logits);
    const auto everywhere = static_cast<T>(smoothing / static_cast<double>(classes)), more = static_cast<T>(1 - smoothing);
    for_each_row(from.rows(), back.workspace(), [&, &to = gradient, adds = !fresh](Index i) {
      const Index target = targets[static_cast<std::size_t>(i)];
      T* const row = &to.coeffRef(i, 0);
      if (target != ignored) {
        kernels<LossKernels<T>>().softmax_difference(&from.coeffRef(i, 0), classes, largest[i], rest[i], everywhere, target,
                                                     more, scale, row, adds);
      } else if (!adds) {
        std::fill_n(row, classes, T{0});
      }
    });
  });
  return loss;
}

}  // namespace gated
