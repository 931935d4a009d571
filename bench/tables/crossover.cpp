#include <list>

#include "tables.hpp"

namespace bench {

namespace {

constexpr Index columns = 1536;  // half of gMLP-base's hidden channels

/// One way to multiply by a Toeplitz weight, with its own scratch.
struct Way {
  const char* series;
  gated::SpatialProjection<float> projection;
  gated::Workspace<float> workspace;

  Way(const char* name, Index length, bool causal, Index fourier_from, const Threads& threads)
      : series(name),
        projection({.length = length, .causal = causal, .form = gated::SpatialForm::toeplitz, .fourier_from = fourier_from}),
        workspace(threads) {
    projection.weight.setRandom();
  }
};

void measure(const TableOptions& options, Index length) {
  std::list<Way> ways;  // a Workspace cannot be moved
  const Index never = length + 1, tile = std::min(gated::fourier_crossover, length / 6);
  ways.emplace_back("plain", length, false, never, options.threads);
  ways.emplace_back("by FFT", length, false, 1, options.threads);
  ways.emplace_back("causal plain", length, true, never, options.threads);
  ways.emplace_back("causal tiles", length, true, tile, options.threads);
  const auto sequences = gated::Sequences::single(length);
  const gated::Matrix<float> v = gated::Matrix<float>::Random(length, columns);
  gated::Matrix<float> y = v;
  std::vector<Measurement> measurements;
  for (Way& way : ways) {
    measurements.push_back(time_of(options, [&] { way.projection.forward(v, sequences, y, way.workspace); }));
  }
  const auto figures = by_turns(options.turns(), measurements);
  auto times = figures.begin();
  for (const Way& way : ways) {
    print_row("crossover", way.series, length, "ms", 1e3 * median(*times++));
  }
}

}  // namespace

void table_of_crossovers(const TableOptions& options) {
  for (const Index length : {64, 96, 128, 192, 256, 384, 513, 768, 1025, 2048, 4096, 8192}) {
    if (!options.quick || length <= 96) {
      measure(options, length);
    }
  }
}

}  // namespace bench
