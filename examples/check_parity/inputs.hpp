#pragma once

#include <cstdint>
#include <vector>

#include "arguments.hpp"
#include "families.hpp"
#include "gated/gated.hpp"

/// What the runs of several families share: reading inputs, running a layer or a model on them.

namespace parity {

using gated::Index;
using gated::Matrix;
using gated::Sequences;

/// [batch, tokens, ...] as sequences.
inline Sequences sequences_of(const CaseFile& file, const char* tensor = "input") {
  return Sequences::uniform(file.shape(tensor).at(0), file.shape(tensor).at(1));
}

/// The tensor `mask`, of truth values or 0 and 1; empty if there is none.
inline std::vector<std::uint8_t> mask_of(const CaseFile& file) {
  std::vector<std::uint8_t> mask;
  if (file.has("mask")) {
    for (const double value : file.file().read<double>("mask")) {
      mask.push_back(value == 0 ? 0 : 1);
    }
  }
  return mask;
}

inline std::vector<Index> ids_of(const CaseFile& file, const char* tensor) {
  return file.has(tensor) ? file.file().read<Index>(tensor) : std::vector<Index>();
}

inline gated::NormForm norm_form(const std::string& name, gated::NormForm scale_norm) {
  return name.find("scale") == std::string::npos ? gated::NormForm::layer_norm : scale_norm;
}

/// Runs a layer on `input`, with the mask if there is one.
template <class T, class Layer>
Result<T> run_layer(const CaseFile& file, const Layer& layer) {
  gated::Workspace<T> workspace;
  return {layer.forward(file.matrix<T>("input"), sequences_of(file), workspace, mask_of(file)), {}};
}

/// Runs a model on token ids, with the mask if there is one, keeping what leaves its first layer, at `layer0`.
template <class T, class Model, class... Arguments>
Result<T> run_model(const CaseFile& file, const Model& model, const char* layer0, const Arguments&... arguments) {
  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.observe(result.keep(layer0));
  result.output = model.forward(ids_of(file, "input"), sequences_of(file), workspace, mask_of(file), arguments...);
  return result;
}

}  // namespace parity
