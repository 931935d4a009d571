#include "gated/layers/feed_forward.hpp"

// A shared library that creates, copies, multiplies and frees matrices. Functions that it exports can replace those of other
// shared libraries in the same program.

extern "C" [[gnu::visibility("default")]] double run() {
  gated::Random random(1);
  const gated::FeedForward<float> layer({.channels = 12, .hidden = 20}, random);
  const gated::Matrix<float> x = gated::Matrix<float>::Constant(7, 12, 0.5f);
  gated::Workspace<float> workspace;
  double sum = 0;
  for (int round = 0; round < 5; ++round) {
    gated::FeedForward<float> copy = layer;
    copy = layer;
    gated::Matrix<float> y = copy.forward(x, workspace);
    y = gated::Matrix<float>(y * y.transpose());
    for (const float value : y.reshaped()) {
      sum += static_cast<double>(value);
    }
  }
  return sum;
}
