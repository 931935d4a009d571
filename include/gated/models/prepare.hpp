#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/prepared_weights.hpp"
#include "gated/ops/gemm.hpp"

/// @file
/// Packing a model's weights once, for many runs.

namespace gated {

/// The weights of all channel projections (and embeddings, which tied heads multiply with), packed as products read them, and
/// the Fourier transforms of long Toeplitz weights.
///
///     const auto prepared = prepare(model);
///     Workspace<float> workspace;
///     workspace.use(prepared);                         // forward, extend and step no longer pack weights
///     model.forward(x, sequences, y, workspace);       // the same bits as before
///
/// It pays where few rows meet a large weight: steps of streaming, single images, heads. The model stays as it is and can be
/// used without it. `prepared` is for this model at its present address and with its present weights: prepare anew after
/// loading, training or moving it. A run with weights that have changed since is refused, as far as a few numbers of each tell.
/// Any number of workspaces, in any number of threads, may use one.
/// Cost: as much memory as the weights, rounded up to two vectors of rows each, and one pass over them; three to eight
/// times as much for Toeplitz ones.
template <class Model>
PreparedWeights<typename Model::Scalar> prepare(const Model& model) {
  using T = typename Model::Scalar;
  PreparedWeights<T> prepared;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if ((info.role != Role::weight && info.role != Role::embedding) || info.shape.rank() < 2) {
          return;
        }
        const Index rows = info.shape[0], columns = info.shape.count() / rows;
        const ProductKernels<T>& kernels = product_kernels<T>();
        const Index width = kernels.panel_columns, panels = (rows + width - 1) / width;
        T* const packed = prepared.add(values.data(), rows, columns, width);
        const Operand<T> weight(values.data(), columns, rows, 1, columns);  // transposed, as products read it
        for (Index panel = 0; panel < panels; ++panel) {
          kernels.pack_panel(weight, panel * width, std::min(width, rows - panel * width), packed + panel * width * columns);
        }
      },
      model);
  for_each_layer(
      [&](const auto& layer) {
        if constexpr (requires { layer.prepare(prepared); }) {
          layer.prepare(prepared);
        }
      },
      model);
  return prepared;
}

}  // namespace gated
