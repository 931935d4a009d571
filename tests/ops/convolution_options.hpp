#pragma once

#include <vector>

#include "gated/core/matrix.hpp"

/// Options of lightweight and dynamic convolutions for tests.

namespace gated::test {

/// Sizes and options of a convolution, but no weights.
struct ConvolutionOptions {
  Index channels, heads, taps, own_tap;
  bool softmax, bias;
};

/// Causal and non-causal convolutions. Kernels: shorter and longer than the sequences. Heads: one channel, narrower than a SIMD
/// vector, wider than a tile.
inline std::vector<ConvolutionOptions> convolution_options() {
  return {{.channels = 6, .heads = 3, .taps = 5, .own_tap = 4, .softmax = true, .bias = true},
          {.channels = 4, .heads = 4, .taps = 16, .own_tap = 15, .softmax = true, .bias = false},
          {.channels = 80, .heads = 2, .taps = 3, .own_tap = 2, .softmax = false, .bias = true},
          {.channels = 5, .heads = 1, .taps = 1, .own_tap = 0, .softmax = false, .bias = false},
          {.channels = 38, .heads = 2, .taps = 7, .own_tap = 3, .softmax = true, .bias = true},
          {.channels = 6, .heads = 2, .taps = 9, .own_tap = 4, .softmax = false, .bias = false}};
}

}  // namespace gated::test
