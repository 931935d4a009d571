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

/// Policy for sequences shorter than the spatial weight. Longer sequences are an error.
enum class LengthPolicy {
  exact,  ///< an error; if `causal` is set, uses the corner as `slice` does
  slice   ///< uses the top-left corner of W: exact for causal weights, an approximation for others
};

constexpr auto names_of(LengthPolicy) { return words_for<LengthPolicy>("exact", "slice"); }

/// The options of a spatial projection.
struct SpatialProjectionConfig {
  Index length = 0;                                  ///< N, input tokens
  Index heads = 1;                                   ///< number of matrices; head k mixes channels [k·C/heads, (k+1)·C/heads)
  bool causal = false;                               ///< no token sees a later one
  SpatialForm form = SpatialForm::dense;             ///< how W is parameterized
  LengthPolicy length_policy = LengthPolicy::exact;  ///< policy for sequences shorter than N tokens
  Index fourier_from = fourier_crossover;            ///< Toeplitz weights use the FFT from this length: see SpatialProjection
  Index outputs = 0;                                 ///< M, output tokens; 0 for N

  Index rows() const { return outputs > 0 ? outputs : length; }
};

/// The contract of a layer that consists of spatial projections and keeps the number of tokens. `of_tokens` is the contract of
/// the first projection.
inline Contract contract_over_tokens(Contract of_tokens, Index channels) {
  of_tokens.in = of_tokens.out = channels;
  of_tokens.of_rows = of_tokens.rows = 1;
  return of_tokens;
}

/// y = W v + b over the tokens of each sequence: f_{W,b} of the gMLP paper (arXiv:2105.08050, eq. 4).
///
/// y[i, c] = Σ_j W[head(c), i, j] · v[j, c] + b[head(c), i]. With `causal`, the terms j > i are skipped, so later tokens do
/// not affect row i of y, even if they are infinity or NaN. With `outputs`, a sequence of N tokens becomes one of M tokens.
/// Causal weights, which include all scaled Toeplitz weights, are expanded in scratch, 128 rows at a time. Non-causal weights
/// are read in place. Toeplitz weights are never expanded to N² elements, and use the FFT for sequences of at least
/// `fourier_from` tokens or, if causal, six tiles. A tile is `fourier_from` tokens, rounded down to a power of two. The FFT
/// adds a rounding error of a few ulps of the largest value. Streams use other tiles; their outputs equal those of forward()
/// up to the same error. With prepared weights (prepare()), no step waits for a large tile; without them, some steps take
/// hundreds of times as long as the median in long sequences: see mix_tokens().
/// Shapes: v is rows × C; y is rows × C, or (rows / N · M) × C with `outputs`.
/// Errors: ShapeError for a sequence of the wrong length (see LengthPolicy), or channels not divisible by the heads;
/// ArgumentError for invalid options, or if streamed without a causal weight.
/// Cost: 2·N²·C flops per sequence, about half of that if causal. For the FFT, see mix_tokens().
template <class T>
struct SpatialProjection : Layer<SpatialProjection<T>> {
  static constexpr const char* name = "SpatialProjection";

  SpatialProjectionConfig config;
  Matrix<T> weight;      ///< dense: (heads·M) × N; toeplitz: heads × (2N-1); scaled_toeplitz: heads × N
  Matrix<T> bias;        ///< heads × M
  Matrix<T> position_x;  ///< heads × N, scaled_toeplitz only
  Matrix<T> position_y;  ///< heads × N, scaled_toeplitz only

  SpatialProjection() = default;
  /// Uninitialized weights, to be loaded from a checkpoint; biases of 1, as in a gate.
  explicit SpatialProjection(const SpatialProjectionConfig& c) : config(c) {
    require<ArgumentError>(c.length > 0 && c.heads > 0, "SpatialProjection: length = ", c.length, " and heads = ", c.heads,
                           " must be positive.");
    require<ArgumentError>(c.fourier_from > 0, "SpatialProjection: fourier_from = ", c.fourier_from,
                           " must be positive. To disable the FFT, set it above length.");
    require<ArgumentError>(c.outputs >= 0, "SpatialProjection: outputs = ", c.outputs, " must not be negative.");
    require<ArgumentError>(c.outputs == 0 || (c.form == SpatialForm::dense && !c.causal),
                           "SpatialProjection: outputs = ", c.outputs,
                           " needs form = dense and causal = false. Leave it at 0 otherwise.");
    const bool scaled = c.form == SpatialForm::scaled_toeplitz;
    weight = c.form == SpatialForm::dense
                 ? unset_weight<T>(Count(c.heads) * c.rows(), c.length, name)
                 : unset_weight<T>(c.heads, scaled ? Count(c.length) : Count(c.length) + (c.length - 1), name);
    bias = filled_matrix<T>(T{1}, c.heads, c.rows(), name);
    position_x = filled_matrix<T>(T{1}, scaled ? c.heads : 0, scaled ? c.length : 0, name);
    position_y = filled_matrix<T>(T{1}, scaled ? c.heads : 0, scaled ? c.length : 0, name);
  }

