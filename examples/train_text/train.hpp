#pragma once

#include "corpus.hpp"
#include "options.hpp"

namespace text {

/// Starts or resumes the training that `options` describe and runs it. Returns the program's exit code.
int train(const Options& options, const Corpus& corpus);

}  // namespace text
