#pragma once

// Declares the names that code fragments in examples/generate_text/README.md use.

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"

namespace readme {

inline const std::vector<gated::Index> prompt{};
inline constexpr std::uint64_t seed = 1;

}  // namespace readme
