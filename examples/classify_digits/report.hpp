#pragma once

#include <span>
#include <string>

#include "common/labelled_images.hpp"

namespace digits {

/// What the model says about an image.
struct Prediction {
  gated::Index label = 0;
  float probability = 0;
};

/// How many of the predictions are right.
gated::Index count_right(const LabelledImages& images, std::span<const Prediction> predictions);

/// A few images, drawn side by side for a terminal of 80 columns, with the prediction and its probability below each: up to
/// four that are right, of different classes, then up to four that are wrong, with a mark and what they are.
std::string draw(const LabelledImages& images, std::span<const Prediction> predictions,
                 const gated::GmlpImageClassifierConfig& config, bool ascii);

/// The mistakes in words, the most frequent first: "3: 8 as 1 (2x), 9 as 3", or "0".
std::string describe_mistakes(const LabelledImages& images, std::span<const Prediction> predictions);

}  // namespace digits
