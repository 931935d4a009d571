#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "gated/core/weight_format.hpp"

namespace small {

/// How much a format distorts one weight tensor.
struct WeightDistortion {
  double signal_to_noise = 0;  ///< 10 · log10(Σ w² / Σ (ŵ - w)²), in dB
  double largest_error = 0;    ///< max |ŵ - w| / max |w|
  double lost = 0;             ///< the share of nonzero elements that became 0
};

inline WeightDistortion compare(std::span<const float> exact, std::span<const float> rounded) {
  double signal = 0, noise = 0, largest = 0, error = 0, lost = 0, there = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double w = exact[i], e = static_cast<double>(rounded[i]) - w;
    signal += w * w;
    noise += e * e;
    largest = std::max(largest, std::abs(w));
    error = std::max(error, std::abs(e));
    there += w != 0 ? 1 : 0;
    lost += w != 0 && rounded[i] == 0 ? 1 : 0;
  }
  return {noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise),
          largest == 0 ? 0 : error / largest, there == 0 ? 0 : lost / there};
}

/// How much quantization distorts a model's answers. An answer is a row of logits.
class AnswerDistortion {
 public:
  /// Adds the logits of the float model, those of the quantized model, and the label.
  void add(std::span<const float> exact, std::span<const float> small, gated::Index right) {
    const std::vector<double> p = log_probabilities(exact), q = log_probabilities(small);
    for (std::size_t i = 0; i < p.size(); ++i) {
      divergence_ += std::exp(p[i]) * (p[i] - q[i]);
      const double x = exact[i], e = static_cast<double>(small[i]) - x;
      signal_ += x * x;
      noise_ += e * e;
    }
    const auto first = [](std::span<const float> x) { return std::max_element(x.begin(), x.end()) - x.begin(); };
    same_ += first(exact) == first(small) ? 1 : 0;
    right_ += first(small) == right ? 1 : 0;
    bits_ -= q[static_cast<std::size_t>(right)] / std::numbers::ln2;
    count_ += 1;
  }

  double count() const { return count_; }
  double logits_error() const { return std::sqrt(noise_ / signal_); }  ///< the relative error of all logits together
  double divergence() const { return divergence_ / count_; }           ///< Kullback-Leibler, in nats
  double same_first() const { return same_ / count_; }
  double accuracy() const { return right_ / count_; }
  double bits() const { return bits_ / count_; }

 private:
  static std::vector<double> log_probabilities(std::span<const float> logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) {
      sum += std::exp(static_cast<double>(x) - largest);
    }
    std::vector<double> out;
    for (const float x : logits) {
      out.push_back(static_cast<double>(x) - largest - std::log(sum));
    }
    return out;
  }

  double divergence_ = 0, signal_ = 0, noise_ = 0, same_ = 0, right_ = 0, bits_ = 0, count_ = 0;
};

}  // namespace small
