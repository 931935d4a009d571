#include <vector>

#include "tables.hpp"

namespace bench {

namespace {

constexpr Index channels = 512;

/// A stack of layers on one sequence.
template <class Layer>
struct Series {
  const char* name;
  gated::Stack<Layer> layers;

  Series(const char* name_, const typename Layer::Config& config, Index depth) : name(name_) {
    gated::Random random(1);
    layers = gated::Stack<Layer>({.depth = depth, .block = config}, random);
  }

  void forward(const gated::Matrix<float>& x, gated::Matrix<float>& y, gated::Workspace<float>& workspace) const {
    layers.forward(x, gated::Sequences::single(x.rows()), y, workspace);
  }

  void print(Index length, double time, double peak, const gated::Workspace<float>& workspace) const {
    print_row("blocks", name, length, "ms", 1e3 * time);
    print_row("blocks", name, length, "of peak", flops_of(layers, 1, length) / time / peak);
    print_row("blocks", name, length, "weights MB", megabytes(layers));
    print_row("blocks", name, length, "scratch MB", megabytes(workspace.bytes()));
  }
};

/// Times three stacks in alternation and prints their table rows.
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
  // Two gated layers have as many parameters as one Transformer block and, on short sequences, need as many flops.
  const Series<gated::TransformerBlock<float>> transformer("Transformer block", {.channels = channels, .token_mixer = {.heads = 8}}, 1);
  const Series<gated::GatedAttentionUnit<float>> gau("two GAU", gated::gau_presets::lucidrains({.channels = channels}), 2);
  const Series<gated::MixedChunkAttention<float>> flash("two FLASH", gated::flash_presets::lucidrains({.channels = channels, .causal = false}),
                                                      2);
  for (Index length = 128; length <= (options.quick ? 256 : 32768); length *= 2) {
    measure(options, length, transformer, gau, flash);
  }
}

}  // namespace bench
