#include <list>

#include "gated/models/prepare.hpp"
#include "gated/ops/bf16_products.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Matrix, gated::WeightFormat;

/// A trunk with its weights packed for products in float or in bf16.
template <class Model>
struct Trunk {
  gated::PreparedWeights<float> weights;
  gated::Workspace<float> workspace;
  Matrix<float> y;

  Trunk(const Model& model, WeightFormat format, int threads)
      : weights(gated::prepare(model, format)), workspace(Threads{threads}) {
    workspace.use(weights);
    workspace.use(format == WeightFormat::bf16 ? gated::bf16_products() : nullptr);
  }
};

template <class Model>
void measure(const TableOptions& options, const char* series, const typename Model::Config& config, Index count, Index length,
             Index channels) {
  gated::Random random(1);
  const Model model(config, random);
  const auto sequences = gated::Sequences::uniform(count, length);
  const Matrix<float> x = Matrix<float>::Random(count * length, channels);
  for (const auto threads : thread_counts()) {
    std::list<Trunk<Model>> trunks;
    std::vector<Measurement> measurements;
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16}) {
      auto& trunk = trunks.emplace_back(model, format, static_cast<int>(threads));
      trunk.y = x;
      measurements.push_back(time_of(options, [&] { model.forward(x, sequences, trunk.y, trunk.workspace); }));
    }
    measurements.push_back(peak_of(Threads{static_cast<int>(threads)}));
    const auto figures = by_turns(options.turns(), measurements);
    const double in_float = median(figures[0]), in_bf16 = median(figures[1]);
    print_row("products", series, threads, "float32 ms", 1e3 * in_float);
    print_row("products", series, threads, "of peak", flops_of(model, count, length) / in_float / best(figures[2]));
    print_row("products", series, threads, "bf16 ms", 1e3 * in_bf16);
    print_row("products", series, threads, "speed-up", in_float / in_bf16);
    const auto &exact = trunks.front().y, &y = trunks.back().y;
    print_row("products", series, threads, "error", static_cast<double>((y - exact).norm() / exact.norm()));
  }
}

}  // namespace

void table_of_products(const TableOptions& options) {
  if (gated::bf16_products() == nullptr) {
    std::cerr << "measure_tables: products is left out, because this machine does not multiply bf16.\n";
    return;
  }
  auto small = gmlp_s16(), language = gmlp_nlp();
  auto flash = flash_trunk(false);
  if (options.quick) {
    small.depth = 2;
    language.depth = flash.depth = 1;
  }
  for (const Index count : {1, 8}) {
    measure<gated::Gmlp<float>>(options, count == 1 ? "gMLP-S/16 batch 1" : "gMLP-S/16 batch 8", small, count, small.length,
                                small.channels);
  }
  for (const Index count : {1, 8}) {
    measure<gated::Gmlp<float>>(options, count == 1 ? "gMLP NLP batch 1" : "gMLP NLP batch 8", language, count, language.length,
                                language.channels);
  }
  measure<gated::Flash<float>>(options, "FLASH n 4096", flash, 1, 4096, flash.block.channels);
}

}  // namespace bench
