#include <list>

#include "tables.hpp"

namespace bench {

namespace {

template <class Model>
void measure(const TableOptions& options, const TrunkCase<Model>& trunk) {
  gated::Matrix<float> y = trunk.x;
  std::list<gated::Workspace<float>> workspaces;  // a list, because workspaces are not movable
  std::vector<Measurement> measurements;
  for (const auto threads : thread_counts()) {
    auto& workspace = workspaces.emplace_back(Threads{static_cast<int>(threads)});
    measurements.push_back(time_of(options, [&] { trunk.model.forward(trunk.x, trunk.sequences, y, workspace); }));
    measurements.push_back(peak_of(workspace.threads()));
  }
  const auto figures = by_turns(options.turns(), measurements);
  auto figure = figures.begin();
  for (const auto& workspace : workspaces) {
    const Index threads = workspace.threads().count();
    const double time = median(*figure++), peak = best(*figure++);
    print_row("threads", trunk.name, threads, "ms", 1e3 * time);
    print_row("threads", trunk.name, threads, "of peak", trunk.flops() / time / peak);
    print_row("threads", trunk.name, threads, "speed-up", median(figures.front()) / time);
    print_row("threads", trunk.name, threads, "scratch MB", megabytes(workspace.bytes()));
  }
}

}  // namespace

void table_of_threads(const TableOptions& options) {
  for_each_trunk(options, true, [&](const auto& trunk) { measure(options, trunk); });
}

}  // namespace bench
