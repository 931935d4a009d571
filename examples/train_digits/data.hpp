#pragma once

#include <string>
#include <vector>

#include "common/labelled_images.hpp"
#include "options.hpp"
#include "recipe.hpp"

namespace digits {

/// The data of a training run, and its recipe.
struct Data {
  Recipe recipe;
  std::string name;                 ///< identifies the data in the file of a training run
  std::vector<std::string> labels;  ///< names of the classes; empty if they only have numbers
  LabelledImages images, held_out;
  gated::Matrix<float> held_out_inputs;

  /// The number of full batches per epoch. The images left over, fewer than a batch, differ from epoch to epoch.
  gated::Index steps_per_epoch() const { return images.count() / recipe.batch_size; }
};

/// Reads the data that the options name.
/// Errors: FileError and ArgumentError for unreadable or unsuitable data; examples::UsageError for an option that does not
/// apply to it.
Data read_data(const Options& options);

}  // namespace digits