  /// A projection with biases of 0: a linear layer over the tokens.
  static SpatialProjection linear(const SpatialProjectionConfig& c) {
    SpatialProjection projection(c);
    projection.bias.setZero();
    return projection;
  }

  static constexpr auto fields() {
    return Fields(field("weight", &SpatialProjection::weight, Role::spatial, &SpatialProjection::weight_shape),
                  field("bias", &SpatialProjection::bias, Role::spatial),
                  field("position_x", &SpatialProjection::position_x, Role::spatial),
                  field("position_y", &SpatialProjection::position_y, Role::spatial));
  }

  Shape weight_shape() const {
    return config.form == SpatialForm::dense ? Shape{config.heads, config.rows(), config.length}
                                             : Shape{weight.rows(), weight.cols()};
  }

  /// Xavier-uniform weights, as for a linear layer over the tokens.
  void fill_xavier(Random& random) {
    fill_uniform(weight, std::sqrt(6.0 / static_cast<double>(config.length + config.rows())), random);
  }

  /// Initializes like Linear::initialize(), but over the tokens.
  void initialize(Random& random) {
    fill_xavier(random);
    fill_normal(bias, 1e-6, random);
  }

  /// PyTorch's initialization of a linear layer over the tokens: weights and biases uniform in ±1 / √N.
  void initialize_as_pytorch(Random& random) {
    const double bound = 1 / std::sqrt(static_cast<double>(config.length));
    fill_uniform(weight, bound, random);
    fill_uniform(bias, bound, random);
  }

  /// True if no output depends on a later token.
  bool is_causal() const { return config.causal || config.form == SpatialForm::scaled_toeplitz; }

  /// The `weight` argument of mix_tokens().
  SpatialWeight<T> parameters() const {
    return {config.form, config.length, config.heads, is_causal(),        &weight,
            &position_x, &position_y,   &bias,        config.fourier_from};
  }

  /// Stores the Fourier transform of a Toeplitz weight, if it uses the FFT: see prepare() in models/prepare.hpp.
  void prepare(PreparedWeights<T>& prepared) const {
    if (parameters().is_transformed(config.length)) {
      const detail::fourier::Products<T> products{parameters()};
      const Index size = products.prepared_size();
      products.transform_all(prepared.add(weight.data(), 1, size, 1, weight.size()));
    }
  }

  /// The matrix W of `head` for `length` tokens; if causal, with zeros above the diagonal.
  /// Errors: ArgumentError for an invalid head or length.
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

  /// Raises ArgumentError unless `outputs` is 0: W then maps N tokens to N.
  void expect_square(Where where) const {
    require<ArgumentError>(config.outputs == 0, where, ": outputs = ", config.outputs,
                           ", expected 0: the rows of W must be tokens of x.");
  }

  /// Multiplies the top-left n × n corner of every head's W elementwise by `mask`, which is n × n, or 1 × n for all rows. A
  /// mask of zeros and ones permanently removes connections between tokens.
  /// Errors: ArgumentError unless W is dense and `outputs` is 0; ShapeError for a mask of the wrong size.
  void apply_mask(ConstView<T> mask) {
    const Index n = mask.cols();
    expect_square("SpatialProjection::apply_mask");
    require<ArgumentError>(config.form == SpatialForm::dense, "SpatialProjection::apply_mask: a ", name_of(config.form),
                           " weight shares its elements between tokens and cannot be masked. Use the dense form.");
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
            .remedy = is_square ? " Resize the spatial weight with resize_length(); for shorter sequences, length_policy = "
                                  "slice uses its corner."
                                : " Build it with length = the number of tokens per sequence.",
            .unstreamable = is_square ? nullptr : "An MLP over tokens needs the whole sequence."};
  }

  auto apply(auto& run, const auto& v, const auto& then) const {
    require<ShapeError>(run.columns(v) % config.heads == 0, name, ": v has ", run.columns(v),
                        " channels, expected a multiple of heads = ", config.heads, ".");
    expect_whole(name, weight.size() > 0);
    expect_set(run, "weight", weight);
    return mix_tokens(run, parameters(), v, then);
  }
};

}  // namespace gated
