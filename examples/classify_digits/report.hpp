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

/// Draws up to eight images side by side, in 80 columns: at most four classified correctly, of different classes, then at most
/// four misclassified. Below each are its prediction and probability, and for a mistake a mark and the label.
std::string draw(const LabelledImages& images, std::span<const Prediction> predictions,
                 const gated::GmlpImageClassifierConfig& config, bool ascii);

/// Counts and describes the mistakes, the most frequent first: "3: 8 as 1 (2x), 9 as 3", or "0" if there are none.
std::string describe_mistakes(const LabelledImages& images, std::span<const Prediction> predictions);

}  // namespace digits
