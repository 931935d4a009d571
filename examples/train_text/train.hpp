#pragma once

#include "corpus.hpp"
#include "options.hpp"

namespace text {

/// Starts or resumes the training run that `options` describe. Returns the program's exit code.
int train(const Options& options, const Corpus& corpus);

}  // namespace text
