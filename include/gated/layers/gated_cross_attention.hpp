#pragma once

#include <utility>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/residual.hpp"
#include "gated/ops/attention.hpp"

/// @file
/// The gated attention unit with keys and values from another sequence.

namespace gated {

/// The options of a gated cross-attention.
struct GatedCrossAttentionConfig {
  Index channels = 0;                                      ///< C, channels of the queries' input and of the output
  Index key_channels = 0;                                  ///< channels of the keys' input; 0 for C
  Index value_channels = 0;                                ///< channels of the values' input; 0 for C
  Index value = 0;                                         ///< E, width of u and v
  Index query_key = 128;                                   ///< S, width of q and k
  bool bias = false;                                       ///< adds biases to the projections
  Activation activation = Activation::silu;                ///< activation of u and q
  Activation key_value_activation = Activation::identity;  ///< activation of k and v, as in bert4keras; identity: none
  NormForm norm = NormForm::scale_norm;                    ///< norm of the queries' input
  double norm_eps = 1e-5;                                  ///< ε of the norm
  ScoreKernel kernel = ScoreKernel::relu2;                 ///< maps scores to attention weights
  Residual residual = Residual::scaled;                    ///< residual connection from x, the queries' input

  Index key_width() const { return key_channels > 0 ? key_channels : channels; }
  Index value_width() const { return value_channels > 0 ? value_channels : channels; }
  const GatedCrossAttentionConfig& checked() const {
    require<ArgumentError>(channels > 0 && value > 0 && query_key > 0, "GatedCrossAttention: channels = ", channels,
                           ", value = ", value, " and query_key = ", query_key, " must be positive.");
    require<ArgumentError>(key_channels >= 0 && value_channels >= 0, "GatedCrossAttention: key_channels = ", key_channels,
                           " and value_channels = ", value_channels, " must not be negative.");
    return *this;
  }

  template <class C = GatedCrossAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("key_channels", &C::key_channels),
                  setting("value_channels", &C::value_channels), setting("value", &C::value),
                  setting("query_key", &C::query_key), setting("bias", &C::bias), setting("activation", &C::activation),
                  setting("key_value_activation", &C::key_value_activation), setting("norm", &C::norm),
                  setting("norm_eps", &C::norm_eps), setting("kernel", &C::kernel), setting("residual", &C::residual));
  }
};

/// y = x ⊙ r + (u ⊙ A v) W_o with (u, q) = act(norm(x) W), k = key W_k, v = value W_v, A = kernel(q kᵀ / √S), and the residual
/// scale r: mmpose's cross-attention.
///
/// In a layer's body: run(attention, x, Others<Run>{.key = …, .value = …, .sequences = &others, .mask = …}).
/// Shapes: x and y are rows × C; key and value have one row per token of the other sequences. Sequence b of x attends to
/// sequence b of key and value.
/// Errors: ShapeError; ArgumentError if y overlaps an input, unless y = x.
/// Cost: per sequence of N queries and M keys, 2·N·M·(S + E) flops, plus 2·N·C·(2E + S) + 2·M·(key channels·S + value
/// channels·E) for the projections.
template <class T>
struct GatedCrossAttention : Layer<GatedCrossAttention<T>> {
  using Config = GatedCrossAttentionConfig;
  /// The other sequences: x attends to their keys and values.
  template <class Run>
  struct Others {
    MatrixOf<Run> key = {}, value = {};
    const Sequences* sequences = nullptr;  ///< the sequences in the rows of key and value
    Mask mask = {};                        ///< 0 or 1 per key; keys with a 0 are not attended to
  };
  static constexpr const char* name = "GatedCrossAttention";
  static constexpr const char* architecture = "gated.GatedCrossAttention";

  GatedCrossAttentionConfig config;
  Norm<T> norm;
  Linear<T> proj_in;  ///< (E + S) × C, rows u, q
  Linear<T> proj_key, proj_value, proj_out;
  Vector<T> residual_scale;  ///< C, or empty

  GatedCrossAttention() = default;
  explicit GatedCrossAttention(const GatedCrossAttentionConfig& c)
      : config(c.checked()),
        norm(c.channels, c.norm_eps, c.norm),
        proj_in(c.channels, (Count(c.value) + c.query_key).value(), c.bias),
        proj_key(c.key_width(), c.query_key, c.bias),
        proj_value(c.value_width(), c.value, c.bias),
        proj_out(c.value, c.channels, c.bias),
        residual_scale(filled_vector<T>(T{1}, c.residual == Residual::scaled ? c.channels : 0, name)) {}
  GatedCrossAttention(const GatedCrossAttentionConfig& c, Random& random) : GatedCrossAttention(c) { this->initialize(random); }

