#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace digits {

/// How the training went so far.
struct History {
  std::vector<double> losses;      ///< of the training images, a step each
  std::vector<double> accuracies;  ///< the part of the held-out images that is right, after each epoch

  /// A text that holds all of it, which a training file takes along.
  std::string text() const;

  /// What text() wrote. Errors: FileError.
  static History from_text(std::string_view text);
};

}  // namespace digits
