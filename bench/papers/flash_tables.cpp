#include <chrono>
#include <ostream>

#include "forms.hpp"
#include "tables.hpp"

/// @file
/// The tables of FLASH's paper (arXiv:2202.10447).

namespace papers {

namespace {

/// §3 and §4 compare score kernels and token mixers, here at equal parameter counts.
std::vector<Form> attention(const Setup& setup) {
  const Sizes sizes(setup, 64, 6, 256);
  const Index parameters = parameters_of_gau(sizes);
  const auto of_gau = [&](const char* name, gated::ScoreKernel kernel, const Changes<GauModel>& changes = {}) {
    return language_form<GauModel>(setup, name, gau(sizes, kernel, parameters), sizes.length, 4000, changes, attention_warmups);
  };
  const auto of_transformer = [&](const char* name, gated::RelativeBiasForm bias) {
    return language_form<TransformerModel>(setup, name, transformer(sizes, sizes.depth / 2, bias, parameters), sizes.length,
                                           4000, {}, attention_warmups);
  };
  const auto large_queries = [](GauModel& model, gated::Random&) {  // with γ from N(0, 0.02²), scores would start nearly equal
    for (auto& block : model.trunk.blocks) {
      block.offset_scale.weight.setOnes();
    }
  };
  return {of_gau("GAU relu²", gated::ScoreKernel::relu2),
          of_gau("GAU softmax", gated::ScoreKernel::softmax),
          of_gau("GAU softmax from γ = 1", gated::ScoreKernel::softmax, {.start = large_queries}),
          language_form<FlashModel>(setup, "FLASH", flash(sizes, 64, parameters), sizes.length, 4000, {}, attention_warmups),
          of_transformer("Transformer rotary", gated::RelativeBiasForm::none),
          of_transformer("Transformer rotary and T5", gated::RelativeBiasForm::t5)};
}

/// Ablations of FLASH's attention: the chunk size, the local part alone, the global part alone.
std::vector<Form> chunks(const Setup& setup) {
  const Sizes sizes(setup, 64, 6, 512);
  const Index parameters = parameters_of_gau(Sizes(setup));
  std::vector<Form> forms;
  const auto add = [&](const std::string& name, Index chunk, const Changes<FlashModel>& changes = {}) {
    forms.push_back(language_form<FlashModel>(setup, name, flash(sizes, chunk, parameters), sizes.length, 2000, changes,
                                              attention_warmups));
  };
  for (const Index chunk : {16, 64, 256}) {
    add(gated::text("chunks of ", chunk), chunk);
  }
  const auto without = [](Index query) {  // zeroes γ and β of a query and its key, whose gradients stay 0
    return [query](FlashModel& model, gated::Random&) {
      for (auto& block : model.trunk.blocks) {
        block.offset_scale.weight.middleRows(query, 2).setZero();
        block.offset_scale.bias.middleRows(query, 2).setZero();
        if (query == 0) {
          block.relative_bias.weight.setZero();
        }
      }
    };
  };
  add("only local", 64, {.start = without(2)});
  add("only global", 64, {.start = without(0)});
  forms.push_back(language_form<GauModel>(setup, "quadratic (GAU relu²)", gau(sizes, gated::ScoreKernel::relu2, parameters),
                                          sizes.length, 2000, {}, attention_warmups));
  return forms;
}

/// Prints the time of a training step of `Model` on sequences of `length` bytes: the fastest of five, after a warm-up.
template <class Model>
void print_time(const Setup& setup, int threads, const char* form, const typename Model::Config& config, Index length,
                std::ostream& out) {
  auto training = new_training<Model>(config, {}, 100, 1);
  training.threads = gated::Threads{threads};
  MaskedStep<Model> step(setup, length, setup.quick ? 1 : std::max<Index>(8192 / length, 1), training.threads);
  double least = 0;
  for (int turn = 0; turn < (setup.quick ? 2 : 6); ++turn) {
    const auto start = std::chrono::steady_clock::now();
    step(training);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = turn == 1 || (turn > 1 && seconds < least) ? seconds : least;  // the first step allocates memory
  }
  out << form << ",0,0,100,1," << length << ",ms," << 1000 * least << std::endl;
}

}  // namespace

std::vector<Table> flash_tables() { return {{"attention", attention}, {"chunks", chunks, true}}; }

void print_times(const Setup& setup, int threads, std::ostream& out) {
  Sizes sizes(setup, 128);
  const Index parameters = parameters_of_gau(sizes);
  const auto local = flash(sizes, 64, parameters);
  auto quadratic = gau(sizes, gated::ScoreKernel::relu2, parameters);
  const auto layers = transformer(sizes, sizes.depth / 2, gated::RelativeBiasForm::none, parameters);
  for (Index length = setup.quick ? 64 : 256; length <= (setup.quick ? 128 : 8192); length *= 2) {
    quadratic.trunk.block.max_length = length;
    print_time<FlashModel>(setup, threads, "FLASH", local, length, out);
    print_time<GauModel>(setup, threads, "FLASH-Quad", quadratic, length, out);
    print_time<TransformerModel>(setup, threads, "Transformer", layers, length, out);
  }
}

}  // namespace papers
