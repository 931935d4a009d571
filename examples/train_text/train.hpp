#pragma once

#include "corpus.hpp"
#include "options.hpp"

namespace text {

/// Trains gMLP or aMLP, and FLASH. Return the program's exit code. Each is compiled by itself, because that takes a while.
int train_gmlp(const Options& options, const Corpus& corpus);
int train_flash(const Options& options, const Corpus& corpus);

}  // namespace text
