#include <vector>

#include "tables.hpp"

namespace bench {

namespace {

constexpr Index channels = 512;

/// `layers` one after the other on one sequence.
template <class Layer>
void measure(const TableOptions& options, const char* series, Index length, const std::vector<Layer>& layers, double flops) {
  const auto sequences = gated::Sequences::single(length);
  const gated::Matrix<float> x = gated::Matrix<float>::Random(length, channels);
  gated::Matrix<float> y = x;
  gated::Workspace<float> workspace(options.threads);
  const double ms = milliseconds(options, [&] {
    y = x;
    for (const Layer& layer : layers) {
      layer.forward(y, sequences, y, workspace);
    }
  });
  print_row("blocks", series, length, "ms", ms);
  print_row("blocks", series, length, "of peak", flops / ms * 1e3 / peak(options.threads));
  print_row("blocks", series, length, "weights MB", static_cast<double>(layers.size()) * megabytes(layers.front()));
  print_row("blocks", series, length, "scratch MB", megabytes(workspace.bytes()));
}

template <class Layer, class Config>
std::vector<Layer> make(std::size_t count, const Config& config) {
  gated::Random random(1);
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < count; ++i) {
    layers.emplace_back(config, random);
  }
  return layers;
}

}  // namespace

void table_of_blocks(const TableOptions& options) {
  // Two gated layers have as many parameters as one Transformer block, and as many flops where the sequence is short.
  const gated::TransformerBlockConfig transformer{.channels = channels, .heads = 8};
  const auto gau = gated::gau_presets::lucidrains(channels);
  const auto flash = gated::flash_presets::lucidrains(channels, 256, false);
  const auto transformers = make<gated::TransformerBlock<float>>(1, transformer);
  const auto gaus = make<gated::GatedAttentionUnit<float>>(2, gau);
  const auto flashes = make<gated::MixedChunkAttention<float>>(2, flash);
  for (Index length = 128; length <= (options.quick ? 256 : 32768); length *= 2) {
    measure(options, "Transformer block", length, transformers, flops_of(transformer, 1, length));
    measure(options, "two GAU", length, gaus, 2 * flops_of(gau, 1, length));
    measure(options, "two FLASH", length, flashes, 2 * flops_of(flash, 1, length));
  }
}

}  // namespace bench
