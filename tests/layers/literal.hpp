#pragma once

#include <cmath>
#include <string_view>

#include "gated/layers/gmlp_block.hpp"
#include "tests/core/numbers.hpp"
#include "tests/layers/randomize.hpp"

/// The layers' formulas as plain loops in double, and comparisons of layer outputs with these formulas.

namespace gated::test {

template <class T>
Matrix<double> wide(const Matrix<T>& x) {
  return x.template cast<double>();
}

template <class T>
inline constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;

/// Succeeds if shapes are equal and no error exceeds `relative` times the largest expected magnitude.
template <class T>
::testing::AssertionResult near(const Matrix<T>& got, const Matrix<double>& expected, double relative = tolerance<T>) {
  if (got.rows() != expected.rows() || got.cols() != expected.cols()) {
    return ::testing::AssertionFailure() << got.rows() << " × " << got.cols() << ", expected " << expected.rows() << " × "
                                         << expected.cols();
  }
  double error = 0, largest = 0;
  for (Index i = 0; i < got.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(got.data()[i]) - expected.data()[i]);
    error = difference <= error ? error : difference;  // keeps a NaN
    largest = std::max(largest, std::fabs(expected.data()[i]));
  }
  if (error <= relative * largest) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "off by " << error << " where the largest element is " << largest;
}

}  // namespace gated::test

namespace gated::literal {

inline double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::identity:
      return x;
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    default:
      ADD_FAILURE() << "no literal formula for " << name_of(activation);
      return std::nan("");
  }
}

inline Matrix<double> activate(Activation activation, Matrix<double> x) {
  return x.unaryExpr([=](double value) { return activate(activation, value); });
}

template <class T>
Matrix<double> linear(const Linear<T>& layer, const Matrix<double>& x) {
  Matrix<double> y(x.rows(), layer.weight.rows());
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      double sum = layer.bias.size() > 0 ? layer.bias(j) : 0;
      for (Index k = 0; k < x.cols(); ++k) {
        sum += x(i, k) * static_cast<double>(layer.weight(j, k));
      }
      y(i, j) = sum;
    }
  }
  return y;
}

template <class Layer>
Matrix<double> layer_norm(const Layer& layer, const Matrix<double>& x) {
  Matrix<double> y(x.rows(), x.cols());
  const auto channels = static_cast<double>(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    double mean = 0, variance = 0;
    for (Index j = 0; j < x.cols(); ++j) {
      mean += x(i, j) / channels;
    }
    for (Index j = 0; j < x.cols(); ++j) {
      variance += (x(i, j) - mean) * (x(i, j) - mean) / channels;
    }
    for (Index j = 0; j < x.cols(); ++j) {
      y(i, j) = (x(i, j) - mean) / std::sqrt(variance + layer.eps) * static_cast<double>(layer.weight(j)) +
                static_cast<double>(layer.bias(j));
    }
  }
  return y;
}

/// A spatial projection by its formula, Σ_j W_ij v_j + b_i, where W is effective_weight().
template <class T>
Matrix<double> spatial(const SpatialProjection<T>& layer, const Matrix<double>& v, const Sequences& sequences) {
  Matrix<double> y(v.rows(), v.cols());
  const Index width = v.cols() / layer.config.heads;
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    for (Index head = 0; head < layer.config.heads; ++head) {
      const Matrix<T> w = layer.effective_weight(head, length);
      for (Index i = 0; i < length; ++i) {
        for (Index c = head * width; c < (head + 1) * width; ++c) {
          double sum = layer.bias(head, i);
          for (Index j = 0; j < length; ++j) {
            sum += static_cast<double>(w(i, j)) * v(offset + j, c);
          }
          y(offset + i, c) = sum;
        }
      }
    }
  }
  return y;
}

/// A spatial gating unit by its formula. Before the activation, adds `addition` unless it is empty.
template <class T>
Matrix<double> gate(const SpatialGatingUnit<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                    const Matrix<double>& addition) {
  const Index out = layer.out();
  Matrix<double> f = layer.mixes_tokens() ? spatial(layer.proj, layer_norm(layer.norm, x.rightCols(out)), sequences) : x;
  if (addition.size() > 0) {
    f += addition;
  }
  f = activate(layer.config.activation, f);
  switch (layer.config.form) {
    case GateForm::split:
      return x.leftCols(out).cwiseProduct(f);
    case GateForm::multiplicative:
      return x.cwiseProduct(f);
    case GateForm::additive:
      return x + f;
    case GateForm::linear:
    case GateForm::identity:
      return f;
  }
  return {};
}

template <class T>
Matrix<double> attention(const TinyAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences) {
  const Index a = layer.config.width;
  const Matrix<double> qkv = linear(layer.qkv, x);
  Matrix<double> attended = Matrix<double>::Zero(x.rows(), a);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    for (Index i = 0; i < length; ++i) {
      const Index visible = layer.config.causal ? i + 1 : length;
      Vector<double> weights(visible);
      for (Index j = 0; j < visible; ++j) {
        double score = 0;
        for (Index k = 0; k < a; ++k) {
          score += qkv(offset + i, k) * qkv(offset + j, a + k);
        }
        weights(j) = std::exp(score / std::sqrt(static_cast<double>(a)));
      }
      for (Index j = 0; j < visible; ++j) {
        for (Index k = 0; k < a; ++k) {
          attended(offset + i, k) += weights(j) / weights.sum() * qkv(offset + j, 2 * a + k);
        }
      }
    }
  }
  return linear(layer.proj_out, attended);
}

/// Token shift: y[t, chunk k] = x[t - shift_k, chunk k], where x is zero outside the sequence.
inline Matrix<double> token_shift(const Matrix<double>& x, const Sequences& sequences, Index amount, bool causal) {
  Matrix<double> y = x;
  const Index shifts = causal ? amount + 1 : 2 * amount + 1, width = x.cols() / shifts;
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      for (Index c = 0; c < width * shifts; ++c) {
        const Index from = t - (c / width - (causal ? 0 : amount));
        y(sequences.offset(b) + t, c) = from >= 0 && from < sequences.length(b) ? x(sequences.offset(b) + from, c) : 0.0;
      }
    }
  }
  return y;
}

/// A gMLP block without norm and residual, by its formula.
template <class T>
Matrix<double> branch(const GmlpBlock<T>& block, const Matrix<double>& x, const Sequences& sequences) {
  const Matrix<double> shifted =
      block.config.token_shift > 0 ? token_shift(x, sequences, block.config.token_shift, block.config.causal) : x;
  const Matrix<double> z = activate(block.config.activation, linear(block.proj_in, shifted));
  const Matrix<double> addition = block.attention ? attention(*block.attention, shifted, sequences) : Matrix<double>();
  return linear(block.proj_out, gate(block.gate, z, sequences, addition));
}

template <class T>
Matrix<double> block(const GmlpBlock<T>& block, const Matrix<double>& x, const Sequences& sequences) {
  switch (block.config.norm_position) {
    case NormPosition::pre:
      return x + branch(block, layer_norm(block.norm, x), sequences);
    case NormPosition::post:
      return layer_norm(block.norm, x + branch(block, x, sequences));
    case NormPosition::res_post:
      return x + layer_norm(block.norm, branch(block, x, sequences));
  }
  return {};
}

}  // namespace gated::literal
