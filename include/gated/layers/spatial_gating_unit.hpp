#pragma once

#include "gated/core/words.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/spatial_projection.hpp"
#include "gated/ops/elementwise.hpp"

/// @file
/// The spatial gating unit: s(·) of the gMLP paper.

namespace gated {

/// The forms of s(Z) that the gMLP paper compares (arXiv:2105.08050, §2.1 and Table 3), with f(V) = W LN(V) + b.
enum class GateForm {
  split,           ///< Z₁ ⊙ f(Z₂), Z split in halves along the channels: the form that is called the SGU (eq. 6)
  multiplicative,  ///< Z ⊙ f(Z) (eq. 5)
  additive,        ///< Z + f(Z)
  linear,          ///< f(Z) (eq. 4)
  identity         ///< Z: tokens are not mixed, there is neither W nor a norm, and sequences may have any length
};

constexpr auto names_of(GateForm) { return words_for<GateForm>("split", "multiplicative", "additive", "linear", "identity"); }

/// The options of a spatial gating unit.
struct SpatialGatingUnitConfig {
  Index channels = 0;                            ///< F, of the input; the split form halves them
  GateForm form = GateForm::split;               ///< the form of s(Z)
  SpatialProjectionConfig spatial{};             ///< of W
  Activation activation = Activation::identity;  ///< of the gate, after the bias and what is added to it
  double norm_eps = 1e-5;                        ///< ε of the norm of v

  /// The channels that leave the unit.
  Index out() const { return form == GateForm::split ? channels / 2 : channels; }
};

/// y = u ⊙ act(W LN(v) + b + a), where (u, v) are the halves of x and `a` is an optional addition (tiny attention).
///
/// The other forms of GateForm replace the product. At initialisation the unit passes its input on: W is near zero and b = 1
/// for the products, b = 0 for the sum, and W = I, b = 0 for the linear form, so that a block starts as a plain feed-forward.
/// With `identity` it stays one: y = act(x + a).
/// In a body, run(unit, x, {.added = a}).
/// Shapes: x is rows × F; y and a are rows × F/2 (split) or rows × F. y must not overlap x, but may take the place of u.
/// Errors: ShapeError for wrong rows, channels or lengths.
/// Cost: N²·F flops per sequence (split), none with `identity`; scratch rows × F/2.
template <class T>
struct SpatialGatingUnit : SequenceLayer<SpatialGatingUnit<T>, T> {
  using Scalar = T;
  /// What it takes besides x.
  template <class Run>
  struct Options {
    RowsOf<Run> added = {};
  };
  static constexpr const char* name = "SpatialGatingUnit";

  SpatialGatingUnitConfig config;
  Norm<T> norm;
  SpatialProjection<T> proj;

  SpatialGatingUnit() = default;
  /// Weights that nobody has set, and biases of 1, or of 0 where the gate does not multiply.
  explicit SpatialGatingUnit(const SpatialGatingUnitConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && (c.form != GateForm::split || c.channels % 2 == 0),
                           "SpatialGatingUnit: channels = ", c.channels, ", expected a positive",
                           c.form == GateForm::split ? " even number: the input is split in halves." : " number.");
    require<ArgumentError>(c.spatial.heads > 0, "SpatialGatingUnit: heads = ", c.spatial.heads, " must be positive.");
    require<ArgumentError>(out() % c.spatial.heads == 0, "SpatialGatingUnit: heads = ", c.spatial.heads,
                           " does not divide the ", out(), " gated channels.");
    if (!mixes_tokens()) {
      return;
    }
    norm = Norm<T>(out(), c.norm_eps);
    proj = SpatialProjection<T>(c.spatial);
    if (!is_product()) {
      proj.bias.setZero();
    }
  }
  /// The values in one of this configuration.
  static Count value_count(const SpatialGatingUnitConfig& c) {
    return c.form == GateForm::identity ? Count(0)
                                        : Norm<T>::value_count(c.out()) + SpatialProjection<T>::value_count(c.spatial);
  }

  static constexpr auto fields() {
    return std::tuple{field("norm", &SpatialGatingUnit::norm), field("proj", &SpatialGatingUnit::proj)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.out(); }
  Index longest() const { return mixes_tokens() ? config.spatial.length : State<T>::unlimited; }
  /// False for the form `identity`.
  bool mixes_tokens() const { return config.form != GateForm::identity; }
  /// True if no output depends on a later token.
  bool is_causal() const { return !mixes_tokens() || proj.is_causal(); }
  void check(Where where, const Sequences& sequences, Mask) const {
    if (mixes_tokens()) {
      proj.expect_lengths(where, sequences);
    }
  }

  /// Near-zero weights, N(0, 1e-6), around the start that GateForm asks for.
  void initialize(Random& random) {
    if (!mixes_tokens()) {
      return;
    }
    fill_normal(proj.weight, 1e-6, random);
    if (config.form == GateForm::linear) {
      add_identity();
    }
  }

  template <class Run>
  RowsOf<Run> apply(Run& run, const RowsOf<Run>& x, const Options<Run>& options, const PlaceOf<Run>& to) const {
    if (!mixes_tokens()) {
      const auto sum = options.added ? add(run, x, options.added, nullptr, to) : x;
      return activate(run, sum, config.activation, to);
    }
    const bool split = config.form == GateForm::split;
    const auto u = split ? run.columns(x, 0, out()) : x;                             // N × F/2
    const auto v = split ? run.columns(x, out(), out()) : x;                         // N × F/2
    const auto normalised = run(norm, v, {}, split ? run.over(v) : PlaceOf<Run>());  // N × F/2, in place of v
    Fused<Run> fused{.added = options.added, .activation = config.activation};
    if (is_product()) {
      fused.gate = u;
    } else if (config.form == GateForm::additive) {
      fused.residual = u;
    }
    return run(proj, normalised, fused, to);  // N × F/2
  }

 private:
  bool is_product() const { return config.form == GateForm::split || config.form == GateForm::multiplicative; }

  void add_identity() {
    const Index n = config.spatial.length;
    for (Index head = 0; head < config.spatial.heads; ++head) {
      switch (config.spatial.form) {
        case SpatialForm::dense:
          proj.weight.middleRows(head * n, n).diagonal().array() += T{1};
          break;
        case SpatialForm::toeplitz:
        case SpatialForm::scaled_toeplitz:
          proj.weight(head, n - 1) += T{1};  // the entry of the main diagonal in both forms
          break;
      }
    }
  }
};

}  // namespace gated
