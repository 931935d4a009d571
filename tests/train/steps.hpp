#pragma once

#include "tests/train/gradients.hpp"

/// Runs training steps whose results are compared bit by bit.

namespace gated::test {

/// Results of a training step.
template <class Model>
struct StepResult {
  Matrix<typename Model::Scalar> output, input_gradient;
  Model gradient;
};

/// Runs `run(tape, model, x)` forward, and backward from a random cotangent. Dropout is active only with a `seed`.
template <class Model, class Run>
StepResult<Model> step_of(const Model& model, const Matrix<typename Model::Scalar>& x, const Run& run, int threads = 1,
                          const TapeOptions& options = {}, std::optional<std::uint64_t> seed = 1) {
  using T = typename Model::Scalar;
  Tape<T> tape(Threads{threads}, options);
  StepResult<Model> result{{}, {}, zeros_like(model)};
  Random random(seed.value_or(0));
  seed ? tape.begin(model, result.gradient, random) : tape.begin(model, result.gradient);
  const Variable input = tape.input(x), output = run(tape, model, input);
  result.output = tape[output];
  tape.backward(output, random_matrix<T>(tape.rows(output), tape.columns(output), 99));
  result.input_gradient = tape.gradient(input);
  return result;
}

template <class Model>
void expect_same_bits(const StepResult<Model>& a, const StepResult<Model>& b) {
  EXPECT_TRUE(same_bits(a.output, b.output));
  EXPECT_TRUE(same_bits(a.input_gradient, b.input_gradient));
  for_each_parameter(
      [&](const ParameterInfo& info, auto left, auto right) {
        for (std::size_t i = 0; i < left.size(); ++i) {
          ASSERT_EQ(bits_of(left[i]), bits_of(right[i])) << info.path() << "[" << i << "]";
        }
      },
      a.gradient, b.gradient);
}

/// Calls `f(config)` for each value of the enum member `setting` of `config`.
template <class Config, class Enum, class F>
void for_each_value(Config config, Enum Config::*setting, const F& f) {
  for (const auto& [value, name] : names_of(Enum{})) {
    SCOPED_TRACE(name);
    config.*setting = value;
    f(config);
  }
}

}  // namespace gated::test
