#pragma once

#include <utility>

#include "gated/layers/norm.hpp"

/// @file
/// Gated linear units over channels or over tokens.

namespace gated {

/// y = W_o norm(act(W_g x + b_g) ⊙ (W_u x + b_u)) + b_o (arXiv:2002.05202). The configuration defines the norm and the
/// projections: Linear over the channels of each token (GluFeedForward), or SpatialProjection over the tokens of each channel
/// (TokenGlu).
///
/// The product with the gate is fused into the up projection.
/// Shapes: x is rows × C, y is rows × out.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: that of the projections; scratch for the hidden activations.
template <class T, class ConfigType>
struct Glu : Layer<Glu<T, ConfigType>> {
  using Config = ConfigType;
  using Projection = decltype(std::declval<const Config&>().template proj_in<T>());
  static constexpr const char* name = Config::layer_name;
  static constexpr const char* architecture = Config::architecture;

  Config config;
  Projection gate;      ///< W_g
  Projection up;        ///< W_u
  Norm<T> norm;         ///< norm of the product
  Projection proj_out;  ///< W_o

  Glu() = default;
  explicit Glu(const Config& c)
      : config(c.checked()),
        gate(c.template proj_in<T>()),
        up(gate),
        norm(c.template hidden_norm<T>()),
        proj_out(c.template proj_out<T>()) {}
  Glu(const Config& c, Random& random) : Glu(c) { this->initialize(random); }

  static constexpr auto fields() {
    return Fields(field("gate", &Glu::gate), field("up", &Glu::up), field("norm", &Glu::norm),
                  field("proj_out", &Glu::proj_out));
  }

  Contract contract() const { return config.contract(gate.contract()); }

  /// If the gate has a bias, initializes it as timm does: weights from N(0, (1e-6)²) and a bias of 1. The gate is then almost
  /// constant, and training starts from an MLP without activation.
  void initialize(Random& random) {
    initialize_sublayers(*this, random);
    if (gate.bias.size() > 0) {
      fill_normal(gate.weight, 1e-6, random);
      gate.bias.setOnes();
    }
  }

  auto apply(auto& run, auto x, auto then) const {
    auto g = run(gate, x, {.activation = config.activation});
    auto product = run(norm, run(up, std::move(x), {.gate = std::move(g)}));  // overwrites g
    return run(proj_out, std::move(product), std::move(then));
  }
};

}  // namespace gated
