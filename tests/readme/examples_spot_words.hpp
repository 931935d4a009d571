#pragma once

// Declares the names that code fragments in examples/spot_words/README.md use.

#include "gated/audio.hpp"
#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"

namespace readme {

inline const gated::Vector<float> second = gated::Vector<float>::Zero(16000);  // a second of sound
inline gated::Workspace<float> workspace;

}  // namespace readme
