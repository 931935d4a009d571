#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gated/layers/lightweight_convolution.hpp"
#include "literal.hpp"

/// Lightweight and dynamic convolutions as plain loops in double.

namespace gated::literal {

/// exp(s_k) / Σ exp(s_j).
inline std::vector<double> softmax(std::vector<double> s) {
  const double largest = *std::max_element(s.begin(), s.end());
  double sum = 0;
  for (double& value : s) {
    sum += value = std::exp(value - largest);
  }
  for (double& value : s) {
    value /= sum;
  }
  return s;
}

/// A lightweight or dynamic convolution by its formula. Tokens whose `mask` is 0 are read as zeros.
template <class T>
Matrix<double> convolution(const LightweightConvolution<T>& layer, Matrix<double> x, const Sequences& sequences,
                           const std::vector<std::uint8_t>& mask = {}) {
  const auto& c = layer.config;
  const Index own = c.causal ? c.kernel - 1 : c.kernel / 2, width = c.channels / c.heads;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) {
      x.row(static_cast<Index>(i)).setZero();
    }
  }
  const Matrix<double> scores = layer.scores ? linear(*layer.scores, x) : Matrix<double>();
  Matrix<double> y(x.rows(), c.channels);
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      for (Index j = 0; j < c.channels; ++j) {
        const Index head = j / width, offset = sequences.offset(b);
        std::vector<double> taps;
        for (Index k = 0; k < c.kernel; ++k) {
          taps.push_back(layer.scores ? scores(offset + t, head * c.kernel + k) : static_cast<double>(layer.weight(head, k)));
        }
        taps = c.softmax ? softmax(taps) : taps;
        double sum = c.bias ? static_cast<double>(layer.bias[j]) : 0;
        for (Index k = 0; k < c.kernel; ++k) {
          const Index from = t + k - own;
          sum += from >= 0 && from < sequences.length(b) ? taps[static_cast<std::size_t>(k)] * x(offset + from, j) : 0;
        }
        y(offset + t, j) = sum;
      }
    }
  }
  return y;
}

}  // namespace gated::literal
