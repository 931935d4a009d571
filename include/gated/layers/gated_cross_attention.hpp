#pragma once

#include "gated/core/mask.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/residual.hpp"
#include "gated/ops/scores.hpp"

/// @file
/// The gated attention unit whose keys and values come from another sequence.

namespace gated {

/// The options of a gated cross-attention.
struct GatedCrossAttentionConfig {
  Index channels = 0;                                      ///< C, of the queries' input and of the output
  Index key_channels = 0;                                  ///< of the keys' input; 0 for C
  Index value_channels = 0;                                ///< of the values' input; 0 for C
  Index value = 0;                                         ///< E
  Index query_key = 128;                                   ///< S
  bool bias = false;                                       ///< of the projections
  Activation activation = Activation::silu;                ///< of u and q
  Activation key_value_activation = Activation::identity;  ///< of k and v; bert4keras has its activation here too
  NormForm norm = NormForm::scale_norm;                    ///< of the queries' input
  double norm_eps = 1e-5;                                  ///< ε of the norm
  ScoreKernel kernel = ScoreKernel::relu2;                 ///< what makes weights of scores
  Residual residual = Residual::scaled;                    ///< the shortcut of the queries' input

  template <class C = GatedCrossAttentionConfig>
  static constexpr auto fields() {
    return std::tuple{setting("channels", &C::channels),
                      setting("key_channels", &C::key_channels),
                      setting("value_channels", &C::value_channels),
                      setting("value", &C::value),
                      setting("query_key", &C::query_key),
                      setting("bias", &C::bias),
                      setting("activation", &C::activation),
                      setting("key_value_activation", &C::key_value_activation),
                      setting("norm", &C::norm),
                      setting("norm_eps", &C::norm_eps),
                      setting("kernel", &C::kernel),
                      setting("residual", &C::residual)};
  }
};

/// y = x ⊙ r + (u ⊙ A v) W_o with (u, q) = act(norm(x) W), k = key W_k, v = value W_v, A = kernel(q kᵀ / √S): mmpose's cross
/// form.
///
/// Shapes: x and y are rows × C; key and value have one row per token of the other sequences, of which there are as many.
/// Errors: ShapeError. Cost: as GatedAttentionUnit with N queries and M keys: 2·N·M·(S + E) flops a sequence,
/// and the projections, 2·N·C·(2E + S) + 2·M·(key channels·S + value channels·E).
template <class T>
struct GatedCrossAttention {
  using Scalar = T;
  using Config = GatedCrossAttentionConfig;
  static constexpr const char* architecture = "gated.GatedCrossAttention";

  GatedCrossAttentionConfig config;
  Norm<T> norm;
  Linear<T> proj_in;  ///< (E + S) × C, rows u, q
  Linear<T> proj_key, proj_value, proj_out;
  Vector<T> residual_scale;  ///< C, or empty

  GatedCrossAttention() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit GatedCrossAttention(const GatedCrossAttentionConfig& c)
      : config(c),
        norm(c.norm, c.channels, c.norm_eps),
        proj_in(c.channels, c.value + c.query_key, c.bias),
        proj_key(c.key_channels > 0 ? c.key_channels : c.channels, c.query_key, c.bias),
        proj_value(c.value_channels > 0 ? c.value_channels : c.channels, c.value, c.bias),
        proj_out(c.value, c.channels, c.bias),
        residual_scale(Vector<T>::Ones(c.residual == Residual::scaled ? c.channels : 0)) {}
  /// The starting values of a training.
  GatedCrossAttention(const GatedCrossAttentionConfig& c, Random& random) : GatedCrossAttention(c) { initialize(random); }

  static constexpr auto fields() {
    using G = GatedCrossAttention;
    return std::tuple{field("norm", &G::norm),         field("proj_in", &G::proj_in),
                      field("proj_key", &G::proj_key), field("proj_value", &G::proj_value),
                      field("proj_out", &G::proj_out), field("residual_scale", &G::residual_scale, Role::norm)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    for (Linear<T>* linear : {&proj_in, &proj_key, &proj_value, &proj_out}) {
      linear->initialize(random);
    }
  }

  /// `queries` splits the rows of x, `others` those of key and value; `mask` takes keys away.
  void forward(ConstView<T> x, const Sequences& queries, ConstView<T> key, ConstView<T> value, const Sequences& others,
               View<T> y, Workspace<T>& workspace, Mask mask = {}) const {
    check(x, queries, key, value, others, mask);
    expect_shape<T>("GatedCrossAttention::forward", "y", y, x.rows(), config.channels);

    const auto frame = workspace.frame();
    MatrixMap<T> normalised = workspace.matrix(x.rows(), x.cols()), uq = workspace.matrix(x.rows(), proj_in.out());
    MatrixMap<T> k = workspace.matrix(key.rows(), config.query_key), v = workspace.matrix(value.rows(), config.value);
    MatrixMap<T> attended = workspace.matrix(x.rows(), config.value);
    norm.forward(x, normalised, workspace.at("norm"));
    proj_in.forward(normalised, uq, workspace.at("proj_in"), Activate{config.activation});
    proj_key.forward(key, k, workspace.at("proj_key"), Activate{config.key_value_activation});
    proj_value.forward(value, v, workspace.at("proj_value"), Activate{config.key_value_activation});
    const T* const visible = mask_values(mask, workspace);
    for (Index b = 0; b < queries.count(); ++b) {
      const auto rows = uq.middleRows(queries.offset(b), queries.length(b));
      attend<T>(rows.rightCols(config.query_key), k.middleRows(others.offset(b), others.length(b)),
                v.middleRows(others.offset(b), others.length(b)), 0, scoring(others, b, mask, visible),
                attended.middleRows(queries.offset(b), queries.length(b)), workspace.at("weights", b),
                Multiply<T>(rows.leftCols(config.value)));
    }
    add_residual<T>(proj_out, config.residual, residual_scale, attended, x, y, workspace);
    workspace.show(y);
  }

  /// Raises ShapeError unless forward() takes these inputs.
  void check(const ConstView<T>& x, const Sequences& queries, const ConstView<T>& key, const ConstView<T>& value,
             const Sequences& others, Mask mask) const {
    constexpr const char* where = "GatedCrossAttention::forward";
    expect_columns<T>(where, "x", x, "channels", config.channels);
    queries.expect_total(where, x.rows());
    others.expect_total(where, key.rows());
    require<ShapeError>(key.rows() == value.rows(), where, ": key has ", key.rows(), " rows and value ", value.rows(),
                        ", expected as many: one a token of the other sequences.");
    require<ShapeError>(queries.count() == others.count(), where, ": ", queries.count(), " sequences of queries, but ",
                        others.count(), " of keys. Each attends to its own.");
    expect_mask(where, mask, others);
  }

  /// How the keys of sequence b of `others` are scored; `visible` is the mask as numbers.
  Scoring<T> scoring(const Sequences& others, Index b, Mask mask, const T* visible) const {
    const Index offset = others.offset(b), length = others.length(b);
    Scoring<T> result{.kernel = config.kernel, .scale = T{1} / std::sqrt(static_cast<T>(config.query_key))};
    result.keys = visible == nullptr ? nullptr : visible + offset;
    if (config.kernel == ScoreKernel::softmax_plus) {
      const Index keys = mask.empty() ? length : unmasked(mask, offset, length);
      result.scale = result.scale * std::log(static_cast<T>(std::max<Index>(keys, 1))) / std::log(T{512});
    }
    return result;
  }
};

}  // namespace gated
