#pragma once

#include <algorithm>
#include <cmath>

#include "gated/core/mask.hpp"
#include "gated/core/rounded.hpp"
#include "gated/core/settings.hpp"
#include "gated/core/words.hpp"
#include "gated/train/loss.hpp"

/// @file
/// Regression losses, for example for forecasts.

namespace gated {

/// The loss of a value y with target t, where e = y - t.
enum class RegressionForm {
  squared,   ///< e²
  absolute,  ///< |e|
  huber,     ///< e² / 2 if |e| ≤ δ, otherwise δ (|e| - δ / 2)
  quantile   ///< max(q · (t - y), (q - 1) · (t - y)): minimal if a share q of the targets lies below y
};

constexpr auto names_of(RegressionForm) { return words_for<RegressionForm>("squared", "absolute", "huber", "quantile"); }

/// The options of a regression loss.
struct RegressionLossConfig {
  RegressionForm form = RegressionForm::squared;  ///< the loss of an error e = y - t
  double delta = 1;                               ///< δ of the huber form
  double quantile = 0.5;                          ///< q of the quantile form

  template <class C = RegressionLossConfig>
  static constexpr auto fields() {
    return Fields(setting("form", &C::form), setting("delta", &C::delta), setting("quantile", &C::quantile));
  }

  /// The loss of one error.
  double value(double error) const {
    switch (form) {
      case RegressionForm::squared:
        return error * error;
      case RegressionForm::absolute:
        return std::abs(error);
      case RegressionForm::huber:
        return std::abs(error) <= delta ? error * error / 2 : delta * (std::abs(error) - delta / 2);
      case RegressionForm::quantile:
        break;
    }
    return std::max(-quantile * error, (1 - quantile) * error);
  }
  /// The derivative of the loss with respect to y, 0 at a kink.
  double derivative(double error) const {
    const double sign = error > 0 ? 1 : error < 0 ? -1 : error;  // NaN stays NaN
    switch (form) {
      case RegressionForm::squared:
        return 2 * error;
      case RegressionForm::absolute:
        return sign;
      case RegressionForm::huber:
        return std::abs(error) <= delta ? error : delta * sign;
      case RegressionForm::quantile:
        break;
    }
    return sign > 0 ? 1 - quantile : sign < 0 ? -quantile : sign;
  }
};

/// The mean loss over all elements, or over the elements that `observed` marks with 1: a 1 × 1 variable. The default is the
/// mean squared error.
///
/// Shapes: y and target are N × C, observed has N · C entries or is empty.
/// Errors: ShapeError if the sizes do not match; ArgumentError for invalid options, and if no element is observed.
template <class T>
Variable regression_loss(Tape<T>& tape, Variable y, const std::type_identity_t<ConstView<T>>& target,
                         const RegressionLossConfig& config = {}, Mask observed = {}) {
  constexpr const char* where = "regression_loss";
  const View<T> values = tape[y];
  const Index rows = values.rows(), columns = values.cols();
  require<ShapeError>(target.rows() == rows && target.cols() == columns, where, ": target is ", target.rows(), " × ",
                      target.cols(), ", expected ", rows, " × ", columns, ".");
  require<ShapeError>(observed.empty() || static_cast<Index>(observed.size()) == values.size(), where, ": the mask has ",
                      observed.size(), " entries, expected ", rows, " × ", columns, ".");
  require<ArgumentError>(config.delta > 0, where, ": delta = ", config.delta, ", expected more than 0.");
  require<ArgumentError>(config.quantile > 0 && config.quantile < 1, where, ": quantile = ", config.quantile,
                         ", expected 0 < quantile < 1.");
  const Index counted = observed.empty() ? values.size() : unmasked(observed, 0, values.size());
  require<ArgumentError>(counted > 0, where, ": no element is observed, expected at least one.");
  const auto counts = [observed = tape.keep(observed), columns](Index i, Index j) {
    return observed.empty() || observed[static_cast<std::size_t>(i * columns + j)] != 0;
  };
  double sum = 0;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      const double error = static_cast<double>(values(i, j)) - static_cast<double>(target(i, j));
      sum += counts(i, j) ? rounded(config.value(error)) : 0;
    }
  }
  const Variable loss = tape.make(1, 1);
  tape[loss](0, 0) = static_cast<T>(sum / static_cast<double>(counted));
  const Variable wanted = tape.constant(target);
  tape.push([y, loss, wanted, config, counted, counts](Tape<T>& back) {
    if (!back.wants_gradient(y)) {
      return;
    }
    const double scale = static_cast<double>(back.gradient(loss)(0, 0)) / static_cast<double>(counted);
    const ConstView<T> from = back[y], to_reach = back[wanted];
    View<T> to = accumulator(back, y);
    for (Index i = 0; i < from.rows(); ++i) {
      for (Index j = 0; j < from.cols(); ++j) {
        const double error = static_cast<double>(from(i, j)) - static_cast<double>(to_reach(i, j));
        to(i, j) += counts(i, j) ? rounded(static_cast<T>(scale * config.derivative(error))) : T{0};
      }
    }
  });
  return loss;
}

}  // namespace gated
