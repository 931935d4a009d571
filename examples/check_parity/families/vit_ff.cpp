#include "gated/io/vit_ff.hpp"

#include "../inputs.hpp"

namespace parity {

namespace vit_ff {

Index scaled(Index size, double ratio) { return static_cast<Index>(static_cast<double>(size) * ratio); }

using BlockConfig = gated::MixerBlockConfig<gated::TokenMlpConfig, gated::FeedForwardConfig>;

/// The configuration of a LinearBlock for `tokens` tokens.
BlockConfig block_of(const CaseFile& file, Index channels, Index tokens) {
  const auto& a = file.arguments();
  const auto ratio = argument(a, "mlp_ratio", 4.0), eps = argument(a, "norm_eps", 1e-5);
  auto block = gated::vit_ff({.channels = channels}).trunk.block;
  block.norm_eps = block.token_mixer.norm_eps = eps;
  block.token_mixer.length = tokens;
  block.token_mixer.hidden = scaled(tokens, ratio);
  block.channel_mixer.hidden = scaled(channels, ratio);
  return block;
}

template <class T>
Result<T> run_block(const CaseFile& file) {
  const auto& shape = file.shape("input");
  gated::MixerBlock<gated::TokenMlp<T>, gated::FeedForward<T>> block(block_of(file, shape.at(2), shape.at(1)));
  return run_layer<T>(file, block, gated::vit_ff_block_names());
}

template <class T>
Result<T> run_model(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto& shape = file.shape("input");  // images, channels, height, width
  const auto patch = argument<Index>(a, "patch_size", 16);
  auto config = gated::vit_ff({.depth = argument<Index>(a, "depth", 12), .channels = argument<Index>(a, "embed_dim", 768)},
                              argument<Index>(a, "num_classes", 1000));
  config.image = {shape.at(2), shape.at(3)};
  config.image_channels = shape.at(1);
  config.patch = {patch, patch};
  if (const auto cells = a.find("learned_positional_encoding_size"); cells != a.end() && cells->is_array()) {
    config.position_grid = {cells->at(0), cells->at(1)};
  }
  config.pixel_mean = config.pixel_deviation = 0.5;  // the same for every channel
  config.trunk.block = block_of(file, config.trunk.block.channels, config.tokens());
  config.norm_eps = config.trunk.block.norm_eps;
  gated::MixerImageClassifier<T> model(config);
  return run_classifier<T>(file, model, gated::vit_ff_names());
}

constexpr Family families[] = {{"vit_ff", "LinearBlock", run_block<float>, run_block<double>},
                               {"vit_ff", "LinearVisionTransformer", run_model<float>, run_model<double>}};

}  // namespace vit_ff

std::span<const Family> vit_ff_families() { return vit_ff::families; }

}  // namespace parity
