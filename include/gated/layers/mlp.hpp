#pragma once

#include <optional>
#include <utility>

#include "gated/layers/token_norm.hpp"

/// @file
/// A multilayer perceptron over channels or tokens.

namespace gated {

/// y = W₂ act(W₁ norm(x) + b₁) + b₂. The configuration defines the norm, if any, and the projections: Linear over channels
/// (FeedForward) or SpatialProjection over tokens (TokenMlp).
///
/// Shapes: x is rows × C, y is rows × out.
/// Errors: ArgumentError for an invalid configuration; ShapeError if x has the wrong shape.
/// Cost: that of the projections; scratch for the hidden activations.
template <class T, class ConfigType>
struct Mlp : Layer<Mlp<T, ConfigType>> {
  using Config = ConfigType;
  using Projection = decltype(std::declval<const Config&>().template proj_in<T>());
  static constexpr const char* name = Config::layer_name;
  static constexpr const char* architecture = Config::architecture;

  Config config;
  std::optional<TokenNorm<T>> norm;
  Projection proj_in;   ///< W₁
  Projection proj_out;  ///< W₂

  Mlp() = default;
  explicit Mlp(const Config& c)
      : config(c.checked()),
        norm(c.template token_norm<T>()),
        proj_in(c.template proj_in<T>()),
        proj_out(c.template proj_out<T>()) {}
  Mlp(const Config& c, Random& random) : Mlp(c) { this->initialize(random); }

  static constexpr auto fields() {
    return Fields(field("norm", &Mlp::norm), field("proj_in", &Mlp::proj_in), field("proj_out", &Mlp::proj_out));
  }

  Contract contract() const { return config.contract(proj_in.contract()); }

  auto apply(auto& run, auto x, auto then) const {
    auto hidden = run(proj_in, norm ? run(*norm, std::move(x)) : std::move(x), {.activation = config.activation});
    return run(proj_out, std::move(hidden), std::move(then));
  }
};

}  // namespace gated
