#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/prepared_weights.hpp"
#include "gated/core/sublayers.hpp"
#include "gated/ops/gemm.hpp"

/// @file
/// Packing a model's weights once, for many runs.

namespace gated {

namespace detail {

/// Packs a weight of out × in, row by row at `from`, as products read it. It is known by its address `weight` in the model.
template <class T>
void pack_weight(PreparedWeights<T>& prepared, const T* weight, const T* from, Index out, Index in) {
  const ProductKernels<T>& table = kernels<ProductKernels<T>>();
  const Index width = table.panel_columns;
  T* const packed = prepared.add(weight, out, in, width);
  const Operand<T> transposed_weight(from, in, out, 1, in);
  for (Index first = 0; first < out; first += width) {
    table.pack_panel(transposed_weight, first, std::min(width, out - first), packed + first * in);
  }
}

/// The same for codes.
inline void pack_codes(PreparedWeights<float>& prepared, const float* weight, const WeightCodes& codes) {
  prepared.add(weight, codes.format, codes.rows, codes.columns, kernels<ProductKernels<float>>().panel_columns).fill(codes);
}

/// What layers prepare themselves, such as the transforms of long Toeplitz weights.
template <class T, class Model>
void prepare_layers(PreparedWeights<T>& prepared, const Model& model) {
  for_each_layer(
      [&](const auto& layer) {
        if constexpr (requires { layer.prepare(prepared); }) {
          layer.prepare(prepared);
        }
      },
      model);
}

}  // namespace detail

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
///
/// With a quantized `format` (see core/weight_format.hpp) these weights are kept in a half or a quarter of the memory, and
/// steps of streaming, which wait for memory, become faster. The results are to the bit those of the float model that
/// round_weights() makes. Spatial weights and vectors stay float.
/// Errors: ArgumentError for a quantized format of weights that are double, or not finite.
/// Cost: as much memory as the weights, rounded up to two vectors of rows each, and one pass over them; three to eight times as
/// much for Toeplitz ones.
template <class Model>
PreparedWeights<typename Model::Scalar> prepare(const Model& model, WeightFormat format = WeightFormat::float32) {
  using T = typename Model::Scalar;
  detail::expect_format<T>("prepare", format);
  PreparedWeights<T> prepared;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (!may_be_quantized(info)) {
          return;
        }
        require<ArgumentError>(!is_elsewhere(values.front()), "prepare: ", info.path(),
                               " is kept apart from the model, by load_prepared() or load_mapped().");
        const Index rows = info.shape[0], columns = info.shape.count() / rows;
        if constexpr (std::is_same_v<T, float>) {
          if (format != WeightFormat::float32) {
            detail::pack_codes(prepared, values.data(), detail::encoded("prepare", info, values, format).codes());
            return;
          }
        }
        detail::pack_weight(prepared, values.data(), values.data(), rows, columns);
      },
      model);
  detail::prepare_layers(prepared, model);
  return prepared;
}

/// Rounds the weights that prepare() would keep in `format` to the numbers that it holds: what a quantized format costs in
/// accuracy can be measured with it on a float model, in training too.
/// Errors: ArgumentError as those of prepare(), after which a part of the weights may be rounded.
/// Cost: one pass over the weights.
template <class Model>
void round_weights(Model& model, WeightFormat format) {
  using T = typename Model::Scalar;
  detail::expect_format<T>("round_weights", format);
  if constexpr (std::is_same_v<T, float>) {
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          if (format == WeightFormat::float32 || !may_be_quantized(info)) {
            return;
          }
          detail::encoded("round_weights", info, values, format).codes().read(values);
        },
        model);
  }
}

}  // namespace gated
