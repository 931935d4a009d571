#pragma once

// Declares the names that code fragments in examples/denoise/README.md use.

#include <vector>

#include "gated/io/model_file.hpp"
#include "gated/models/denoise_stream.hpp"

namespace readme {

inline std::vector<float> block(480);  // samples per callback

}  // namespace readme
