#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace digits {

/// The history of a training run.
struct History {
  std::vector<double> losses;      ///< one per step, on training images
  std::vector<double> accuracies;  ///< one per epoch, on the held-out images

  /// The history as text, for the training file's metadata.
  std::string text() const;

  /// Reads text().
  /// Errors: FileError.
  static History from_text(std::string_view text);
};

}  // namespace digits
