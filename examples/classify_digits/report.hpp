#pragma once

#include <span>
#include <string>

#include "common/labelled_images.hpp"

namespace digits {

/// The model's answer for an image.
struct Prediction {
  gated::Index label = 0;
  float probability = 0;
};

/// The number of correct predictions.
gated::Index count_right(const LabelledImages& images, std::span<const Prediction> predictions);

/// Draws a few images side by side for a terminal of 80 columns, each with its prediction and probability below: up to four
/// correct ones of different classes, then up to four mistakes, which are marked and show their labels.
std::string draw(const LabelledImages& images, std::span<const Prediction> predictions,
                 const gated::GmlpImageClassifierConfig& config, bool ascii);

/// The mistakes in words, the most frequent first: "3: 8 as 1 (2x), 9 as 3", or "0".
std::string describe_mistakes(const LabelledImages& images, std::span<const Prediction> predictions);

}  // namespace digits
