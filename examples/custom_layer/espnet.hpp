#pragma once

#include "convolutional_gating.hpp"
#include "gated/io/model_file.hpp"

namespace speech {

/// The names of ESPnet's and wenet's ConvolutionalGatingMLP, whose first projection is in a Sequential.
inline gated::NameMap espnet_names() { return {.origin = "ESPnet", .rules = {{"channel_proj1", "channel_proj1.0"}}}; }

}  // namespace speech
