#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gated/models/gmlp.hpp"

namespace digits {

/// Images read from a file, with their classes.
struct LabelledImages {
  gated::Matrix<float> pixels;       ///< B × (channels · height · width), in [0, 1]
  std::vector<gated::Index> labels;  ///< B
  std::vector<gated::Index> rows;    ///< B: the index of each image in the file
  gated::Index rows_in_file = 0;

  gated::Index count() const { return pixels.rows(); }
};

/// A part of the images in a file.
enum class Part {
  all,
  training,  ///< images with index % 5 != 4
  held_out,  ///< images with index % 5 == 4, never trained on
};

/// Raises FileError for a model without a classifier head.
void expect_classes(const gated::GmlpImageClassifierConfig& config);

/// Reads `part` of a CSV that has an image per line: its pixels, then its label. Pixels are divided by `max_pixel`.
/// Errors: FileError for columns, labels or pixels that do not fit the model.
LabelledImages read_images(const std::filesystem::path& path, const gated::GmlpImageClassifierConfig& config, float max_pixel,
                           Part part);

/// A table of numbers, whose separator may be a comma, a semicolon or a tab, with or without a line of names.
struct ImageTable {
  gated::Matrix<float> numbers;
  gated::Index first_line = 1;  ///< the number of the first line of numbers
};

/// Reads a table from a CSV file.
/// Errors: those of gated::read_csv(); FileError for a picture.
ImageTable read_image_table(const std::filesystem::path& path);

/// read_images() for a table in memory. `file` names the table in error messages.
LabelledImages images_of(const ImageTable& table, const std::string& file, const gated::GmlpImageClassifierConfig& config,
                         float max_pixel, Part part);

/// `count` of the images, starting at index `first`.
LabelledImages part_of(const LabelledImages& images, gated::Index first, gated::Index count);

/// The input of forward(): the pixels, normalized as in training.
gated::Matrix<float> inputs_from(const gated::Matrix<float>& pixels, const gated::GmlpImageClassifierConfig& config);

}  // namespace digits
