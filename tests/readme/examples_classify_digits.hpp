#pragma once

// Declares the names that code fragments in examples/classify_digits/README.md use.

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"

namespace readme {

inline const gated::Matrix<float> inputs{};  // images, prepared

}  // namespace readme
