#include <memory>

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
  std::vector<std::unique_ptr<gated::Workspace<float>>> workspaces;
  std::vector<std::vector<double>> times;
  for (const auto threads : thread_counts()) {
    workspaces.push_back(std::make_unique<gated::Workspace<float>>(Threads{static_cast<int>(threads)}));
    times.emplace_back();
  }
  for (int run = 0; run < options.runs(); ++run) {  // by turns, so that what disturbs the machine disturbs all
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i].push_back(time_runs(1, [&] { model.forward(x, sequences, y, *workspaces[i]); }).front());
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Threads threads = workspaces[i]->threads();
    const double time = median(times[i]);
    print_row("threads", series, threads.count, "ms", 1e3 * time);
    print_row("threads", series, threads.count, "of peak", flops_of(config, count, length) / time / peak(threads));
    print_row("threads", series, threads.count, "speed-up", median(times.front()) / time);
    print_row("threads", series, threads.count, "scratch MB", megabytes(workspaces[i]->bytes()));
  }
}

}  // namespace

void table_of_threads(const TableOptions& options) {
  const gated::GmlpConfig small{.length = 196, .channels = 256, .hidden = 1536, .depth = options.quick ? 2 : 30};
  const gated::GmlpConfig language{.length = 512, .channels = 512, .hidden = 3072, .depth = options.quick ? 1 : 8};
  const gated::FlashConfig flash{.depth = options.quick ? 1 : 12, .layer = gated::flash_presets::lucidrains(512)};
  measure<gated::Gmlp<float>>(options, "gMLP-S/16 batch 1", small, 1, small.length, small.channels);
  measure<gated::Gmlp<float>>(options, "gMLP-S/16 batch 8", small, 8, small.length, small.channels);
  measure<gated::Gmlp<float>>(options, "gMLP NLP batch 1", language, 1, language.length, language.channels);
  measure<gated::Gmlp<float>>(options, "gMLP NLP batch 8", language, 8, language.length, language.channels);
  measure<gated::Flash<float>>(options, "FLASH causal n 4096", flash, 1, 4096, flash.layer.channels);
}

}  // namespace bench
