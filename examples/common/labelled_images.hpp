#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gated/models/gmlp.hpp"

namespace digits {

/// Images from a file and the classes that they are known to be of.
struct LabelledImages {
  gated::Matrix<float> pixels;       ///< B × (channels · height · width), in [0, 1]
  std::vector<gated::Index> labels;  ///< B
  std::vector<gated::Index> rows;    ///< B, the image's index in the file
  gated::Index rows_in_file = 0;

  gated::Index count() const { return pixels.rows(); }
};

/// Which images of a file.
enum class Part {
  all,
  training,  ///< those whose index in the file does not leave 4 when divided by 5
  held_out,  ///< the others, from which nothing is learned
};

/// Raises FileError for a model that gives no class.
void expect_classes(const gated::GmlpImageClassifierConfig& config);

/// Reads the images of this part of the file. A pixel of `max_pixel` is white.
/// Errors: FileError for a number of columns, a label or a pixel that does not fit the model.
LabelledImages read_images(const std::filesystem::path& path, const gated::GmlpImageClassifierConfig& config, float max_pixel,
                           Part part);

/// The same of a table that is read already; `file` stands for it in messages.
LabelledImages images_of(const gated::Matrix<float>& table, const std::string& file,
                         const gated::GmlpImageClassifierConfig& config, float max_pixel, Part part);

/// The `count` images from `first` on.
LabelledImages part_of(const LabelledImages& images, gated::Index first, gated::Index count);

/// What forward() takes: the pixels as they were in training.
gated::Matrix<float> inputs_from(const gated::Matrix<float>& pixels, const gated::GmlpImageClassifierConfig& config);

}  // namespace digits
