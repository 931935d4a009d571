#pragma once

#include <cmath>

#include "gated/core/count.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/spatial.hpp"

/// @file
/// The spatial projection: a linear map over the tokens, shared by the channels.

namespace gated {

/// What to do with a sequence whose length is not the one that the spatial weight was built for.
enum class LengthPolicy {
  exact,  ///< refuse it; causal projections still take shorter ones, where slicing changes nothing
  slice   ///< use the top-left corner of W; exact for causal weights, an approximation for others
};

constexpr auto names_of(LengthPolicy) { return words_for<LengthPolicy>("exact", "slice"); }

/// The options of a spatial projection.
struct SpatialProjectionConfig {
  Index length = 0;                                  ///< N, the number of tokens that the weight is built for
  Index heads = 1;                                   ///< matrices; head k owns the channels [k·C/heads, (k+1)·C/heads)
  bool causal = false;                               ///< tokens see no later ones
  SpatialForm form = SpatialForm::dense;             ///< which numbers W is made of
  LengthPolicy length_policy = LengthPolicy::exact;  ///< what to do with sequences that are not N long
  Index fourier_from = fourier_crossover;            ///< tokens from which a Toeplitz form goes by Fourier transform
  Index outputs = 0;                                 ///< M, the tokens that it makes of N; 0 for as many

  Index rows() const { return outputs > 0 ? outputs : length; }
};

/// What a layer asks whose spatial projections, the first of which asks `of_tokens`, make as many tokens as it takes.
inline Contract contract_over_tokens(Contract of_tokens, Index channels) {
  of_tokens.in = of_tokens.out = channels;
  of_tokens.of_rows = of_tokens.rows = 1;
  return of_tokens;
}

/// y = W v + b over the tokens of each sequence: f_{W,b} of the gMLP paper (arXiv:2105.08050, eq. 4).
///
/// y[i, c] = Σ_j W[head(c), i, j] · v[j, c] + b[head(c), i]; with `causal` the terms j > i are left out: nothing of a later
/// token reaches an earlier one, be it infinite. A dense or Toeplitz weight is read where it lies; masked and scaled ones are
/// expanded in scratch, 128 rows at a time. A Toeplitz weight never holds N² numbers, and sequences of fourier_from tokens and
/// more meet it by Fourier transform: the same numbers within a few times the rounding of the largest. Of a causal one,
/// sequences of six times as many do, in tiles; a stream takes other tiles, so that its steps are rows of the batch within the
/// same rounding, and none waits for a large tile: see mix_tokens().
/// With `outputs` it makes M tokens of the N of each sequence.
/// Shapes: v is rows × C, y as many, or with `outputs` rows / N · M.
/// Errors: ShapeError for a sequence of another length (see LengthPolicy) or for channels that the heads do not divide;
/// ArgumentError for a stream of a weight that is not causal.
/// Cost: 2·N²·C flops per sequence, about half of it when causal; by transform see mix_tokens().
template <class T>
struct SpatialProjection : Layer<SpatialProjection<T>> {
  static constexpr const char* name = "SpatialProjection";

  SpatialProjectionConfig config;
  Matrix<T> weight;      ///< dense: (heads·M) × N; toeplitz: heads × (2N-1); scaled_toeplitz: heads × N
  Matrix<T> bias;        ///< heads × M
  Matrix<T> position_x;  ///< heads × N, scaled_toeplitz only
  Matrix<T> position_y;  ///< heads × N, scaled_toeplitz only

  SpatialProjection() = default;
  /// Weights that nobody has set, and biases of 1, as a gate has them.
  explicit SpatialProjection(const SpatialProjectionConfig& c) : config(c) {
    require<ArgumentError>(c.length > 0 && c.heads > 0, "SpatialProjection: length = ", c.length, " and heads = ", c.heads,
                           " must be positive.");
    require<ArgumentError>(c.fourier_from > 0, "SpatialProjection: fourier_from = ", c.fourier_from,
                           " must be positive. For none, give it more than length.");
    require<ArgumentError>(c.outputs >= 0, "SpatialProjection: outputs = ", c.outputs, " must not be negative.");
    require<ArgumentError>(c.outputs == 0 || (c.form == SpatialForm::dense && !c.causal),
                           "SpatialProjection: outputs = ", c.outputs,
                           " needs a dense weight that is not causal. Leave it 0 for the others.");
    const bool scaled = c.form == SpatialForm::scaled_toeplitz;
    weight = c.form == SpatialForm::dense
                 ? unset_weight<T>(Count(c.heads) * c.rows(), c.length, name)
                 : unset_weight<T>(c.heads, scaled ? Count(c.length) : Count(c.length) + (c.length - 1), name);
    bias = Matrix<T>::Ones(c.heads, c.rows());
    position_x = position_y = Matrix<T>::Ones(scaled ? c.heads : 0, scaled ? c.length : 0);
  }

