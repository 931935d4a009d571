#include <algorithm>
#include <atomic>
#include <list>
#include <thread>

#include "tables.hpp"

namespace bench {

namespace {

/// Keeps one processor busy during its lifetime, as a competing program would.
class Neighbour {
 public:
  Neighbour()
      : thread_([this] {
          while (!ended_.load(std::memory_order_relaxed)) {
          }
        }) {}
  ~Neighbour() {
    ended_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

struct Contender {
  const char* name;
  Threads threads;
};

}  // namespace

void table_of_busy_machines(const TableOptions& options) {
  std::vector<Contender> contenders = {{"one thread", {}}, {"gated's threads", options.threads}};
#if defined(_OPENMP)
  contenders.push_back({"OpenMP's threads", gated::openmp_threads(options.threads.count())});
#endif
  auto config = gmlp_s16();
  config.depth = options.quick ? 1 : config.depth;
  gated::Random random(1);
  const gated::Gmlp<float> model(config, random);
  const auto sequences = gated::Sequences::uniform(1, config.length);
  const gated::Matrix<float> x = gated::Matrix<float>::Random(config.length, config.channels);
  gated::Matrix<float> y = x;
  std::list<gated::Workspace<float>> workspaces;  // a list, because a workspace cannot be moved
  std::vector<Measurement> measurements;
  for (const Contender& contender : contenders) {
    auto& workspace = workspaces.emplace_back(contender.threads);
    measurements.push_back([&] {
      const double start = seconds();
      model.forward(x, sequences, y, workspace);
      return seconds() - start;
    });
  }
  for (const int neighbours : {0, 1}) {
    std::list<Neighbour> spinning(static_cast<std::size_t>(neighbours));
    const auto times = by_turns(options.quick ? 3 : 200, measurements);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      print_row("busy", contenders[i].name, neighbours, "median ms", 1e3 * median(times[i]));
      print_row("busy", contenders[i].name, neighbours, "worst ms", 1e3 * *std::max_element(times[i].begin(), times[i].end()));
    }
  }
}

}  // namespace bench
