#pragma once

#include "corpus.hpp"
#include "options.hpp"

namespace text {

/// Starts or resumes a training run, as `options` say, and trains. Returns the program's exit code.
int train(const Options& options, const Corpus& corpus);

}  // namespace text
