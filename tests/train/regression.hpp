#pragma once

#include <gtest/gtest.h>

#include <array>

#include "gated/layers/linear.hpp"
#include "gated/train/training.hpp"
#include "tests/core/numbers.hpp"

/// A minimal trainable model, whose gradient is written by hand.

namespace gated::test {

struct RegressionConfig {
  Index in = 3;
  Index out = 2;
  bool bias = true;

  static constexpr auto fields() {
    using C = RegressionConfig;
    return Fields(setting("in", &C::in), setting("out", &C::out), setting("bias", &C::bias));
  }
};

template <class T>
struct Regression {
  using Scalar = T;
  using Config = RegressionConfig;
  static constexpr const char* architecture = "test.Regression";

  RegressionConfig config;
  Linear<T> layer;

  explicit Regression(const RegressionConfig& c) : config(c), layer(c.in, c.out, c.bias) {}
  Regression(const RegressionConfig& c, Random& random) : Regression(c) { layer.initialize(random); }

  static constexpr auto fields() { return Fields(field("layer", &Regression::layer)); }
};

/// The mean of ½ |x Wᵀ + b - target(x)|² over `rows` random inputs x, and its gradient. Allocates nothing.
template <class T>
struct RegressionLoss {
  Random& random;
  Index rows = 4;

  double operator()(const Regression<T>& model, Regression<T>& gradient) const {
    double loss = 0;
    std::array<double, 16> x{};
    const auto weight = static_cast<double>(1) / static_cast<double>(rows);
    for (Index row = 0; row < rows; ++row) {
      for (Index j = 0; j < model.layer.in(); ++j) {
        x[static_cast<std::size_t>(j)] = random.normal();
      }
      for (Index i = 0; i < model.layer.out(); ++i) {
        double error = model.layer.bias.size() == 0 ? 0 : static_cast<double>(model.layer.bias(i));
        error -= 0.5 - static_cast<double>(i);
        for (Index j = 0; j < model.layer.in(); ++j) {
          error +=
              (static_cast<double>(model.layer.weight(i, j)) - static_cast<double>(j - i)) * x[static_cast<std::size_t>(j)];
        }
        loss += weight * error * error / 2;
        for (Index j = 0; j < model.layer.in(); ++j) {
          gradient.layer.weight(i, j) += static_cast<T>(weight * error * x[static_cast<std::size_t>(j)]);
        }
        if (gradient.layer.bias.size() > 0) {
          gradient.layer.bias(i) += static_cast<T>(weight * error);
        }
      }
    }
    return loss;
  }
};

/// Takes one step of `training` on rows drawn by the training's generator.
template <class T>
double regress(Training<Regression<T>>& training, Index rows = 4) {
  return training.step(RegressionLoss<T>{training.random, rows});
}

/// Succeeds if all parameters of two models are bit-equal.
template <class Model>
::testing::AssertionResult same_parameters(const Model& a, const Model& b) {
  auto result = ::testing::AssertionSuccess();
  for_each_parameter(
      [&](const ParameterInfo& info, auto x, auto y) {
        for (std::size_t i = 0; i < x.size() && result; ++i) {
          if (bits_of(x[i]) != bits_of(y[i])) {
            result = ::testing::AssertionFailure() << info.path() << " at " << i << ": " << x[i] << " against " << y[i];
          }
        }
      },
      a, b);
  return result;
}

}  // namespace gated::test
