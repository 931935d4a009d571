#include <list>

#include "tables.hpp"

namespace bench {

namespace {

template <class Model>
void measure(const TableOptions& options, const char* series, const typename Model::Config& config, Index count, Index length,
             Index channels) {
  gated::Random random(1);
  const Model model(config, random);
  const auto sequences = gated::Sequences::uniform(count, length);
  const gated::Matrix<float> x = gated::Matrix<float>::Random(count * length, channels);
  gated::Matrix<float> y = x;
  std::list<gated::Workspace<float>> workspaces;  // each stays where it is
  std::vector<Measurement> measurements;
  for (const auto threads : thread_counts()) {
    auto& workspace = workspaces.emplace_back(Threads{static_cast<int>(threads)});
    measurements.push_back(time_of(options, [&] { model.forward(x, sequences, y, workspace); }));
    measurements.push_back(peak_of(workspace.threads()));
  }
  const auto figures = by_turns(options.turns(), measurements);
  auto figure = figures.begin();
  for (const auto& workspace : workspaces) {
    const Index threads = workspace.threads().count();
    const double time = median(*figure++), peak = best(*figure++);
    print_row("threads", series, threads, "ms", 1e3 * time);
    print_row("threads", series, threads, "of peak", flops_of(model, count, length) / time / peak);
    print_row("threads", series, threads, "speed-up", median(figures.front()) / time);
    print_row("threads", series, threads, "scratch MB", megabytes(workspace.bytes()));
  }
}

}  // namespace

void table_of_threads(const TableOptions& options) {
  auto small = gmlp_s16(), language = gmlp_nlp();
  auto flash = flash_trunk(true);
  if (options.quick) {
    small.depth = 2;
    language.depth = flash.depth = 1;
  }
  measure<gated::Gmlp<float>>(options, "gMLP-S/16 batch 1", small, 1, small.length, small.channels);
  measure<gated::Gmlp<float>>(options, "gMLP-S/16 batch 8", small, 8, small.length, small.channels);
  measure<gated::Gmlp<float>>(options, "gMLP NLP batch 1", language, 1, language.length, language.channels);
  measure<gated::Gmlp<float>>(options, "gMLP NLP batch 8", language, 8, language.length, language.channels);
  measure<gated::Flash<float>>(options, "FLASH causal n 4096", flash, 1, 4096, flash.block.channels);
}

}  // namespace bench
