#pragma once

// Declares the names that code fragments in examples/visualize_gates/README.md use.

#include "gated/gated.hpp"

namespace readme {

inline std::vector<gated::Matrix<float>> maps{};
inline const gated::GmlpImageClassifier<float> model{};
inline const gated::Matrix<float> image{};

}  // namespace readme
