#pragma once

#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/ops/kernels.hpp"

/// @file
/// A gMLP that mixes tokens by a learned moving average.

namespace smoothing {

using namespace gated;

/// The backward pass of moving_average(), by its formulas. `average` computes a row of the average from x_t and y_{t-1}.
template <class Back, class Variable, class Average, class T = typename Back::Scalar>
void moving_average_backward(Back& back, Variable x, Variable y, const Matrix<T>& rates, const T* sigmoids,
                             const Average& average, const Sequences& sequences) {
  const auto frame = back.workspace().frame();
  const ConstView<T> dy = back.gradient(y);
  const Index channels = dy.cols();
  MatrixMap<T> later = back.workspace().matrix(dy.rows(), channels).setZero();  // row t is ∂x_{t+1}
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index first = sequences.offset(b), t = first + sequences.length(b) - 1; t > first; --t) {
      assign<T>(later.middleRows(t - 1, 1), back.workspace(), average(dy.middleRows(t, 1), later.middleRows(t, 1)));
    }
  }
  const auto dx = average(dy, later);
  const auto old = reader<T>(later) * reader<T>(back[y]);  // ∂x_{t+1} y_t
  add_gradient(back, x, dx);
  if (T* const to = back.gradient_of(rates.data())) {
    const auto one = number(T{1});
    const auto alpha = per_channel<T>(sigmoids), delta = per_channel<T>(sigmoids + channels);
    add_column_sums<T>(dy.rows(), channels, to, back.workspace(), (one - alpha) * (dx * reader<T>(back[x]) - delta * old));
    add_column_sums<T>(dy.rows(), channels, to + channels, back.workspace(), (delta - one) * delta * old);
  }
}

/// The damped moving average of Mega (arXiv:2209.10655, eq. 2): y_t = α x_t + (1 - α δ) y_{t-1} with y_{-1} = 0, channel by
/// channel. α and δ are the sigmoids of the two rows of `rates`. A stream's state is the row y_{t-1}.
///
/// Backward, the same average runs from the last token to the first: ∂x_t = α ∂y_t + (1 - α δ) ∂x_{t+1}. Then
/// ∂rates_0 = (1 - α) Σ_t (∂x_t x_t - δ ∂x_{t+1} y_t), and ∂rates_1 = (δ - 1) δ Σ_t ∂x_{t+1} y_t.
/// Shapes: x and y are N × C, rates is 2 × C.
/// Cost: one pass over x, four in the backward pass. Scratch: 3·C elements; N·C in the backward pass.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> moving_average(Run& run, MatrixOf<Run> x, const Matrix<T>& rates) {
  const Index channels = rates.cols();
  T* const sigmoids = run.take(2 * channels);
  kernels<RowKernels<T>>().activate_rows(Activation::sigmoid, 2, channels, rates.data(), channels, sigmoids, channels);
  const auto one = number(T{1});
  const auto alpha = per_channel<T>(sigmoids), delta = per_channel<T>(sigmoids + channels);
  const auto average = [=](const ConstView<T>& next, const ConstView<T>& before) {
    return alpha * reader<T>(next) + (one - alpha * delta) * reader<T>(before);
  };
  const auto y = run.reuse(x);
  MatrixView<T> last(run.take(channels), 1, channels, channels);  // y_{t-1}
  if constexpr (Run::streams) {
    last = run.remember(1, channels, Run::Memory::sums);
  }
  for (Index b = 0; b < run.sequences().count(); ++b) {
    if (!Run::streams) {
      last.fill(T{0});
    }
    for (Index t = run.sequences().offset(b), end = t + run.sequences().length(b); t < end; ++t) {
      assign<T>(last, run.workspace(), average(run[x].middleRows(t, 1), last));
      run[y].middleRows(t, 1) = View<T>(last);
    }
  }
  if constexpr (Run::records) {
    run.push([&rates, x, y, sigmoids, average, kept = run.kept_sequences()](auto& back) {
      moving_average_backward(back, x, y, rates, sigmoids, average, back.sequences(kept));
    });
  }
  return y;
}

/// The sizes of an EmaMlp.
struct EmaMlpConfig {
  Index channels = 0;  ///< C, the width of the input and the output
  Index hidden = 0;    ///< F, the width after the first projection; the gate halves it

  template <class C = EmaMlpConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden));
  }
};

/// y = V (u ⊙ moving_average(LN(v))), where u and v are the halves of GELU(U x).
/// Shapes: x and y are N × C.
/// Cost: 3·N·C·F flops.
template <class T>
struct EmaMlp : Layer<EmaMlp<T>> {
  using Config = EmaMlpConfig;
  static constexpr const char* name = "EmaMlp";
  static constexpr const char* architecture = "smoothing.EmaMlp";

  Config config;
  Linear<T> proj_in, proj_out;  ///< U and V
  Norm<T> norm;
  Matrix<T> rates;  ///< 2 × F/2, the logits of α and δ

  EmaMlp() = default;
  explicit EmaMlp(const Config& c)
      : config(c), proj_in(c.channels, c.hidden), proj_out(c.hidden / 2, c.channels), norm(c.hidden / 2) {
    require<ArgumentError>(c.hidden % 2 == 0, name, ": hidden = ", c.hidden, ", expected an even number.");
    rates = unset_weight<T>(2, c.hidden / 2, name);
  }

  static constexpr auto fields() {
    return Fields(field("proj_in", &EmaMlp::proj_in), field("norm", &EmaMlp::norm),
                  field("rates", &EmaMlp::rates, Role::spatial), field("proj_out", &EmaMlp::proj_out));
  }
  Contract contract() const { return {.in = config.channels, .out = config.channels, .sees = Sees::past}; }
  /// Mega draws rates from N(0, 0.2²).
  void initialize(Random& random) {
    initialize_sublayers(*this, random);
    fill_normal(rates, 0.2, random);
  }

  auto apply(auto& run, auto x, auto then) const {
    expect_set(run, "rates", rates);
    auto [u, v] = run.split(run(proj_in, std::move(x), {.activation = Activation::gelu}), norm.channels, norm.channels);
    auto gate = moving_average(run, run(norm, std::move(v)), rates);                      // N × F/2
    return run(proj_out, multiply(run, std::move(u), std::move(gate)), std::move(then));  // N × C
  }
};

}  // namespace smoothing
