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
  split,           ///< Z₁ ⊙ f(Z₂) with Z split in halves along the channels: the SGU proper (eq. 6)
  multiplicative,  ///< Z ⊙ f(Z) (eq. 5)
  additive,        ///< Z + f(Z)
  linear,          ///< f(Z) (eq. 4)
  identity         ///< Z: no W, no norm, any length; start() needs a capacity only with attention or token shift
};

constexpr auto names_of(GateForm) { return words_for<GateForm>("split", "multiplicative", "additive", "linear", "identity"); }

/// The options of a spatial gating unit.
struct SpatialGatingUnitConfig {
  Index channels = 0;                            ///< F, channels of the input; the split form outputs F/2
  GateForm form = GateForm::split;               ///< form of s(Z)
  SpatialProjectionConfig spatial{};             ///< options of W
  Activation activation = Activation::identity;  ///< act: activation of the gate, applied to W LN(v) + b + a
  double norm_eps = 1e-5;                        ///< ε of the LayerNorm

  /// Output channels.
  Index out() const { return form == GateForm::split ? channels / 2 : channels; }
};

/// y = u ⊙ act(W LN(v) + b + a), where u and v are the halves of x, and `a` is an optional term: the output of aMLP's tiny
/// attention.
///
/// This is the split form; see GateForm for the others. At initialization the unit hardly mixes tokens, so a block starts as a
/// feed-forward layer: W ≈ 0 with b = 1 (split, multiplicative) or b = 0 (additive), or W ≈ I with b = 0 (linear). With
/// `identity`, y = act(x + a), and a block stays a feed-forward layer.
/// In a layer's body: run(unit, x, a).
/// Shapes: x is rows × F; y and a are rows × F/2 (split) or rows × F.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for a wrong number of rows or channels, or a
/// wrong sequence length.
/// Cost: N²·F flops per sequence of N tokens (split), none with `identity`. Scratch: rows × F/2 elements.
template <class T>
struct SpatialGatingUnit : Layer<SpatialGatingUnit<T>> {
  static constexpr const char* name = "SpatialGatingUnit";

  SpatialGatingUnitConfig config;
  Norm<T> norm;
  SpatialProjection<T> proj;

  SpatialGatingUnit() = default;
  /// Uninitialized weights, to be loaded from a checkpoint; biases of 1, or of 0 if the gate does not multiply.
  explicit SpatialGatingUnit(const SpatialGatingUnitConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && (c.form != GateForm::split || c.channels % 2 == 0),
                           "SpatialGatingUnit: channels = ", c.channels, ", expected a positive",
                           c.form == GateForm::split ? " even number: the input is split in halves." : " number.");
    require<ArgumentError>(c.spatial.heads > 0, "SpatialGatingUnit: heads = ", c.spatial.heads, " must be positive.");
    require<ArgumentError>(c.out() % c.spatial.heads == 0, "SpatialGatingUnit: heads = ", c.spatial.heads,
                           " does not divide the ", c.out(), " gated channels.");
    if (!mixes_tokens()) {
      return;
    }
    norm = Norm<T>(c.out(), c.norm_eps);
    proj = SpatialProjection<T>(c.spatial);
    if (!is_product()) {
      proj.bias.setZero();
    }
  }

  static constexpr auto fields() {
    return Fields(field("norm", &SpatialGatingUnit::norm), field("proj", &SpatialGatingUnit::proj));
  }

  Index out() const { return config.out(); }
  /// True unless the form is `identity`.
  bool mixes_tokens() const { return config.form != GateForm::identity; }

  /// Draws W from N(0, (1e-6)²), plus I for the linear form.
  void initialize(Random& random) {
    if (!mixes_tokens()) {
      return;
    }
    fill_normal(proj.weight, 1e-6, random);
    if (config.form == GateForm::linear) {
      add_identity();
    }
  }

  Contract contract() const {
    Contract contract = mixes_tokens() ? proj.contract() : Contract{.sees = Sees::itself};
    contract.in = config.channels;
    contract.out = config.out();
    return contract;
  }

  /// `added` is the optional term a, or empty.
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x, MatrixOf<Run> added = {}) const {
    if (!mixes_tokens()) {
      return activate(run, added ? add(run, std::move(x), std::move(added)) : std::move(x), config.activation);
    }
    Epilogue<Run> joined{.added = std::move(added), .activation = config.activation};
    if (config.form == GateForm::split) {
      auto [u, v] = run.split(std::move(x), config.out(), config.out());  // N × F/2
      joined.gate = std::move(u);
      return run(proj, run(norm, std::move(v)), std::move(joined));  // N × F/2
    }
    auto normed = run(norm, x);  // N × F
    if (config.form == GateForm::multiplicative) {
      joined.gate = std::move(x);
    } else if (config.form == GateForm::additive) {
      joined.residual = std::move(x);
    }
    return run(proj, std::move(normed), std::move(joined));  // N × F
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
          proj.weight(head, n - 1) += T{1};  // main diagonal: column n - 1 in both Toeplitz forms
          break;
      }
    }
  }
};

}  // namespace gated