  /// One with biases of 0: a linear layer over the tokens.
  static SpatialProjection linear(const SpatialProjectionConfig& c) {
    SpatialProjection projection(c);
    projection.bias.setZero();
    return projection;
  }

  static constexpr auto fields() {
    return std::tuple(field("weight", &SpatialProjection::weight, Role::spatial, &SpatialProjection::weight_shape),
                      field("bias", &SpatialProjection::bias, Role::spatial),
                      field("position_x", &SpatialProjection::position_x, Role::spatial),
                      field("position_y", &SpatialProjection::position_y, Role::spatial));
  }

  Shape weight_shape() const {
    return config.form == SpatialForm::dense ? Shape{config.heads, config.rows(), config.length}
                                             : Shape{weight.rows(), weight.cols()};
  }

  /// Xavier-uniform weights: the start of a linear layer over the tokens.
  void fill_xavier(Random& random) {
    fill_uniform(weight, std::sqrt(6.0 / static_cast<double>(config.length + config.rows())), random);
  }

  /// As Linear starts.
  void initialize(Random& random) {
    fill_xavier(random);
    fill_normal(bias, 1e-6, random);
  }

  /// PyTorch's start of a linear layer over the tokens: weights and biases uniform in ±1 / √N.
  void initialize_as_pytorch(Random& random) {
    const double bound = 1 / std::sqrt(static_cast<double>(config.length));
    fill_uniform(weight, bound, random);
    fill_uniform(bias, bound, random);
  }

  /// True if row i never looks at a token after i.
  bool is_causal() const { return config.causal || config.form == SpatialForm::scaled_toeplitz; }

  /// What the op takes.
  SpatialWeight<T> parameters() const {
    return {config.form, config.length, config.heads, is_causal(),        &weight,
            &position_x, &position_y,   &bias,        config.fourier_from};
  }

  /// Keeps the transform of a Toeplitz weight, if it is used: see prepare().
  void prepare(PreparedWeights<T>& prepared) const {
    if (parameters().is_transformed(config.length)) {
      const detail::fourier::Products<T> products{parameters()};
      const Index size = products.prepared_size();
      products.transform_all(prepared.add(weight.data(), 1, size, 1, weight.size()));
    }
  }

  /// W of `head` for `length` tokens, written out: what the projection multiplies with. Zeros where it is masked.
  /// Errors: ArgumentError for a head or a length that the weight does not have.
  Matrix<T> effective_weight(Index head, Index length) const {
    require<ArgumentError>(head >= 0 && head < config.heads && length >= 0 && length <= config.length,
                           "SpatialProjection::effective_weight: head = ", head, " and length = ", length, ", expected 0 … ",
                           config.heads - 1, " and 0 … ", config.length, ".");
    Matrix<T> w(config.outputs > 0 ? config.outputs : length, length);
    for (Index i = 0; i < w.rows(); ++i) {
      parameters().expand_row(head, i, length, &w.coeffRef(i, 0));
    }
    return w;
  }

  /// Multiplies the top-left corner of every head's W with `mask`, which is n × n, or 1 × n for all rows alike; n ≤ N. A mask
  /// of zeros and ones takes connections away for good.
  /// Errors: ArgumentError unless W is dense, ShapeError for another mask.
  void apply_mask(ConstView<T> mask) {
    const Index n = mask.cols();
    require<ArgumentError>(config.outputs == 0, "SpatialProjection::apply_mask: with outputs = ", config.outputs,
                           " rows of W are no tokens of x.");
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

  Contract contract() const {
    const bool is_square = config.outputs == 0;
    const bool takes_shorter = config.causal || (config.length_policy == LengthPolicy::slice && is_square);
    return {.of_rows = is_square ? 1 : config.length,
            .rows = is_square ? 1 : config.outputs,
            .sees = is_causal() ? Sees::past : Sees::all,
            .shortest = takes_shorter ? 0 : config.length,
            .longest = config.length,
            .remedy = is_square ? " Resize the spatial weight; for shorter sequences, length_policy = slice uses its corner."
                                : " Its weights have a column for each token: build it with length = the tokens of a sequence.",
            .unstreamable = is_square ? nullptr : "No MLP over tokens can be."};
  }

  auto apply(auto& run, const auto& v, const auto& then) const {
    require<ShapeError>(run.columns(v) % config.heads == 0, name, ": v has ", run.columns(v),
                        " channels, which heads = ", config.heads, " does not divide.");
    expect_set(run, "weight", weight);
    return mix_tokens(run, parameters(), v, then);
  }
};

}  // namespace gated
