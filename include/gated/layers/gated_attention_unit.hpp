#pragma once

#include "gated/layers/gated_attention_unit_config.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/ops/attention.hpp"

/// @file
/// The gated attention unit with quadratic scores (GAU; Hua et al., arXiv:2202.10447).

namespace gated {

/// y = x + (u ⊙ A v) W_o with (u, v, z) = act(norm(x) W). Queries q and keys k are scaled and shifted copies of z, and
/// A = relu²(q kᵀ / n + B) or another kernel (arXiv:2202.10447, eq. 3 to 6).
///
/// n is the length of the sequence, B the relative bias. A fully masked sequence attends to nothing: its branch is only the
/// bias of W_o, if there is one; with a softmax kernel, it is an error. In a layer's body: run(unit, x, score_bias).
/// Shapes: x is rows × C, y is rows × out.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes, a mask of the wrong length, or
/// a sequence longer than the Toeplitz bias.
/// Cost: 2·rows·(3·C·E + C·S) flops, plus 2·n²·(S + E) per sequence, half of that if causal. Scratch: rows × (C + 2E + 3S) +
/// 256·n elements. A stream's state has capacity × (S + E) elements.
template <class T>
struct GatedAttentionUnit : Layer<GatedAttentionUnit<T>> {
  using Config = GatedAttentionUnitConfig;
  static constexpr const char* name = "GatedAttentionUnit";
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
  explicit GatedAttentionUnit(const GatedAttentionUnitConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.value > 0 && c.query_key > 0, "GatedAttentionUnit: channels = ", c.channels,
                           ", value = ", c.value, ", query_key = ", c.query_key, " must be positive.");
    require<ArgumentError>(c.out >= 0 && c.rotary_dimensions >= 0, "GatedAttentionUnit: out = ", c.out,
                           " and rotary_dimensions = ", c.rotary_dimensions, " must not be negative.");
    config.out = c.output();
    require<ArgumentError>(c.residual == Residual::none || config.out == c.channels, "GatedAttentionUnit: out = ", c.out,
                           " differs from channels = ", c.channels, ", so there can be no residual. Set residual = none.");
    require<ArgumentError>(c.score_scale != ScoreScale::max_length || c.max_length > 0,
                           "GatedAttentionUnit: score_scale = max_length, but max_length = ", c.max_length,
                           ". Set it to the model's number of positions.");
    require<ArgumentError>(c.rotary == Rotary::none || c.rotated() <= c.query_key,
                           "GatedAttentionUnit: rotary_dimensions = ", c.rotary_dimensions,
                           ", expected at most query_key = ", c.query_key, ".");
    norm = Norm<T>(c.normed(), c.norm_eps, c.norm);
    projection = GatedProjection<T>(c.projections());
    offset_scale = OffsetScale<T>(2, c.query_key, c.offset_bias);
    rotary = RotaryEmbedding<T>(c.rotary, c.rotated(), c.rotary_base);
    relative_bias = RelativeBias<T>(c.relative_bias, c.causal, static_cast<T>(c.relative_bias_scale), c.max_length);
    proj_out = Linear<T>(c.value, config.out, c.bias);
    residual_scale = filled_vector<T>(T{1}, c.residual == Residual::scaled ? config.out : 0, name);
  }
  GatedAttentionUnit(const GatedAttentionUnitConfig& c, Random& random) : GatedAttentionUnit(c) { this->initialize(random); }

  static constexpr auto fields() {
    using G = GatedAttentionUnit;
    return Fields(field("norm", &G::norm), field("projection", &G::projection), field("offset_scale", &G::offset_scale),
                  field("rotary", &G::rotary), field("relative_bias", &G::relative_bias), field("proj_out", &G::proj_out),
                  field("residual_scale", &G::residual_scale, Role::norm));
  }

  Contract contract() const {
    const char* unstreamable = nullptr;
    if (config.score_scale == ScoreScale::length) {
      unstreamable =
          "The scores are divided by the length of the whole sequence, which a stream does not know. Set score_scale = "
          "max_length or sqrt_width.";
    } else if (config.divide_by_keys || config.kernel == ScoreKernel::softmax_plus) {
      unstreamable =
          "The weights depend on the total number of keys, which a stream does not know. Set divide_by_keys = false and a "
          "kernel other than softmax_plus.";
    }
    return {.in = config.channels,
            .out = config.output(),
            .sees = config.causal ? Sees::past : Sees::all,
            .longest = relative_bias.longest(),
            .remedy = RelativeBias<T>::remedy,
            .unstreamable = config.causal ? unstreamable : nullptr,
            .takes_mask = true,
            .mask = {.softmax = is_softmax(config.kernel)}};
  }

