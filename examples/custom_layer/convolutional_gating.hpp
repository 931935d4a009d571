#pragma once

#include "depthwise_convolution.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer_norm.hpp"
#include "gated/layers/linear.hpp"
#include "gated/ops/activation.hpp"

/// @file
/// cgMLP, the convolutional gating MLP of E-Branchformer (arXiv:2210.00077): a gMLP whose tokens are mixed by a convolution.

namespace speech {

/// The options of a cgMLP.
struct ConvolutionalGatingConfig {
  Index channels = 0;  ///< C, of the input and the output
  Index hidden = 0;    ///< F, behind the first projection; the gate halves it
  Index kernel = 31;   ///< K, in tokens; odd
  gated::Activation gate_activation = gated::Activation::identity;
  double norm_eps = 1e-5;  ///< wenet's; ESPnet has 1e-12

  static constexpr auto fields() {
    using C = ConvolutionalGatingConfig;
    return std::tuple{gated::setting("channels", &C::channels), gated::setting("hidden", &C::hidden),
                      gated::setting("kernel", &C::kernel), gated::setting("gate_activation", &C::gate_activation),
                      gated::setting("norm_eps", &C::norm_eps)};
  }
};

/// y = u ⊙ act(conv(LN(v))), where (u, v) are the halves of x: the Convolutional Spatial Gating Unit.
///
/// Shapes: x is N × F, y is N × F/2 and must not overlap x. Errors: ArgumentError when built; ShapeError when run.
/// Cost: N·F·K flops; scratch N × F/2.
template <class T>
struct ConvolutionalGatingUnit {
  using Scalar = T;

  gated::Activation activation = gated::Activation::identity;
  gated::LayerNorm<T> norm;
  Matrix<T> weight;  // F/2 × K
  Vector<T> bias;    // F/2

  ConvolutionalGatingUnit() = default;
  ConvolutionalGatingUnit(Index hidden, Index kernel, gated::Activation gate_activation, double norm_eps)
      : activation(gate_activation) {
    gated::require<gated::ArgumentError>(hidden > 0 && hidden % 2 == 0, "ConvolutionalGatingUnit: hidden = ", hidden,
                                         ", expected a positive even number: the input is split in halves.");
    gated::require<gated::ArgumentError>(kernel > 0 && kernel % 2 == 1, "ConvolutionalGatingUnit: kernel = ", kernel,
                                         ", expected an odd number, so that it has a middle.");
    norm = gated::LayerNorm<T>(hidden / 2, norm_eps);
    weight = Matrix<T>::Zero(hidden / 2, kernel);
    bias = Vector<T>::Ones(hidden / 2);
  }

  static constexpr auto fields() {
    using U = ConvolutionalGatingUnit;
    return std::tuple{gated::field("norm", &U::norm),
                      gated::field("conv.weight", &U::weight, gated::Role::spatial, &U::weight_shape),
                      gated::field("conv.bias", &U::bias, gated::Role::spatial)};
  }

  /// As Conv1d stores it.
  gated::Shape weight_shape() const { return {weight.rows(), 1, weight.cols()}; }
  Index out() const { return weight.rows(); }

  /// ESPnet's start: kernels near zero and biases of one, so that the unit passes u on.
  void initialize(gated::Random& random) {
    gated::fill_normal(weight, 1e-6, random);
    bias.setOnes();
  }

  /// Raises ShapeError unless x has the channels and rows that forward() takes.
  void check(const ConstView<T>& x, const Sequences& sequences) const {
    gated::expect_columns<T>("ConvolutionalGatingUnit::forward", "x", x, "hidden", 2 * out());
    sequences.expect_total("ConvolutionalGatingUnit::forward", x.rows());
  }

  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences);
    gated::expect_shape<T>("ConvolutionalGatingUnit::forward", "y", y, x.rows(), out());
    const auto frame = workspace.frame();
    MatrixMap<T> v = workspace.matrix(x.rows(), out());
    norm.forward(x.rightCols(out()), v, workspace.at("norm"));
    gated::with_activation(activation, [&](auto act) {
      depthwise_convolution<T>(
          v, weight, bias, sequences, false, y, workspace, [act](gated::Position, Simd<T> value) { return act.value(value); },
          gated::Multiply<T>(x.leftCols(out())));
    });
    workspace.show(y);
  }
};

/// y = W₂ csgu(GELU(W₁ x + b₁)) + b₂.
///
/// Shapes: x and y are N × C. Errors: ArgumentError when built; ShapeError when run. Cost: 3·N·C·F + N·F·K flops.
template <class T>
struct ConvolutionalGatingMlp {
  using Scalar = T;
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* architecture = "speech.ConvolutionalGatingMlp";

  ConvolutionalGatingConfig config;
  gated::Linear<T> channel_proj1;
  ConvolutionalGatingUnit<T> csgu;
  gated::Linear<T> channel_proj2;

  ConvolutionalGatingMlp() = default;
  explicit ConvolutionalGatingMlp(const ConvolutionalGatingConfig& c)
      : config(c),
        channel_proj1(c.channels, c.hidden),
        csgu(c.hidden, c.kernel, c.gate_activation, c.norm_eps),
        channel_proj2(c.hidden / 2, c.channels) {}
  ConvolutionalGatingMlp(const ConvolutionalGatingConfig& c, gated::Random& random) : ConvolutionalGatingMlp(c) {
    initialize(random);
  }

  static constexpr auto fields() {
    using M = ConvolutionalGatingMlp;
    return std::tuple{gated::field("channel_proj1", &M::channel_proj1), gated::field("csgu", &M::csgu),
                      gated::field("channel_proj2", &M::channel_proj2)};
  }

  void initialize(gated::Random& random) {
    channel_proj1.initialize(random);
    csgu.initialize(random);
    channel_proj2.initialize(random);
  }

  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    sequences.expect_total("ConvolutionalGatingMlp::forward", x.rows());
    const auto frame = workspace.frame();
    MatrixMap<T> hidden = workspace.matrix(x.rows(), config.hidden);
    MatrixMap<T> gated_half = workspace.matrix(x.rows(), csgu.out());
    channel_proj1.forward(x, hidden, workspace.at("channel_proj1"), gated::Activate{gated::Activation::gelu});
    csgu.forward(hidden, sequences, gated_half, workspace.at("csgu"));
    channel_proj2.forward(gated_half, y, workspace.at("channel_proj2"));
    workspace.show(y);
  }

  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), config.channels);
    forward(x, sequences, y, workspace);
    return y;
  }
};

}  // namespace speech
