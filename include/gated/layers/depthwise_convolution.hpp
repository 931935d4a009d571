#pragma once

#include <cmath>

#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/depthwise.hpp"

/// @file
/// Depthwise convolution over tokens.

namespace gated {

/// The options of a depthwise convolution.
struct DepthwiseConvolutionConfig {
  Index channels = 0;   ///< C, channels of the output
  Index kernel = 3;     ///< K, taps; odd unless causal
  Index dilation = 1;   ///< tokens from one tap to the next
  Index inputs = 1;     ///< number of adjacent channels of x that each channel of y reads
  bool bias = true;     ///< adds a bias to each channel
  bool skip = false;    ///< adds x to y; needs inputs = 1
  bool causal = false;  ///< true: the last tap reads the token itself; false: the middle tap does

  template <class C = DepthwiseConvolutionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("kernel", &C::kernel), setting("dilation", &C::dilation),
                  setting("inputs", &C::inputs), setting("bias", &C::bias), setting("skip", &C::skip),
                  setting("causal", &C::causal));
  }
};

/// y[t, c] = b[c] + Σ_k w[c, k] · x[t + (k - own) · dilation, c] for inputs = 1, where x is zero outside the token's sequence:
/// PyTorch's Conv1d(C, C, K, groups=C, padding="same") with own = ⌊K/2⌋, or its causal form with own = K - 1.
///
/// In a layer's body, run(conv, x, {.activation = …, .gate = …, .residual = …}) fuses these steps into the convolution: see
/// Epilogue. A stream remembers the last (K - 1) · dilation tokens.
/// Shapes: x is N × (inputs · C), y is N × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError.
/// Cost: 2·N·C·inputs·K flops.
template <class T>
struct DepthwiseConvolution : Layer<DepthwiseConvolution<T>> {
  using Config = DepthwiseConvolutionConfig;
  static constexpr const char* name = "DepthwiseConvolution";

  Config config;
  Matrix<T> weight;  ///< C × (inputs · K)
  Vector<T> bias;    ///< C, or empty

  DepthwiseConvolution() = default;
  explicit DepthwiseConvolution(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.inputs > 0 && c.dilation > 0, name, ": channels = ", c.channels,
                           ", inputs = ", c.inputs, " and dilation = ", c.dilation, " must be positive.");
    detail::expect_kernel(name, c.kernel, c.causal);
    require<ArgumentError>(!c.skip || c.inputs == 1, name, ": skip adds x, which has ", c.inputs,
                           " channels per channel of y. Set inputs = 1 or skip = false.");
    weight = unset_weight<T>(c.channels, Count(c.inputs) * c.kernel, name);
    bias = filled_vector<T>(T{0}, c.bias ? c.channels : 0, name);
  }
  DepthwiseConvolution(const Config& c, Random& random) : DepthwiseConvolution(c) { initialize(random); }

  static constexpr auto fields() {
    return Fields(field("weight", &DepthwiseConvolution::weight, Role::spatial, &DepthwiseConvolution::weight_shape),
                  field("bias", &DepthwiseConvolution::bias, Role::spatial));
  }
  /// The shape in which Conv1d stores `weight`.
  Shape weight_shape() const { return {weight.rows(), config.inputs, config.kernel}; }

  /// PyTorch's initialization: weight and bias uniform in ±1 / √(inputs · K).
  void initialize(Random& random) {
    const double bound = 1 / std::sqrt(static_cast<double>(weight.cols()));
    fill_uniform(weight, bound, random);
    fill_uniform(bias, bound, random);
  }

  Contract contract() const {
    return {.in = weight.rows() * config.inputs,
            .out = weight.rows(),
            .sees = config.kernel == 1 ? Sees::itself : (config.causal ? Sees::past : Sees::all)};
  }

  auto apply(auto& run, const auto& x, const auto& then) const {
    expect_set(run, "weight", weight);
    return convolve_depthwise(run, x, parameters(), then);
  }

  /// The parameters as an argument of convolve_depthwise().
  Depthwise<T> parameters() const {
    return {.weight = weight,
            .bias = bias,
            .inputs = config.inputs,
            .dilation = config.dilation,
            .own_tap = detail::own_tap_of(config.kernel, config.causal),
            .skip = config.skip};
  }
};

}  // namespace gated
