#pragma once

// What the fragments of examples/classify_digits/README.md take for granted.

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"

namespace readme {

inline const gated::Matrix<float> inputs{};  // images, prepared

}  // namespace readme
