#include "../train.hpp"
#include "gated/layers/light_conv.hpp"

namespace digits {

namespace convolution {

/// Trains a model with a 1-D convolution over the patches in row-major order. Its kernel reaches the rows above and below.
int train_convolution(const Options& options, const Data& data, gated::ConvolutionForm form) {
  return train_mixer<gated::LightConv<float>, gated::FeedForward<float>>(options, data, [form](auto& c) {
    c.position_grid = c.grid();  // a convolution sees neighbours, but no absolute positions
    c.trunk.block.token_mixer = {.heads = 4, .kernel = 2 * c.grid().width + 1, .form = form};
  });
}

int train_lightweight(const Options& options, const Data& data) {
  return train_convolution(options, data, gated::ConvolutionForm::lightweight);
}
int train_dynamic(const Options& options, const Data& data) {
  return train_convolution(options, data, gated::ConvolutionForm::dynamic);
}

constexpr Mixer mixers[] = {{"lightweight", "a convolution with shared taps: LightConv", train_lightweight},
                            {"dynamic", "a convolution with taps predicted per patch: DynamicConv", train_dynamic}};

}  // namespace convolution

std::span<const Mixer> convolution_mixers() { return convolution::mixers; }

}  // namespace digits
