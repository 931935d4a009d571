#pragma once

#include <optional>

#include "model_file.hpp"
#include "options.hpp"

/// Trains and measures keyword models.

namespace words {

/// Trains `start`, or a new KW-MLP if it is empty, on `recordings`, until the last step or Ctrl-C. Returns the moving average
/// of the weights; nothing if Ctrl-C came before the first step. Errors: ArgumentError if the labels of `start` differ from
/// those of the recordings.
std::optional<Model> trained(const Recordings& recordings, std::optional<Keywords> start, const Options& options);

/// Prints the share of recordings that the model classifies correctly, without and with added noise.
void measure(const Keywords& keywords, const Recordings& recordings, const Options& options);

}  // namespace words
