#include <vector>

#include "tables.hpp"

namespace bench {

namespace {

constexpr Index channels = 512;

/// Layers that run one after the other on one sequence.
template <class Layer>
struct Stack {
  const char* series;
  typename Layer::Config config;
  std::vector<Layer> layers;

  Stack(const char* name, const typename Layer::Config& c, std::size_t count) : series(name), config(c) {
    gated::Random random(1);
    for (std::size_t i = 0; i < count; ++i) {
      layers.emplace_back(config, random);
    }
  }

  void forward(const gated::Matrix<float>& x, gated::Matrix<float>& y, gated::Workspace<float>& workspace) const {
    y = x;
    for (const Layer& layer : layers) {
      layer.forward(y, gated::Sequences::single(x.rows()), y, workspace);
    }
  }

  void print(Index length, double time, double peak, const gated::Workspace<float>& workspace) const {
    const auto count = static_cast<double>(layers.size());
    print_row("blocks", series, length, "ms", 1e3 * time);
    print_row("blocks", series, length, "of peak", count * flops_of(config, 1, length) / time / peak);
    print_row("blocks", series, length, "weights MB", count * megabytes(layers.front()));
    print_row("blocks", series, length, "scratch MB", megabytes(workspace.bytes()));
  }
};

/// Measures three stacks by turns.
template <class A, class B, class C>
void measure(const TableOptions& options, Index length, const A& a, const B& b, const C& c) {
  const gated::Matrix<float> x = gated::Matrix<float>::Random(length, channels);
  gated::Matrix<float> y = x;
  gated::Workspace<float> of_a(options.threads), of_b(options.threads), of_c(options.threads);
  const auto figures = by_turns(
      options.turns(), {time_of(options, [&] { a.forward(x, y, of_a); }), time_of(options, [&] { b.forward(x, y, of_b); }),
                        time_of(options, [&] { c.forward(x, y, of_c); }), peak_of(options.threads)});
  const double peak = best(figures[3]);
  a.print(length, median(figures[0]), peak, of_a);
  b.print(length, median(figures[1]), peak, of_b);
  c.print(length, median(figures[2]), peak, of_c);
}

}  // namespace

void table_of_blocks(const TableOptions& options) {
  // Two gated layers have as many parameters as one Transformer block, and as many flops where the sequence is short.
  const Stack<gated::TransformerBlock<float>> transformer("Transformer block", {.channels = channels, .heads = 8}, 1);
  const Stack<gated::GatedAttentionUnit<float>> gau("two GAU", gated::gau_presets::lucidrains(channels), 2);
  const Stack<gated::MixedChunkAttention<float>> flash("two FLASH", gated::flash_presets::lucidrains(channels, 256, false), 2);
  for (Index length = 128; length <= (options.quick ? 256 : 32768); length *= 2) {
    measure(options, length, transformer, gau, flash);
  }
}

}  // namespace bench
