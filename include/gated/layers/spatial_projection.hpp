#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"
#include "gated/core/sequence_groups.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/matmul.hpp"

/// @file
/// The spatial projection: a linear map over the tokens, shared by the channels.

namespace gated {

/// Which numbers a spatial weight is made of.
enum class SpatialForm {
  dense,           ///< any W: N² numbers a head
  toeplitz,        ///< W_ij = w_{i-j}, 2N-1 numbers a head: the form of the gMLP paper's language models
  scaled_toeplitz  ///< W_ij = w_{N-1-(i-j)} · x_i · y_j for j ≤ i, else 0: 3N numbers a head; lucidrains' "circulant_matrix"
};

constexpr auto names_of(SpatialForm) {
  return std::array{std::pair{SpatialForm::dense, std::string_view("dense")},
                    std::pair{SpatialForm::toeplitz, std::string_view("toeplitz")},
                    std::pair{SpatialForm::scaled_toeplitz, std::string_view("scaled_toeplitz")}};
}

/// What to do with a sequence whose length is not the one that the spatial weight was built for.
enum class LengthPolicy {
  exact,  ///< refuse it; causal projections still take shorter ones, where slicing changes nothing
  slice   ///< use the top-left corner of W; exact for causal weights, an approximation for others
};

constexpr auto names_of(LengthPolicy) {
  return std::array{std::pair{LengthPolicy::exact, std::string_view("exact")},
                    std::pair{LengthPolicy::slice, std::string_view("slice")}};
}

/// The options of a spatial projection.
struct SpatialProjectionConfig {
  Index length = 0;                                  ///< N, the number of tokens that the weight is built for
  Index heads = 1;                                   ///< matrices; head k owns the channels [k·C/heads, (k+1)·C/heads)
  bool causal = false;                               ///< tokens see no later ones
  SpatialForm form = SpatialForm::dense;             ///< which numbers W is made of
  LengthPolicy length_policy = LengthPolicy::exact;  ///< what to do with sequences that are not N long
};

/// y = W v + b over the tokens of each sequence: f_{W,b} of the gMLP paper (arXiv:2105.08050, eq. 4).
///
/// y[i, c] = Σ_j W[head(c), i, j] · v[j, c] + b[head(c), i]; with `causal` the terms j > i are left out
/// (or are products with 0: finite tokens never reach back, but a NaN or infinity may, by the rows of a tile, 13 at most;
/// streaming keeps it out). Shapes: v and y are rows × C. Errors: ShapeError for a sequence of another length (see
/// LengthPolicy) or for channels that the heads do not divide. Cost: 2·N²·C flops a sequence, about half of it when causal. A
/// dense or Toeplitz weight is read where it lies; masked and scaled ones are expanded in scratch, 128 rows at a time. A
/// Toeplitz weight never holds N² numbers.
template <class T>
struct SpatialProjection {
  using Scalar = T;
  /// With a causal weight, rows are taken in blocks of this many, which see no further than their own last token.
  static constexpr Index causal_block = 128;

  SpatialProjectionConfig config;
  Matrix<T> weight;      ///< dense: (heads·N) × N; toeplitz: heads × (2N-1); scaled_toeplitz: heads × N
  Matrix<T> bias;        ///< heads × N
  Matrix<T> position_x;  ///< heads × N, scaled_toeplitz only
  Matrix<T> position_y;  ///< heads × N, scaled_toeplitz only

