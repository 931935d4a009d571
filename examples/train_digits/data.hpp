#pragma once

#include <string>
#include <vector>

#include "common/labelled_images.hpp"
#include "options.hpp"
#include "recipe.hpp"

namespace digits {

/// What is learned from, and how.
struct Data {
  Recipe recipe;
  std::string name;                 ///< in the file of a training: other data have another
  std::vector<std::string> labels;  ///< of the classes; empty if numbers are their names
  LabelledImages images, held_out;
  gated::Matrix<float> held_out_inputs;

  /// Of whole batches: the few images that are left over are others in each epoch.
  gated::Index steps_per_epoch() const { return images.count() / recipe.batch_size; }
};

/// Reads the data that the options name. Errors: FileError and ArgumentError for what cannot be read or learned from;
/// examples::UsageError for an option that has no use with this data.
Data read_data(const Options& options);

}  // namespace digits
