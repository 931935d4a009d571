#pragma once

#include <cstdint>
#include <vector>

#include "arguments.hpp"
#include "families.hpp"
#include "gated/gated.hpp"
#include "gradients.hpp"

/// Helpers shared by several families of cases: they read inputs, and run layers and models on them.

namespace parity {

using gated::Index;
using gated::Matrix;
using gated::Sequences;

/// The sequences of a tensor [batch, tokens, ...].
inline Sequences sequences_of(const CaseFile& file, const char* tensor = "input") {
  return Sequences::uniform(file.shape(tensor).at(0), file.shape(tensor).at(1));
}

/// The token mask from the tensor `mask`; empty if the file has no such tensor.
inline std::vector<std::uint8_t> mask_of(const CaseFile& file) {
  std::vector<std::uint8_t> mask;
  if (file.has("mask")) {
    for (const double value : file.file().read<double>("mask")) {
      mask.push_back(value == 0 ? 0 : 1);
    }
  }
  return mask;
}

/// Swaps the first two dimensions: [outer, inner, d] to [inner, outer, d].
template <class T>
Matrix<T> exchange_leading(const Matrix<T>& x, Index outer, Index inner) {
  Matrix<T> y(x.rows(), x.cols());
  for (Index i = 0; i < outer; ++i) {
    for (Index j = 0; j < inner; ++j) {
      y.row(j * outer + i) = x.row(i * inner + j);
    }
  }
  return y;
}

inline std::vector<Index> ids_of(const CaseFile& file, const char* tensor) {
  return file.has(tensor) ? file.file().read<Index>(tensor) : std::vector<Index>();
}

inline gated::NormForm norm_form(const std::string& name, gated::NormForm scale_norm) {
  return name.find("scale") == std::string::npos ? gated::NormForm::layer_norm : scale_norm;
}

/// Loads a layer or a stack of blocks and runs it on `input` and `mask`, forward and backward. Keeps the first block's output.
template <class T, class Layer>
Result<T> run_layer(const CaseFile& file, Layer& layer, const gated::NameMap& names) {
  file.load(layer, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  if (file.has("block0_output")) {
    workspace.set_hook(result.keep("blocks.0"));
  }
  const auto x = file.matrix<T>("input");
  const auto sequences = sequences_of(file);
  const auto mask = mask_of(file);
  result.output = layer.forward(x, sequences, workspace, mask);
  add_gradients<T>(result, file, layer, names,
                   [&](auto& tape, auto& input) { return record(tape, layer, input("input", x), sequences, mask); });
  return result;
}

/// Loads a language model and runs it on token ids and `mask`, forward and backward. Keeps the first block's output.
template <class T, class Model>
Result<T> run_model(const CaseFile& file, Model& model, const gated::NameMap& names, const std::vector<Index>& types = {}) {
  file.load(model, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.set_hook(result.keep("trunk.blocks.0"));
  const auto tokens = ids_of(file, "input");
  const auto sequences = sequences_of(file);
  const auto mask = mask_of(file);
  result.output = model.forward(tokens, sequences, workspace, mask, types);
  add_gradients<T>(result, file, model, names,
                   [&](auto& tape, auto&) { return record(tape, model, tokens, sequences, mask, types); });
  return result;
}

/// Loads an image classifier and runs it on images, forward and backward, up to the logits or the features. Keeps the first
/// block's output.
template <class T, class Model>
Result<T> run_classifier(const CaseFile& file, Model& model, const gated::NameMap& names, bool features = false) {
  file.load(model, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.set_hook(result.keep("trunk.blocks.0"));
  const auto images = file.matrix<T>("input", 1);
  result.output = features ? model.features(images, workspace) : model.forward(images, workspace);
  add_gradients<T>(result, file, model, names, [&](auto& tape, auto& input) {
    const gated::Variable pixels = input("input", images);
    gated::Recording<T> run(tape, Sequences::uniform(images.rows(), model.tokens_per_image()));
    return features ? model.apply_features(run, pixels) : record(tape, model, pixels);
  });
  return result;
}

}  // namespace parity
