#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace digits {

/// The history of a training run.
struct History {
  std::vector<double> losses;      ///< of each step, on training images
  std::vector<double> accuracies;  ///< on the held-out images, after each epoch

  /// All of it as text, for the metadata of the training run's file.
  std::string text() const;

  /// Reads text().
  /// Errors: FileError.
  static History from_text(std::string_view text);
};

}  // namespace digits
