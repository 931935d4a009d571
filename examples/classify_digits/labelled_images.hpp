#pragma once

#include <filesystem>
#include <vector>

#include "gated/models/gmlp_image_classifier.hpp"

namespace digits {

/// Images from a CSV file and the classes that they are known to be of.
struct LabelledImages {
  gated::Matrix<float> pixels;       ///< B × (channels · height · width), in [0, 1]
  std::vector<gated::Index> labels;  ///< B
  std::vector<gated::Index> rows;    ///< B, the image's index in the file
  gated::Index rows_in_file = 0;

  gated::Index count() const { return pixels.rows(); }
};

/// Reads every image, or (`all` = false) those whose index in the file leaves 4 when divided by 5.
/// Errors: FileError for a number of columns, a label or a pixel that does not fit the model.
LabelledImages read_images(const std::filesystem::path& path, const gated::GmlpImageClassifierConfig& config, float max_pixel,
                           bool all);

}  // namespace digits
