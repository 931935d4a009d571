#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/prepared_weights.hpp"
#include "gated/core/sublayers.hpp"
#include "gated/ops/gemm.hpp"

/// @file
/// Packs a model's weights once for many runs.

namespace gated {

namespace detail {

/// Packs the row-major out × in weight at `from`. Its key in `prepared` is `weight`, the parameter's address in the model.
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

/// Packs a quantized weight, with the key `weight`.
inline void pack_codes(PreparedWeights<float>& prepared, const float* weight, const WeightCodes& codes) {
  prepared.add(weight, codes.format, codes.rows, codes.columns, kernels<ProductKernels<float>>().panel_columns).fill(codes);
}

/// Calls prepare() on each layer that has this function, for example to store the FFT of a long Toeplitz weight.
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

/// Packs the weights of all channel projections and embeddings (for tied heads); stores the FFT of long Toeplitz weights.
///
///     const auto prepared = prepare(model);
///     Workspace<float> workspace;
///     workspace.use(prepared);                         // runs no longer pack weights
///     model.forward(x, sequences, y, workspace);       // bit-equal
///
/// Preparing pays off for few rows and large weights: decoding, single images, heads. The model is unchanged. `prepared` is
/// valid for the model's current address and weights: prepare again after loading, training or moving the model. Runs check a
/// few values of each weight and raise ArgumentError if one has changed. Workspaces of several threads can share `prepared`.
///
/// A quantized `format` (core/weight_format.hpp) needs a half to a quarter of the memory and speeds up decoding, which is
/// memory-bound. Results are bit-equal to those of a float model after round_weights(), with int8_products() only in int8_rows.
/// Spatial weights and vectors stay in float. With int8_products(), int8_rows is the fastest format; int8 is slower but more
/// accurate.
/// Errors: ArgumentError for weights stored outside the model (load_prepared(), load_mapped()). For a quantized format, also if
/// the model is in double, or a value is not finite or too large for the format (uninitialized weights are NaN).
/// Cost: one pass over the weights, and memory for a copy with rows padded to a multiple of two SIMD vectors. The FFT of a
/// Toeplitz weight needs 3 to 4 times the weight's memory, or 5 to 11 times if causal (10 to 21 for scaled_toeplitz).
template <class Model>
PreparedWeights<typename Model::Scalar> prepare(const Model& model, WeightFormat format = WeightFormat::float32) {
  using T = typename Model::Scalar;
  detail::expect_format<T>("prepare", format);
  const detail::KernelChoice one_form_of_kernels;
  PreparedWeights<T> prepared;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (!may_be_quantized(info)) {
          return;
        }
        require<ArgumentError>(
            !is_elsewhere(values.front()), "prepare: ", info.path(),
            " is stored outside the model, by load_prepared() or load_mapped(). Prepare a model from load_model().");
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

/// Rounds weights to the values that prepare() would store in `format`. In inference and training, the float model then has
/// the accuracy of that format.
/// Errors: those of prepare(); after an error, some weights may be rounded.
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