  SpatialProjection() = default;
  /// Weights of zero and biases of 1.
  explicit SpatialProjection(const SpatialProjectionConfig& c) : config(c) {
    require<ArgumentError>(c.length > 0 && c.heads > 0, "SpatialProjection: length = ", c.length, " and heads = ", c.heads,
                           " must be positive.");
    const bool scaled = c.form == SpatialForm::scaled_toeplitz;
    weight = c.form == SpatialForm::dense ? Matrix<T>::Zero(c.heads * c.length, c.length)
                                          : Matrix<T>::Zero(c.heads, scaled ? c.length : 2 * c.length - 1);
    bias = Matrix<T>::Ones(c.heads, c.length);
    position_x = position_y = Matrix<T>::Ones(scaled ? c.heads : 0, scaled ? c.length : 0);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &SpatialProjection::weight, Role::spatial, &SpatialProjection::weight_shape),
                      field("bias", &SpatialProjection::bias, Role::spatial),
                      field("position_x", &SpatialProjection::position_x, Role::spatial),
                      field("position_y", &SpatialProjection::position_y, Role::spatial)};
  }

  Shape weight_shape() const {
    return config.form == SpatialForm::dense ? Shape{config.heads, config.length, config.length}
                                             : Shape{weight.rows(), weight.cols()};
  }

  /// W of `head` for `length` tokens, written out: what the projection multiplies with. Zeros where it is masked.
  /// Errors: ArgumentError for a head or a length that the weight does not have.
  Matrix<T> effective_weight(Index head, Index length) const {
    require<ArgumentError>(head >= 0 && head < config.heads && length >= 0 && length <= config.length,
                           "SpatialProjection::effective_weight: head = ", head, " and length = ", length, ", expected 0 … ",
                           config.heads - 1, " and 0 … ", config.length, ".");
    Matrix<T> w(length, length);
    for (Index i = 0; i < length; ++i) {
      expand_row(head, i, length, &w.coeffRef(i, 0));
    }
    return w;
  }

  /// Multiplies the top-left corner of every head's W with `mask`, which is n × n, or 1 × n for all rows alike; n ≤ N. A mask
  /// of zeros and ones takes connections away for good. Errors: ArgumentError unless W is dense, ShapeError for another mask.
  void apply_mask(ConstView<T> mask) {
    const Index n = mask.cols();
    require<ArgumentError>(config.form == SpatialForm::dense, "SpatialProjection::apply_mask: a ", name_of(config.form),
                           " weight shares its numbers between tokens and cannot be masked one by one. Use the dense form.");
    require<ShapeError>(n <= config.length && (mask.rows() == n || mask.rows() == 1),
                        "SpatialProjection::apply_mask: the mask is ", mask.rows(), " × ", n,
                        ", expected n × n or 1 × n with n ≤ ", config.length, " tokens.");
    for (Index head = 0; head < config.heads; ++head) {
      for (Index i = 0; i < n; ++i) {
        weight.row(head * config.length + i).head(n).array() *= mask.row(mask.rows() == 1 ? 0 : i).array();
      }
    }
  }

  /// Writes the first `length` entries of row i of W, mask included.
  void expand_row(Index head, Index i, Index length, T* row) const {
    const Index n = config.length;
    const Index visible = is_causal() ? std::min(i + 1, length) : length;
    switch (config.form) {
      case SpatialForm::dense:
        std::copy_n(&weight.coeffRef(head * n + i, 0), visible, row);
        break;
      case SpatialForm::toeplitz:
        std::reverse_copy(&weight.coeffRef(head, n + i - visible), &weight.coeffRef(head, n - 1 + i) + 1, row);
        break;
      case SpatialForm::scaled_toeplitz:
        for (Index j = 0; j < visible; ++j) {
          row[j] = weight(head, n - 1 - (i - j)) * position_x(head, i) * position_y(head, j);
        }
        break;
    }
    std::fill(row + visible, row + length, T{0});
  }

  /// True if row i never looks at a token after i.
  bool is_causal() const { return config.causal || config.form == SpatialForm::scaled_toeplitz; }

  /// Raises ShapeError unless every sequence has a length that this weight can serve.
  void expect_lengths(const char* where, const Sequences& sequences) const {
    const bool shorter = config.causal || config.length_policy == LengthPolicy::slice;
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index length = sequences.length(b);
      if (length == config.length || (shorter && length < config.length)) {
        continue;
      }
      raise<ShapeError>(where, ": x has ", sequences.total(), " rows = ", sequences.describe(), ", but ",
                        sequences.count() == 1 ? text("the gate was built for ")
                                               : text("sequence ", b, " has ", length, " tokens and the gate was built for "),
                        config.length, " tokens.",
                        length < config.length
                            ? " Set length_policy = slice to use the top-left corner of its weight, or resize it."
                            : " Resize the spatial weight to the longer length first.");
    }
  }

  /// y = stages(W v + b). The stages see rows and columns of the whole y.
  template <class... Stages>
  void forward(ConstView<T> v, const Sequences& sequences, View<T> y, Workspace<T>& workspace, const Stages&... stages) const {
    sequences.expect_total("SpatialProjection::forward", v.rows());
    expect_lengths("SpatialProjection::forward", sequences);
    expect_shape<T>("SpatialProjection::forward", "y", y, v.rows(), v.cols());
    require<ShapeError>(v.cols() % config.heads == 0, "SpatialProjection::forward: v has ", v.cols(),
                        " channels, which heads = ", config.heads, " does not divide.");
    if (workspace.observed()) {  // an observer sees the projection alone, before what is fused behind it
      const auto frame = workspace.frame();
      MatrixMap<T> alone = workspace.matrix(y.rows(), y.cols());
      project_sequences(v, sequences, alone, workspace);
      workspace.show(alone);
    }
    project_sequences(v, sequences, y, workspace, stages...);
  }

  /// The rows `first`, `first` + 1, … of stages(W v + b) for one sequence, as many as y has; v holds the tokens that they may
  /// see: for a causal weight those up to the last row, otherwise all. Streaming computes its one row with this.
  template <class... Stages>
  void project_rows(ConstView<T> v, Index first, View<T> y, Workspace<T>& workspace, const Stages&... stages) const {
    const Index width = v.cols() / config.heads;
    const Index block = is_causal() ? causal_block : y.rows();
    for (Index head = 0; head < config.heads; ++head) {
      const Index column = head * width;
      for (Index done = 0; done < y.rows(); done += block) {
        const auto frame = workspace.frame();
        const Index rows = std::min(block, y.rows() - done), i = first + done;
        const Index depth = is_causal() ? i + rows : v.rows();
        matmul<T>(weight_rows(head, i, rows, depth, workspace), ConstView<T>(v.block(0, column, depth, width)),
                  y.block(done, column, rows, width), workspace, AddRowBias<T>{&bias.coeffRef(head, i)},
                  shifted(stages, done, column)...);
      }
    }
  }

  /// Rows i … i + rows - 1 of W, `depth` columns of them, as a factor of a product. A weight without mask and scales is read
  /// where it lies: a Toeplitz one through strides, since one step down is one step right in w, and one step right one step
  /// left.
  Operand<T> weight_rows(Index head, Index i, Index rows, Index depth, Workspace<T>& workspace) const {
    const Index n = config.length;
    if (!is_causal() && config.form == SpatialForm::dense) {
      return Operand<T>(&weight.coeffRef(head * n + i, 0), rows, depth, n, 1);
    }
    if (!is_causal() && config.form == SpatialForm::toeplitz) {
      return Operand<T>(&weight.coeffRef(head, n - 1 + i), rows, depth, 1, -1);
    }
    MatrixMap<T> expanded = workspace.matrix(rows, depth);
    for (Index k = 0; k < rows; ++k) {
      expand_row(head, i + k, depth, &expanded.coeffRef(k, 0));
    }
    return is_causal() ? lower<T>(expanded, i) : Operand<T>(expanded);
  }

 private:
  template <class... Stages>
  void project_sequences(const ConstView<T>& v, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
                         const Stages&... stages) const {
    for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
      for (Index b = 0; b < group.count(); ++b) {
        const Index offset = first + group.offset(b), length = group.length(b);
        project_rows(v.middleRows(offset, length), 0, y.middleRows(offset, length), scratch, shifted(stages, offset, 0)...);
      }
    });
  }
};

}  // namespace gated
