#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "gated/train/tape.hpp"
#include "tests/core/numbers.hpp"

/// Compares gradients with central differences.

namespace gated::test {

/// Moves every trainable parameter away from its initial value, because ones and zeros hide errors.
template <class Model>
void shake(Model& model, std::uint64_t seed, double deviation = 0.3) {
  Random random(seed);
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (info.role != Role::constant) {
          for (auto& value : values) {
            value = (is_unset(value) ? 0 : value) +
                    static_cast<std::remove_reference_t<decltype(value)>>(deviation * random.normal());
          }
        }
      },
      model);
}

namespace detail {

/// Number of elements compared in each parameter or input.
#if defined(GATED_TEST_UNDER_VALGRIND)  // set by the preset `valgrind`, in which a forward pass takes 100 times as long
inline constexpr std::size_t samples = 1;
#else
inline constexpr std::size_t samples = 32;
#endif

/// Compares up to `samples` elements of `gradient` with central differences of `loss` in `values`.
template <class Loss>
void expect_differences(const std::string& name, std::span<double> values, std::span<const double> gradient, const Loss& loss,
                        double tolerance) {
  double largest = 0;
  for (const double g : gradient) {
    largest = std::max(largest, std::abs(g));
  }
  const std::size_t count = std::min(values.size(), samples);
  for (std::size_t k = 0; k < count; ++k) {
    // Multiples of the golden ratio modulo 1 are spread evenly over the elements, for any number of columns.
    const double turns = static_cast<double>(k) * 0.6180339887498949, place = turns - std::floor(turns);
    const auto i = count == values.size() ? k : static_cast<std::size_t>(place * static_cast<double>(values.size()));
    const double kept = values[i], h = 1e-5;
    values[i] = kept + h;
    const double above = loss();
    values[i] = kept - h;
    const double below = loss();
    values[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * h), tolerance * std::max(largest, 1e-2)) << name << "[" << i << "]";
  }
}

}  // namespace detail

/// Checks the gradients of Σ output ⊙ cotangent with respect to every parameter of `model` and to `x`. The cotangent is random.
///
/// `run(tape, model, x)` records the tested function and returns its output. If x has no columns, `run` uses its own inputs.
/// The largest error allowed is `tolerance` times the largest gradient of the same parameter. If `seed` is given, every step
/// draws the same noise from it.
template <class Model, class Run>
void expect_gradients(Model model, Matrix<double> x, const Run& run, double tolerance = 1e-6, const TapeOptions& options = {},
                      std::optional<std::uint64_t> seed = {}) {
  Tape<double> tape(Threads{1}, options);
  Model gradient = zeros_like(model);
  Matrix<double> cotangent;
  const auto begin = [&] {
    Random random(seed.value_or(0));
    seed ? tape.begin(model, gradient, random) : tape.begin(model, gradient);
  };
  const auto loss = [&] {
    begin();
    const Variable output = run(tape, model, tape.input(x));
    if (cotangent.size() == 0) {
      cotangent = random_matrix<double>(tape.rows(output), tape.columns(output), 99);
    }
    return (tape[output].array() * cotangent.array()).sum();
  };
  loss();
  begin();
  const Variable input = tape.input(x), output = run(tape, model, input);
  tape.backward(output, cotangent);
  Matrix<double> input_gradient = tape.gradient(input);
  const Model found = gradient;

  for_each_parameter(
      [&](const ParameterInfo& info, auto values, auto gradients) {
        if (info.role != Role::constant) {
          detail::expect_differences(info.path(), values, gradients, loss, tolerance);
        }
      },
      model, found);
  detail::expect_differences("input", {x.data(), static_cast<std::size_t>(x.size())},
                             {input_gradient.data(), static_cast<std::size_t>(input_gradient.size())}, loss, tolerance);
}

}  // namespace gated::test