  static constexpr auto fields() {
    using G = GatedCrossAttention;
    return Fields(field("norm", &G::norm), field("proj_in", &G::proj_in), field("proj_key", &G::proj_key),
                  field("proj_value", &G::proj_value), field("proj_out", &G::proj_out),
                  field("residual_scale", &G::residual_scale, Role::norm));
  }

  /// `queries` are the sequences in x, and `others` those in key and value. Keys with a 0 in `mask` are not attended to.
  void forward(ConstView<T> x, const Sequences& queries, ConstView<T> key, ConstView<T> value, const Sequences& others,
               View<T> y, Workspace<T>& workspace, Mask mask = {}) const {
    check(x, queries, key, value, others, mask);
    expect_shape<T>({name, "forward"}, "y", y, x.rows(), config.channels);
    expect_apart<T>({name, "forward"}, x, y);
    require<ArgumentError>(!overlap<T>(key, y) && !overlap<T>(value, y), name,
                           "::forward: y overlaps key or value and would overwrite unread input. Use separate memory.");
    const auto frame = workspace.frame();
    Batch<T> run(workspace, queries);
    const auto handle = [](const ConstView<T>& rows) { return RunMatrix<T>(input_view<T>(rows)); };
    run.into(MatrixView<T>(y), *this, input_view<T>(x),
             Others<Batch<T>>{.key = handle(key), .value = handle(value), .sequences = &others, .mask = mask});
  }

  /// Raises the errors of forward() for invalid shapes, sequences or masks.
  void check(const ConstView<T>& x, const Sequences& queries, const ConstView<T>& key, const ConstView<T>& value,
             const Sequences& others, Mask mask, Where where = {name, "forward"}) const {
    expect_columns<T>(where, "x", x, "channels", config.channels);
    expect_columns<T>(where, "key", key, "key_channels", config.key_width());
    expect_columns<T>(where, "value", value, "value_channels", config.value_width());
    queries.expect_total(where, x.rows());
    others.expect_total(where, key.rows());
    require<ShapeError>(key.rows() == value.rows(), where, ": key has ", key.rows(), " rows and value ", value.rows(),
                        ", expected equal numbers: one row per token.");
    require<ShapeError>(queries.count() == others.count(), where, ": ", queries.count(), " sequences of queries and ",
                        others.count(), " of keys, expected equal numbers: sequence b attends to sequence b.");
    expect_mask(where, mask, others, {.softmax = is_softmax(config.kernel)});
  }

  Contract contract() const { return {.in = config.channels, .out = config.channels}; }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, const Others<Run>& given) const {
    expect_all_tokens(run, "cross-attention");
    bool is_given = given.sequences != nullptr;
    if constexpr (Run::records) {  // inference cannot tell an empty matrix from a missing one
      is_given = is_given && given.key && given.value;
    }
    require<ArgumentError>(is_given, name, ": key, value or sequences is missing. Pass all three.");
    const Sequences& others = *given.sequences;
    check(run[x], run.sequences(), run[given.key], run[given.value], others, given.mask, name);
    const Epilogue<Run> of_keys{.activation = config.key_value_activation};
    auto [u, q] = run.split(run(proj_in, run(norm, x), {.activation = config.activation}), config.value, config.query_key);
    const auto k = run(proj_key, given.key, of_keys);      // M × S
    const auto v = run(proj_value, given.value, of_keys);  // M × E
    const T* const visible = mask_values<T>(given.mask, run);
    const auto scoring_of = [this, mask = kept(run, given.mask), visible](const Sequences& all, Index b) {
      return scoring(all, b, mask, visible);
    };
    const AttentionInputs<Run> inputs{.q = q, .k = k, .v = v, .others = &others};
    const auto gated = attend(run, inputs, scoring_of, Epilogue<Run>{.gate = std::move(u)});         // N × E
    return run(proj_out, gated, with_residual<Run>(config.residual, std::move(x), residual_scale));  // N × C
  }

 private:
  /// Kernel, scale and mask for sequence b of `others`; `visible` is the mask as zeros and ones of type T.
  Scoring<T> scoring(const Sequences& others, Index b, Mask mask, const T* visible) const {
    const Index offset = others.offset(b), length = others.length(b);
    Scoring<T> result{.kernel = config.kernel, .scale = T{1} / std::sqrt(static_cast<T>(config.query_key))};
    result.visible_keys = visible == nullptr ? nullptr : visible + offset;
    if (config.kernel == ScoreKernel::softmax_plus) {
      const Index key_count = mask.empty() ? length : unmasked(mask, offset, length);
      result.scale = softmax_plus_scale(key_count, result.scale);
    }
    return result;
  }
};

}  // namespace gated