  using Layer<GatedAttentionUnit>::forward;
  /// As Layer::forward(), but adds `bias` to each sequence's scores. For sequences of up to n tokens, `bias` is at least n × n.
  void forward(ConstView<T> x, const Sequences& sequences, ConstView<T> bias, View<T> y, Workspace<T>& workspace,
               Mask mask = {}) const {
    constexpr Where where(name, "forward");
    expect_input(where, contract(), x.rows(), x.cols(), sequences, mask);
    check_bias(where, bias, sequences);
    expect_shape<T>(where, "y", y, x.rows(), config.output());
    expect_apart<T>(where, x, y);
    require<ArgumentError>(!overlap<T>(bias, y), where,
                           ": y overlaps bias and would overwrite unread input. Use separate memory.");
    const auto frame = workspace.frame();
    Batch<T> run(workspace, sequences, mask);
    run.into(MatrixView<T>(y), *this, input_view<T>(x), MatrixView<const T>(bias));
  }

  /// Raises ShapeError unless `bias` covers the scores of every sequence.
  static void check_bias(Where where, const ConstView<T>& bias, const Sequences& sequences) {
    const Index n = sequences.longest();
    require<ShapeError>(bias.rows() >= n && bias.cols() >= n, where, ": bias is ", bias.rows(), " × ", bias.cols(),
                        ", expected at least ", n, " × ", n, " (query × key).");
  }

  /// Adds `score_bias`, if given, to the scores of every sequence as a constant; see forward().
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x, const MatrixView<const T>& score_bias = {}) const {
    if (score_bias) {
      check_bias(name, score_bias, run.sequences());
    }
    auto [of_branch, of_norm] = place_residual(config.norm_position, with_residual<Run>(config.residual, x, residual_scale));
    auto input = norm_before(run, config.norm_position, norm, std::move(x));  // N × C
    auto parts = projection.project(run, std::move(input));                   // u, v: N × E; z: N × S
    auto query = run(offset_scale, parts.z, Index{0}), key = run(offset_scale, parts.z, Index{1});
    const auto [q, k] = rotary.rotate(run, std::move(query), std::move(key));  // N × S
    const RelativeBiasTerms<T> relative = relative_bias.terms_within(run, unlimited_reach);
    const ScoreTerms terms{.mask = run.mask(),
                           .visible = mask_values<T>(run.mask(), run),
                           .relative = relative.values,
                           .bias = kept(run, score_bias)};
    const AttentionInputs<Run> inputs{.q = q, .k = k, .v = parts.v, .relative_gradient = relative.gradient};
    const auto scoring_of = [this, terms](const Sequences& sequences, Index b) { return scoring(sequences, b, terms); };
    const auto gated = attend(run, inputs, scoring_of, Epilogue<Run>{.gate = std::move(parts.u)});  // N × E
    auto y = run(proj_out, gated, std::move(of_branch));                                            // N × out
    return norm_after(run, config.norm_position, norm, std::move(y), std::move(of_norm));
  }

 private:
  /// The mask and the biases of the scores, for all sequences.
  struct ScoreTerms {
    Mask mask;
    const T* visible;          // the mask as zeros and ones of type T
    const T* relative;         // the relative bias, indexed by offset
    MatrixView<const T> bias;  // the caller's bias, query × key
  };

  /// Kernel, scale, mask and biases for the scores of sequence b.
  Scoring<T> scoring(const Sequences& sequences, Index b, const ScoreTerms& terms) const {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    const Index key_count = terms.mask.empty() ? length : unmasked(terms.mask, offset, length);
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
      scoring.scale *= softmax_plus_scale<T>(key_count);
    }
    if (config.divide_by_keys) {
      scoring.weight_scale = T{1} / static_cast<T>(std::max<Index>(key_count, 1));
    }
    scoring.relative = terms.relative;
    scoring.bias = terms.bias.data;
    scoring.bias_stride = terms.bias.stride;
    scoring.visible_keys = terms.visible == nullptr ? nullptr : terms.visible + offset;
    scoring.visible_queries = config.mask_mode == MaskMode::keys_and_queries ? scoring.visible_keys : nullptr;
    return scoring;
  }
};

}  // namespace gated
