#include "gated/io/labml.hpp"

#include "../inputs.hpp"

namespace parity {

namespace labml {

template <class T>
Result<T> run(const CaseFile& file) {
  const auto& a = file.arguments();
  const Index length = file.shape("input").at(0), batch = file.shape("input").at(1);
  gated::GmlpBlock<T> block(gated::labml_block_config(a.at("d_model"), a.at("d_ffn"), a.at("seq_len")));
  const auto names = gated::labml_block_names();
  file.load(block, names);
  const auto mask_weights = [&](gated::GmlpBlock<T>& of) {  // called with the model, then with its gradient
    if (file.has("mask")) {
      of.gate.proj.apply_mask(file.matrix<T>("mask", 1));
    }
  };
  mask_weights(block);
  const auto x = exchange_leading(file.matrix<T>("input"), length, batch);
  gated::Workspace<T> workspace;
  const auto sequences = Sequences::uniform(batch, length);
  Result<T> result{exchange_leading(block.forward(x, sequences, workspace), batch, length), {}};
  add_gradients<T>(
      result, file, block, names, [&](auto& tape, auto& input) { return record(tape, block, input("input", x), sequences); },
      [&](const Matrix<T>& matrix) { return exchange_leading(matrix, length, batch); }, mask_weights);
  return result;
}

constexpr Family families[] = {{"labml_gmlp", "GMLPBlock", run<float>, run<double>}};

}  // namespace labml

std::span<const Family> labml_families() { return labml::families; }

}  // namespace parity
