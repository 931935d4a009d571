#pragma once

#include <string>
#include <vector>

#include "common/labelled_images.hpp"
#include "options.hpp"
#include "recipe.hpp"

namespace digits {

/// The images of a training run, and the recipe that it follows.
struct Data {
  Recipe recipe;
  std::string name;                 ///< saved in the training file, to identify the data on resuming
  std::vector<std::string> labels;  ///< names of the classes; empty if classes are only numbered
  LabelledImages images, held_out;
  gated::Matrix<float> held_out_inputs;

  /// The number of full batches per epoch. Each epoch skips the images left over, chosen at random.
  gated::Index steps_per_epoch() const { return images.count() / recipe.batch_size; }
};

/// Reads the data set that the options select.
/// Errors: FileError and ArgumentError for unreadable or unsuitable data; examples::UsageError for an option that does not
/// apply to this kind of data.
Data read_data(const Options& options);

}  // namespace digits
