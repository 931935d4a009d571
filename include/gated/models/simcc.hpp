#pragma once

#include <algorithm>
#include <span>

#include "gated/core/elementary.hpp"
#include "gated/core/ordered_sum.hpp"
#include "gated/core/settings.hpp"

/// @file
/// SimCC: keypoints by classification of their x and y.

namespace gated {

/// How coordinates are divided into classes, and how the logits of these classes become keypoints.
struct SimccConfig {
  double split_ratio = 2;   ///< classes (bins) per pixel
  bool visibility = false;  ///< also compute KeyPoint::visibility, as RTMW does; RTMPose does not
  double beta = 150;        ///< β of the visibility: a factor of the logits
  double sigma_x = 4.9;     ///< σ_x of the visibility: standard deviation of the x labels in training, in bins
  double sigma_y = 5.66;    ///< σ_y of the visibility: standard deviation of the y labels in training, in bins

  /// Number of classes (bins) for an axis of `pixels` pixels.
  Index bins(Index pixels) const { return static_cast<Index>(static_cast<double>(pixels) * split_ratio); }

  template <class C = SimccConfig>
  static constexpr auto fields() {
    return Fields(setting("split_ratio", &C::split_ratio), setting("visibility", &C::visibility), setting("beta", &C::beta),
                  setting("sigma_x", &C::sigma_x), setting("sigma_y", &C::sigma_y));
  }
};

/// A keypoint in the input picture of a pose model.
template <class T>
struct KeyPoint {
  T x = 0, y = 0;    ///< position in pixels; x = y = -1 / split_ratio if the score is not positive
  T score = 0;       ///< min(max logits_x, max logits_y)
  T visibility = 0;  ///< in [0, 1] if SimccConfig::visibility, otherwise 0
};

namespace detail {

/// The largest logit of a row and its index; of equal logits, the first. A NaN counts as the largest.
template <class T>
struct SimccPeak {
  Index at = 0;
  T logit;

  explicit SimccPeak(const T* logits, Index count) : logit(logits[0]) {
    for (Index i = 1; i < count && logit == logit; ++i) {
      if (!(logits[i] <= logit)) {
        at = i;
        logit = logits[i];
      }
    }
  }
};

/// The largest probability of softmax(factor · logits): 1 / Σ exp(factor (logit_i - peak)), with the largest logit as peak.
template <class T>
double simcc_probability(const T* logits, Index count, T peak, double factor) {
  const auto from_peak = [&](Index i) { return static_cast<double>(logits[i]) - static_cast<double>(peak); };
  return 1 / ordered_sum(count, [&](Index i) { return elementary::exp(factor * from_peak(i)); });
}

}  // namespace detail

/// The keypoints of SimCC logits (Li et al., arXiv:2107.03332): x and y are the indices of the largest logits (of equal logits,
/// the first), divided by the split ratio. The score is min(max logits_x, max logits_y).
///
/// If the score is 0, negative or NaN, the keypoint is missing: x = y = -1 / split_ratio.
/// The visibility is min(max softmax(β σ_x logits_x), max softmax(β σ_y logits_y)): see SimccConfig.
/// Shapes: logits_x is P × X, logits_y is P × Y, points has P elements.
/// Errors: ShapeError.
/// Cost: one pass over the logits; with visibility, also one exponential per logit. No allocation.
template <class T>
void decode_simcc(const std::type_identity_t<ConstView<T>>& logits_x, const std::type_identity_t<ConstView<T>>& logits_y,
                  const SimccConfig& config, std::span<KeyPoint<T>> points) {
  const Index rows = logits_x.rows();
  require<ShapeError>(logits_y.rows() == rows && static_cast<Index>(points.size()) == rows, "decode_simcc: logits_x has ", rows,
                      " rows, logits_y has ", logits_y.rows(), " and points has ", points.size(),
                      " elements, expected the same number.");
  require<ShapeError>(rows == 0 || (logits_x.cols() > 0 && logits_y.cols() > 0), "decode_simcc: logits_x has ", logits_x.cols(),
                      " columns and logits_y has ", logits_y.cols(), ", expected at least one bin each.");
  const T ratio = static_cast<T>(config.split_ratio);
  for (Index i = 0; i < rows; ++i) {
    const T *const x = &logits_x.coeffRef(i, 0), *const y = &logits_y.coeffRef(i, 0);
    const detail::SimccPeak<T> across(x, logits_x.cols()), down(y, logits_y.cols());
    KeyPoint<T>& point = points[static_cast<std::size_t>(i)];
    point.score = across.logit <= down.logit || across.logit != across.logit ? across.logit : down.logit;
    const bool is_found = point.score > 0;
    point.x = static_cast<T>(is_found ? across.at : -1) / ratio;
    point.y = static_cast<T>(is_found ? down.at : -1) / ratio;
    point.visibility = 0;
    if (config.visibility) {
      point.visibility =
          static_cast<T>(std::min(detail::simcc_probability(x, logits_x.cols(), across.logit, config.beta * config.sigma_x),
                                  detail::simcc_probability(y, logits_y.cols(), down.logit, config.beta * config.sigma_y)));
    }
  }
}

}  // namespace gated
