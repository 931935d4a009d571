#include <list>

#include "gated/models/prepare.hpp"
#include "gated/ops/bf16_products.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Matrix, gated::WeightFormat;

/// Packed weights and a workspace for matmul in float or in bf16.
struct Precision {
  gated::PreparedWeights<float> weights;
  gated::Workspace<float> workspace;
  Matrix<float> y;

  template <class Model>
  Precision(const TrunkCase<Model>& trunk, WeightFormat format, int threads)
      : weights(gated::prepare(trunk.model, format)), workspace(Threads{threads}), y(trunk.x) {
    workspace.use(weights);
    workspace.use(format == WeightFormat::bf16 ? gated::bf16_products() : nullptr);
  }
};

template <class Model>
void measure(const TableOptions& options, const TrunkCase<Model>& trunk) {
  for (const auto threads : thread_counts()) {
    std::list<Precision> precisions;
    std::vector<Measurement> measurements;
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16}) {
      auto& one = precisions.emplace_back(trunk, format, static_cast<int>(threads));
      measurements.push_back(time_of(options, [&] { trunk.model.forward(trunk.x, trunk.sequences, one.y, one.workspace); }));
    }
    measurements.push_back(peak_of(Threads{static_cast<int>(threads)}));
    const auto figures = by_turns(options.turns(), measurements);
    const double in_float = median(figures[0]), in_bf16 = median(figures[1]);
    print_row("products", trunk.name, threads, "float32 ms", 1e3 * in_float);
    print_row("products", trunk.name, threads, "of peak", trunk.flops() / in_float / best(figures[2]));
    print_row("products", trunk.name, threads, "bf16 ms", 1e3 * in_bf16);
    print_row("products", trunk.name, threads, "speed-up", in_float / in_bf16);
    const auto &exact = precisions.front().y, &y = precisions.back().y;
    print_row("products", trunk.name, threads, "error", static_cast<double>((y - exact).norm() / exact.norm()));
  }
}

}  // namespace

void table_of_products(const TableOptions& options) {
  if (gated::bf16_products() == nullptr) {
    std::cerr << "The table `products` is left out because it needs AVX512-BF16.\n";
    return;
  }
  for_each_trunk(options, false, [&](const auto& trunk) { measure(options, trunk); });
}

}  // namespace bench
