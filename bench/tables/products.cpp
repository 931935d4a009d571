#include <algorithm>
#include <cmath>
#include <list>
#include <memory>

#include "gated/models/prepare.hpp"
#include "gated/ops/bf16_products.hpp"
#include "tables.hpp"
#include "training_step.hpp"

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

/// Prints the times in float and in bf16; `figures` also has the peak flops per second.
void print_times(const char* name, Index threads, double flops, const std::vector<std::vector<double>>& figures) {
  const double in_float = median(figures[0]), in_bf16 = median(figures[1]);
  print_row("products", name, threads, "float32 ms", 1e3 * in_float);
  print_row("products", name, threads, "of peak", flops / in_float / best(figures[2]));
  print_row("products", name, threads, "bf16 ms", 1e3 * in_bf16);
  print_row("products", name, threads, "speed-up", in_float / in_bf16);
}

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
    print_times(trunk.name, threads, trunk.flops(), figures);
    const auto &exact = precisions.front().y, &y = precisions.back().y;
    print_row("products", trunk.name, threads, "error", static_cast<double>((y - exact).norm() / exact.norm()));
  }
}

using Trained = gated::GmlpLanguageModel<float>;

/// A training step on the batch of compare_peers' `train_gmlp`, with random tokens.
std::unique_ptr<TrainingStep<Trained>> step_with(const gated::ProductEngine<float>* engine,
                                                 const gated::GmlpLanguageModelConfig& config, int threads) {
  gated::Random random(1);
  const auto sequences = gated::Sequences::uniform(8, config.trunk.length);
  auto step = std::make_unique<TrainingStep<Trained>>(gated::TrainingConfig<Trained>{}, Trained(config, random), sequences,
                                                      Threads{threads});
  step->tape.workspace().use(engine);
  step->tokens.resize(static_cast<std::size_t>(sequences.total()));
  std::generate(step->tokens.begin(), step->tokens.end(), [&] { return static_cast<Index>(random.uniform() * 256); });
  step->targets = step->tokens;
  return step;
}

/// The error is the relative difference of the losses of the first step.
void measure_training(const TableOptions& options) {
  constexpr const char* name = "training step of a causal gMLP d256 L4 n256 batch 8";
  auto config = trained_gmlp();
  config.trunk.depth = options.quick ? 1 : config.trunk.depth;
  for (const auto threads : thread_counts()) {
    const auto in_float = step_with(nullptr, config, static_cast<int>(threads));
    const auto in_bf16 = step_with(gated::bf16_products(), config, static_cast<int>(threads));
    const double exact = (*in_float)(), loss = (*in_bf16)();
    const auto figures =
        by_turns(options.turns(), {time_of(options, [&] { (*in_float)(); }), time_of(options, [&] { (*in_bf16)(); }),
                                   peak_of(Threads{static_cast<int>(threads)})});
    print_times(name, threads, in_float->flops(), figures);
    print_row("products", name, threads, "error", std::abs(loss - exact) / exact);
  }
}

}  // namespace

void table_of_products(const TableOptions& options) {
  if (gated::bf16_products() == nullptr) {
    std::cerr << "The table `products` is left out because it needs AVX512-BF16.\n";
    return;
  }
  for_each_trunk(options, false, [&](const auto& trunk) { measure(options, trunk); });
  measure_training(options);
}

}  // namespace bench
