#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// The gated feed-forward: SwiGLU and its kin.

namespace gated {

/// The options of a gated feed-forward. Its activation gives it its name: GLU with sigmoid, bilinear with identity, ReGLU,
/// GEGLU, SwiGLU.
struct GluFeedForwardConfig {
  Index channels = 0;                        ///< C, of the input
  Index hidden = 0;                          ///< F, of the gate and of what it multiplies; timm's GluMlp counts both
  Index out = 0;                             ///< channels of the output; 0 for C
  Activation activation = Activation::silu;  ///< of the gate
  bool bias = true;                          ///< b_g and b_u
  bool out_bias = true;                      ///< b_o
  NormForm norm = NormForm::none;            ///< of the product, before W_o
  double norm_eps = 1e-5;                    ///< ε of that norm

  Index out_channels() const { return out > 0 ? out : channels; }

  template <class C = GluFeedForwardConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("out", &C::out),
                      setting("activation", &C::activation), setting("bias", &C::bias), setting("out_bias", &C::out_bias),
                      setting("norm", &C::norm), setting("norm_eps", &C::norm_eps));
  }
};

/// y = W_o norm(act(W_g x + b_g) ⊙ (W_u x + b_u)) + b_o, token by token (arXiv:2002.05202).
///
/// The gate joins the second product before that is stored. In a body, run(layer, x, {.residual = …}) fuses what follows into
/// the last product: see Fused.
/// Shapes: x is N × C, y is N × out; y may be x.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: 2·N·F·(2·C + out) flops; scratch N × F.
template <class T>
struct GluFeedForward : TokenLayer<GluFeedForward<T>, T> {
  using Scalar = T;
  using Config = GluFeedForwardConfig;
  template <class Run>
  using Options = Fused<Run>;
  static constexpr const char* name = "GluFeedForward";
  static constexpr const char* architecture = "gated.GluFeedForward";

  GluFeedForwardConfig config;
  Linear<T> gate;      ///< W_g: F × C
  Linear<T> up;        ///< W_u: F × C
  Norm<T> norm;        ///< F
  Linear<T> proj_out;  ///< W_o: out × F

  GluFeedForward() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit GluFeedForward(const GluFeedForwardConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.hidden > 0 && c.out >= 0, name, ": channels = ", c.channels,
                           " and hidden = ", c.hidden, " must be positive, and out = ", c.out, " must not be negative.");
    gate = up = Linear<T>(c.channels, c.hidden, c.bias);
    norm = Norm<T>(c.hidden, c.norm_eps, c.norm);
    proj_out = Linear<T>(c.hidden, c.out_channels(), c.out_bias);
  }
  /// With initial parameters, as initialize() draws them.
  GluFeedForward(const GluFeedForwardConfig& c, Random& random) : GluFeedForward(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const GluFeedForwardConfig& c) {
    return 2 * Linear<T>::value_count(c.channels, c.hidden, c.bias) + Norm<T>::value_count(c.hidden, c.norm) +
           Linear<T>::value_count(c.hidden, c.out_channels(), c.out_bias);
  }

  static constexpr auto fields() {
    using G = GluFeedForward;
    return std::tuple(field("gate", &G::gate), field("up", &G::up), field("norm", &G::norm), field("proj_out", &G::proj_out));
  }

  Index in() const { return config.channels; }
  Index out() const { return config.out_channels(); }

  /// timm's start where there are biases: a gate of N(0, 1e-6) with a bias of 1, so that it begins as an MLP without
  /// activation.
  void initialize(Random& random) {
    initialize_sublayers(*this, random);
    if (config.bias) {
      fill_normal(gate.weight, 1e-6, random);
      gate.bias.setOnes();
    }
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Fused<Run>& fused, const PlaceOf<Run>& to) const {
    const auto g = run(gate, x, {.activation = config.activation});  // N × F
    const auto gated = run(up, x, {.gate = g}, run.over(g));         // N × F, in place of the gate
    const auto normed = run(norm, gated, {}, run.over(gated));       // N × F
    return run(proj_out, normed, fused, to);                         // N × out
  }
};

}  // namespace gated
