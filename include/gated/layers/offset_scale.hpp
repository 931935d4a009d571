#pragma once

#include "gated/core/count.hpp"
#include "gated/core/random.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Queries and keys from one shared projection.

namespace gated {

/// y = x ⊙ weight_i + bias_i: each row i of weight and bias computes a different query or key from the same x
/// (arXiv:2202.10447, §2.2).
///
/// In a layer's body: run(offset_scale, x, i).
/// Shapes: x and y are N × S.
/// Errors: ArgumentError for an invalid row; ShapeError for wrong sizes.
/// Cost: O(N·S).
template <class T>
struct OffsetScale : Layer<OffsetScale<T>> {
  static constexpr const char* name = "OffsetScale";

  Matrix<T> weight;  ///< rows × S
  Matrix<T> bias;    ///< rows × S, or empty

  OffsetScale() = default;
  OffsetScale(Index rows, Index width, bool with_bias) {
    require<ArgumentError>(rows >= 0 && width >= 0, "OffsetScale: rows = ", rows, " and width = ", width,
                           " must not be negative.");
    weight = unset_weight<T>(rows, width, name);
    bias = filled_matrix<T>(T{0}, with_bias ? rows : 0, with_bias ? width : 0, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &OffsetScale::weight, Role::norm), field("bias", &OffsetScale::bias, Role::norm));
  }

  /// Draws the weight from N(0, 0.02²).
  void initialize(Random& random) { fill_normal(weight, 0.02, random); }

  /// y = x ⊙ weight_i + bias_i with i = `row`.
  void forward(Index row, ConstView<T> x, View<T> y, Workspace<T>& workspace) const {
    expect_columns("OffsetScale::forward", contract(), x.cols());
    expect_shape<T>("OffsetScale::forward", "y", y, x.rows(), x.cols());
    expect_apart<T>("OffsetScale::forward", x, y);
    const auto frame = workspace.frame();
    Batch<T> run(workspace, Sequences::single(x.rows()));
    run.into(MatrixView<T>(y), *this, input_view<T>(x), row);
  }

  Contract contract() const { return {.in = weight.cols(), .out = weight.cols(), .sees = Sees::itself, .shows_itself = true}; }

  /// Backward: ∂x = ∂y ⊙ weight_i; ∂weight_i = Σ ∂y ⊙ x and ∂bias_i = Σ ∂y, summed over the tokens.
  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, Index row) const {
    require<ArgumentError>(row >= 0 && row < weight.rows(), name, ": row ", row, ", expected 0 … ", weight.rows() - 1, ".");
    expect_set(run, "weight", weight);
    const auto y = run.reuse(x);
    const T* const scale = &weight.coeffRef(row, 0);
    const T* const shift = bias.size() == 0 ? nullptr : &bias.coeffRef(row, 0);
    const auto from = reader<T>(run[x]);
    if (shift == nullptr) {
      assign<T>(run[y], run.workspace(), from * per_channel<T>(scale));
    } else {
      assign<T>(run[y], run.workspace(), from * per_channel<T>(scale) + per_channel<T>(shift));
    }
    if constexpr (Run::records) {
      run.push([this, row, x, y](auto& back) {
        const ConstView<T> dy = back.gradient(y);
        const auto gradient = reader<T>(dy), values = reader<T>(back[x]);
        const Index first = row * dy.cols();  // offset of the row in weight and bias
        add_gradient(back, x, gradient * per_channel<T>(weight.data() + first));
        if (T* const sums = back.gradient_of(weight.data())) {
          add_column_sums<T>(dy.rows(), dy.cols(), sums + first, back.workspace(), gradient * values);
        }
        if (T* const sums = back.gradient_of(bias.data())) {
          add_column_sums<T>(dy, sums + first, back.workspace());
        }
      });
    } else {
      run.show(y, nullptr, row);
    }
    return y;
  }
};

}  // namespace gated
