#pragma once

#include "gated/core/mask.hpp"
#include "gated/layers/gated_attention_unit_config.hpp"
#include "gated/layers/offset_scale.hpp"

/// @file
/// The gated attention unit with quadratic scores (GAU; Hua et al., arXiv:2202.10447).

namespace gated {

/// What streaming keeps of one causal sequence in one GAU: keys and values of every token so far.
template <class T>
struct GatedAttentionUnitState {
  Matrix<T> keys;    ///< L × S
  Matrix<T> values;  ///< L × E

  std::size_t bytes() const { return sizeof(T) * static_cast<std::size_t>(keys.size() + values.size()); }
};

/// y = x + (u ⊙ A v) W_o with (u, v, z) = act(norm(x) W), q and k scaled and shifted copies of z, and
/// A = relu²(q kᵀ / n + B) or another kernel (arXiv:2202.10447, eq. 3 to 6).
///
/// Shapes: x is rows × C, y is rows × out. `mask` holds a 0 or 1 per row, or nothing. Sequences may differ in length; n is each
/// one's own. Errors: ArgumentError when built; ShapeError for wrong sizes, a mask of another length, a sequence without any
/// unmasked token, or more positions than a Toeplitz bias holds. Cost: 2·rows·(3·C·E + C·S) + 2·N²·(S + E) flops a sequence,
/// the second half of which halves when causal; scratch rows × (C + 2E + 3S) + 256·N.
template <class T>
struct GatedAttentionUnit {
  using Scalar = T;
  using Config = GatedAttentionUnitConfig;
  static constexpr const char* architecture = "gated.GatedAttentionUnit";

  GatedAttentionUnitConfig config;
  Norm<T> norm;
  GatedProjection<T> projection;
  OffsetScale<T> offset_scale;  ///< rows q, k
  RotaryEmbedding<T> rotary;
  RelativeBias<T> relative_bias;
  Linear<T> proj_out;
  Vector<T> residual_scale;  ///< C, or empty

  GatedAttentionUnit() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit GatedAttentionUnit(const GatedAttentionUnitConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.value > 0 && c.query_key > 0, "GatedAttentionUnit: channels = ", c.channels,
                           ", value = ", c.value, ", query_key = ", c.query_key, " must be positive.");
    config.out = c.out > 0 ? c.out : c.channels;
    require<ArgumentError>(c.residual == Residual::none || config.out == c.channels, "GatedAttentionUnit: out = ", c.out,
                           " differs from channels = ", c.channels, ", so there can be no residual. Set residual = none.");
    require<ArgumentError>(c.score_scale != ScoreScale::max_length || c.max_length > 0,
                           "GatedAttentionUnit: score_scale = "
                           "max_length needs max_length, the number of positions that the model is made for.");
    const Index rotated = c.rotary_dimensions > 0 ? c.rotary_dimensions : c.query_key;
    require<ArgumentError>(c.rotary == Rotary::none || rotated <= c.query_key,
                           "GatedAttentionUnit: rotary_dimensions = ", c.rotary_dimensions,
                           ", expected at most query_key = ", c.query_key, ".");
    norm = Norm<T>(c.norm, c.norm_position == NormPosition::pre ? c.channels : config.out, c.norm_eps);
    projection = GatedProjection<T>(c.channels, c.value, c.query_key, c.projection, c.bias, c.activation);
    offset_scale = OffsetScale<T>(2, c.query_key, c.offset_bias);
    rotary = RotaryEmbedding<T>(c.rotary, rotated, c.rotary_base);
    relative_bias = RelativeBias<T>(c.relative_bias, c.causal, static_cast<T>(c.relative_bias_scale), c.max_length);
    proj_out = Linear<T>(c.value, config.out, c.bias);
    residual_scale = Vector<T>::Ones(c.residual == Residual::scaled ? config.out : 0);
  }
  /// The starting values of a training.
  GatedAttentionUnit(const GatedAttentionUnitConfig& c, Random& random) : GatedAttentionUnit(c) { initialize(random); }

  static constexpr auto fields() {
    using G = GatedAttentionUnit;
    return std::tuple{field("norm", &G::norm),
                      field("projection", &G::projection),
                      field("offset_scale", &G::offset_scale),
                      field("rotary", &G::rotary),
                      field("relative_bias", &G::relative_bias),
                      field("proj_out", &G::proj_out),
                      field("residual_scale", &G::residual_scale, Role::norm)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    projection.initialize(random);
    offset_scale.initialize(random);
    relative_bias.initialize(random);
    proj_out.initialize(random);
  }

  /// y for all sequences at once. y may be x where `out` is C.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace, Mask mask = {}) const {
    const Matrix<T> no_bias;
    forward_with(x, sequences, mask, no_bias, y, workspace);
  }

