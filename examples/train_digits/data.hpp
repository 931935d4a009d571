#pragma once

#include <string>
#include <vector>

#include "common/labelled_images.hpp"
#include "options.hpp"
#include "recipe.hpp"

namespace digits {

/// The data of a training, and its recipe.
struct Data {
  Recipe recipe;
  std::string name;                 ///< identifies the data in a training's file
  std::vector<std::string> labels;  ///< of the classes; empty if they are only numbered
  LabelledImages images, held_out;
  gated::Matrix<float> held_out_inputs;

  /// Full batches per epoch; the images left over differ from epoch to epoch.
  gated::Index steps_per_epoch() const { return images.count() / recipe.batch_size; }
};

/// Reads the data that the options name.
/// Errors: FileError and ArgumentError for unreadable or unsuitable data; examples::UsageError for an option that does not
/// apply to it.
Data read_data(const Options& options);

}  // namespace digits