  /// With `bias` (n × n, n the longest sequence) added to the scores of every sequence, beside the relative bias.
  void forward(ConstView<T> x, const Sequences& sequences, ConstView<T> bias, View<T> y, Workspace<T>& workspace,
               Mask mask = {}) const {
    check_bias(bias, sequences);
    forward_with(x, sequences, mask, bias, y, workspace);
  }

  /// forward() without `bias`, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace, Mask mask = {}) const {
    Matrix<T> y(x.rows(), config.out);
    forward(x, sequences, y, workspace, mask);
    return y;
  }

  /// The memory of an empty sequence of up to `capacity` tokens. Errors: ArgumentError where streaming is impossible.
  GatedAttentionUnitState<T> start(Index capacity) const {
    require<ArgumentError>(capacity >= 0, "GatedAttentionUnit::start: capacity = ", capacity, " must not be negative.");
    expect_streaming("GatedAttentionUnit::start");
    relative_bias.expect_length("GatedAttentionUnit::start", capacity);
    return {Matrix<T>::Zero(capacity, config.query_key), Matrix<T>::Zero(capacity, config.value)};
  }

  /// forward() for the tokens from position `first` on of one sequence, whose earlier tokens are in `state`; they join it.
  /// Errors: ShapeError for sizes and past the state's capacity, ArgumentError for another unit's state; nothing is changed
  /// then. Cost: beside the projections 2·t·(S + E) flops for a token at position t.
  void extend(ConstView<T> x, Index first, GatedAttentionUnitState<T>& state, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("GatedAttentionUnit::extend", "x", x, "channels", config.channels);
    expect_shape<T>("GatedAttentionUnit::extend", "y", y, x.rows(), config.out);
    expect_streaming("GatedAttentionUnit::extend");
    const Index capacity = state.keys.rows();
    require<ArgumentError>(
        state.keys.cols() == config.query_key && state.values.cols() == config.value && state.values.rows() == capacity,
        "GatedAttentionUnit::extend: the state belongs to a unit of other widths. Make it with start() of this "
        "unit.");
    expect_positions("GatedAttentionUnit::extend", x.rows(), first, capacity,
                     "that the state was made for. Start with a larger capacity.");
    relative_bias.expect_length("GatedAttentionUnit::extend", first + x.rows());
    const auto frame = workspace.frame();
    take_for_later_steps<T>(capacity - first, workspace);
    const Sequences sequences = Sequences::single(x.rows());
    const Index seen = first + x.rows();
    run(x, y, workspace, [&](auto& parts, View<T> q, View<T> k) {
      rotary.forward(sequences, first, workspace, q, k);
      state.keys.middleRows(first, x.rows()) = k;
      state.values.middleRows(first, x.rows()) = parts.v;
      Scoring<T> scoring = scoring_for(seen, seen);
      scoring.relative = relative_bias.for_length(seen, workspace);
      attend<T>(q, state.keys.topRows(seen), state.values.topRows(seen), first, scoring, parts.u, workspace.at("weights", 0),
                Multiply<T>(parts.u));
    });
  }

  /// Raises ArgumentError where streaming is impossible.
  void expect_streaming(const char* where) const {
    require<ArgumentError>(config.causal, where,
                           ": the unit is not causal, so a token's output depends on later "
                           "tokens. Build it with causal = true to stream.");
    require<ArgumentError>(
        config.score_scale != ScoreScale::length, where,
        ": the scores are divided by the "
        "length of the whole sequence, which streaming does not know. Set score_scale = max_length or sqrt_width.");
    require<ArgumentError>(!config.divide_by_keys && config.kernel != ScoreKernel::softmax_plus, where,
                           ": the weights depend on the number of all keys, which streaming does not know. "
                           "Set divide_by_keys = false and another kernel than softmax_plus.");
  }

  /// Raises ShapeError unless forward() takes x with these sequences and this mask.
  void check(const ConstView<T>& x, const Sequences& sequences, Mask mask) const {
    constexpr const char* where = "GatedAttentionUnit::forward";
    expect_columns<T>(where, "x", x, "channels", config.channels);
    sequences.expect_total(where, x.rows());
    relative_bias.expect_length(where, sequences.longest());
    expect_mask(where, mask, sequences);
  }

  /// Raises ShapeError unless `bias` covers the scores of every sequence.
  static void check_bias(const ConstView<T>& bias, const Sequences& sequences) {
    const Index n = sequences.longest();
    require<ShapeError>(bias.rows() >= n && bias.cols() >= n, "GatedAttentionUnit::forward: bias is ", bias.rows(), " × ",
                        bias.cols(), ", expected at least ", n, " × ", n, " (query × key).");
  }

  /// What the scores depend on besides queries and keys, of all sequences.
  struct ScoreTerms {
    Mask mask;
    const T* visible = nullptr;   // the mask as numbers
    const T* relative = nullptr;  // by offset
    const T* bias = nullptr;      // query × key
    Index bias_stride = 0;
  };

  /// How sequence b is scored.
  Scoring<T> scoring(const Sequences& sequences, Index b, const ScoreTerms& terms) const {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    Scoring<T> result = scoring_for(length, terms.mask.empty() ? length : unmasked(terms.mask, offset, length));
    result.relative = terms.relative;
    result.bias = terms.bias;
    result.bias_stride = terms.bias_stride;
    result.keys = terms.visible == nullptr ? nullptr : terms.visible + offset;
    result.queries = config.mask_mode == MaskMode::keys_and_queries ? result.keys : nullptr;
    return result;
  }

 private:
  /// The scales for a sequence of `length` tokens of which `keys` are unmasked.
  Scoring<T> scoring_for(Index length, Index keys) const {
    Scoring<T> scoring{.kernel = config.kernel, .bias_inside = config.bias_inside_scale, .causal = config.causal};
    switch (config.score_scale) {
      case ScoreScale::length:
        scoring.scale = T{1} / static_cast<T>(length);
        break;
      case ScoreScale::max_length:
        scoring.scale = T{1} / static_cast<T>(config.max_length);
        break;
      case ScoreScale::sqrt_width:
        scoring.scale = T{1} / std::sqrt(static_cast<T>(config.query_key));
        break;
      case ScoreScale::one:
        break;
    }
    if (config.kernel == ScoreKernel::softmax_plus) {
      scoring.scale *= std::log(static_cast<T>(std::max<Index>(keys, 1))) / std::log(T{512});
    }
    if (config.divide_by_keys) {
      scoring.weight_scale = T{1} / static_cast<T>(keys);
    }
    return scoring;
  }

  void forward_with(const ConstView<T>& x, const Sequences& sequences, Mask mask, const ConstView<T>& bias, View<T> y,
                    Workspace<T>& workspace) const {
    check(x, sequences, mask);
    expect_shape<T>("GatedAttentionUnit::forward", "y", y, x.rows(), config.out);
    run(x, y, workspace, [&](auto& parts, View<T> q, View<T> k) {
      rotary.forward(sequences, 0, workspace, q, k);
      const ScoreTerms terms{.mask = mask,
                             .visible = mask_values(mask, workspace),
                             .relative = relative_bias.for_length(sequences.longest(), workspace),
                             .bias = bias.size() > 0 ? bias.data() : nullptr,
                             .bias_stride = bias.outerStride()};
      for (Index b = 0; b < sequences.count(); ++b) {
        const Index offset = sequences.offset(b), length = sequences.length(b);
        View<T> gated = parts.u.middleRows(offset, length);
        attend<T>(q.middleRows(offset, length), k.middleRows(offset, length), parts.v.middleRows(offset, length), 0,
                  scoring(sequences, b, terms), gated, workspace.at("weights", b), Multiply<T>(gated));
      }
    });
  }

  /// Everything but the mixing of tokens, which `mix(parts, q, k)` does: it puts u ⊙ A v in the place of u.
  template <class Mix>
  void run(const ConstView<T>& x, View<T> y, Workspace<T>& workspace, const Mix& mix) const {
    const auto frame = workspace.frame();
    const bool pre = config.norm_position == NormPosition::pre;
    MatrixMap<T> normalised = workspace.matrix(pre ? x.rows() : 0, x.cols());
    if (pre) {
      norm.forward(x, normalised, workspace.at("norm"));
    }
    auto parts = projection.forward(pre ? ConstView<T>(normalised) : x, workspace.at("projection"));
    MatrixMap<T> q = workspace.matrix(x.rows(), config.query_key), k = workspace.matrix(x.rows(), config.query_key);
    offset_scale.forward(0, parts.z, q, workspace);
    offset_scale.forward(1, parts.z, k, workspace);
    mix(parts, q, k);
    add_residual<T>(proj_out, config.residual, residual_scale, parts.u, x, y, workspace);
    if (config.norm_position == NormPosition::post) {
      norm.forward(y, y, workspace.at("norm"));
    }
    workspace.show(y);
  }
};

}  // namespace gated
