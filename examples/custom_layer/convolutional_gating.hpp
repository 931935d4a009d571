#pragma once

#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/ops/elementwise.hpp"

/// @file
/// cgMLP, the convolutional gating MLP of E-Branchformer (arXiv:2210.00077): a gMLP whose tokens are mixed by a convolution.

namespace speech {

using namespace gated;

/// The options of a cgMLP.
struct ConvolutionalGatingConfig {
  Index channels = 0;   ///< C, of the input and the output
  Index hidden = 0;     ///< F, after the first projection; the gate halves it
  Index kernel = 31;    ///< K, in tokens; odd unless causal
  bool causal = false;  ///< tokens see the K - 1 before them and no later ones, so that the model streams
  Activation gate_activation = Activation::identity;
  double norm_eps = 1e-5;  ///< wenet's; ESPnet has 1e-12

  template <class C = ConvolutionalGatingConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("kernel", &C::kernel),
                      setting("causal", &C::causal), setting("norm_eps", &C::norm_eps),
                      setting("gate_activation", &C::gate_activation));
  }
};

/// y[t, c] = b[c] + Σ_k w[c, k] · x[t + k - before, c], where x is zero outside the token's own sequence: PyTorch's
/// Conv1d(C, C, K, groups=C), with the kernel centred on the token, or ending at it if causal. A stream remembers the last
/// K - 1 tokens.
///
/// Shapes: x and y are N × C.
/// Cost: 2·N·C·K flops, twice that backward; scratch (K + the longest sequence) × C.
template <class T>
struct DepthwiseConvolution : Layer<DepthwiseConvolution<T>> {
  static constexpr const char* name = "DepthwiseConvolution";

  bool causal = false;
  Matrix<T> weight;  ///< C × K
  Vector<T> bias;    ///< C

  DepthwiseConvolution() = default;
  DepthwiseConvolution(Index channels, Index kernel, bool causal_) : causal(causal_) {
    require<ArgumentError>(kernel > 0 && (causal || kernel % 2 == 1), name, ": kernel = ", kernel,
                           ", expected an odd number, so that it has a middle, or a causal one.");
    weight = unset_weight<T>(channels, kernel, name);
    bias = Vector<T>::Ones(channels);
  }

  static constexpr auto fields() {
    return std::tuple(field("weight", &DepthwiseConvolution::weight, Role::spatial, &DepthwiseConvolution::weight_shape),
                      field("bias", &DepthwiseConvolution::bias, Role::spatial));
  }
  /// The shape in which Conv1d stores `weight`.
  Shape weight_shape() const { return {weight.rows(), 1, weight.cols()}; }

  /// ESPnet's initial values, near zero for weights and one for biases: a gate then passes on the half that it multiplies.
  void initialize(Random& random) {
    fill_normal(weight, 1e-6, random);
    bias.setOnes();
  }

  Contract contract() const { return {.in = bias.size(), .out = bias.size(), .sees = causal ? Sees::past : Sees::all}; }

  /// The forward pass. A stream remembers the K - 1 tokens before its next ones. Training pushes the derivative onto the tape:
  /// ∂w[c, k] = Σ_t ∂y[t, c] · x[t + k - before, c], ∂b = Σ_t ∂y, and ∂x[t + k - before, c] receives ∂y[t, c] · w[c, k].
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    expect_set(run, "weight", weight);
    const Index channels = weight.rows(), taps = weight.cols();
    T* const kernels = run.take(weight.size());  // tap by tap, because vectors run along the channels
    Eigen::Map<Matrix<T>>(kernels, taps, channels) = weight.transpose();
    const auto kernel = [kernels, channels](Index k) { return per_channel(kernels + k * channels); };
    auto tokens = x;
    if constexpr (Run::streams) {
      Matrix<T>& last = run.remember(taps - 1, channels, Run::Memory::sums);
      tokens = run.make(last.rows() + x.rows(), channels);
      tokens.rows(0, last.rows()).assign(last);
      tokens.rows(last.rows(), x.rows()).assign(x);
      last = View<T>(tokens.rows(x.rows(), last.rows()));
    }
    const auto y = run.make(run.rows(x), channels);
    run[y].rowwise() = bias.transpose();
    for_each_tap<T, T>(run[tokens], run[y], run.sequences(), [&](Index k, const auto& taken, const auto& sums) {
      assign<T>(sums, run.workspace(), reader<T>(taken) * kernel(k), true);
    });
    if constexpr (Run::records) {
      run.push([this, x, y, kernel, kept = run.kept_sequences()](auto& back) {
        Workspace<T>& workspace = back.workspace();
        const Sequences& sequences = back.sequences(kept);
        const ConstView<T> dy = back.gradient(y);
        if (T* const to = back.gradient_of(weight.data())) {
          const auto frame = workspace.frame();
          MatrixMap<T> dw = workspace.matrix(weight.cols(), weight.rows());
          dw.setZero();
          for_each_tap<T, const T>(back[x], dy, sequences, [&](Index k, const auto& taken, const auto& gradients) {
            add_column_sums<T>(taken.rows(), taken.columns(), &dw(k, 0), workspace, reader<T>(taken) * reader<T>(gradients));
          });
          Eigen::Map<Matrix<T>>(to, weight.rows(), weight.cols()) += dw.transpose();
        }
        if (T* const to = back.gradient_of(bias.data())) {
          add_column_sums<T>(dy, to, workspace);
        }
        if (back.wants_gradient(x)) {
          for_each_tap<T, const T>(accumulator(back, x), dy, sequences, [&](Index k, const auto& taken, const auto& gradients) {
            assign<T>(taken, workspace, reader<T>(gradients) * kernel(k), true);
          });
        }
      });
    }
    return y;
  }

 private:
  /// Calls f(k, rows of x, rows of y) for each sequence and tap k: the rows of x that the tap reads, and the rows of y that it
  /// contributes to. If x has more rows than y, the first of them are the tokens before.
  template <class X, class Y, class F>
  void for_each_tap(const MatrixView<X>& x, const MatrixView<Y>& y, const Sequences& sequences, const F& f) const {
    const Index taps = weight.cols(), before = causal ? taps - 1 : taps / 2, known = x.rows() - y.rows(), zero = 0;
    for (Index b = 0; b < sequences.count(); ++b) {
      for (Index k = 0; k < taps; ++k) {
        const Index ahead = k - before, first = std::max(-ahead - known, zero);
        const Index offset = sequences.offset(b) + first, count = sequences.length(b) - std::max(ahead, zero) - first;
        if (count > 0) {
          f(k, x.rows(offset + known + ahead, count), y.rows(offset, count));
        }
      }
    }
  }
};

/// y = u ⊙ act(conv(LN(v))), where (u, v) are the halves of x: the Convolutional Spatial Gating Unit.
/// Shapes: x is N × F, y is N × F/2.
template <class T>
struct ConvolutionalGatingUnit : Layer<ConvolutionalGatingUnit<T>> {
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* name = "ConvolutionalGatingUnit";

  Activation activation = Activation::identity;
  Norm<T> norm;
  DepthwiseConvolution<T> conv;

  ConvolutionalGatingUnit() = default;
  explicit ConvolutionalGatingUnit(const Config& c)
      : activation(c.gate_activation), norm(c.hidden / 2, c.norm_eps), conv(c.hidden / 2, c.kernel, c.causal) {
    require<ArgumentError>(c.hidden % 2 == 0, name, ": hidden = ", c.hidden, ", expected an even number, to be halved.");
  }

  static constexpr auto fields() {
    return std::tuple(field("norm", &ConvolutionalGatingUnit::norm), field("conv", &ConvolutionalGatingUnit::conv));
  }

  Contract contract() const { return {.in = 2 * conv.in(), .out = conv.out(), .sees = conv.contract().sees}; }

  auto apply(auto& run, auto x) const {
    auto [u, v] = run.split(std::move(x), conv.in(), conv.in());
    auto gate = activate(run, run(conv, run(norm, std::move(v))), activation);
    return multiply(run, std::move(u), std::move(gate));
  }
};

/// y = W₂ csgu(GELU(W₁ x + b₁)) + b₂.
/// Shapes: x and y are N × C.
/// Cost: 3·N·C·F + N·F·K flops.
template <class T>
struct ConvolutionalGatingMlp : Layer<ConvolutionalGatingMlp<T>> {
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* name = "ConvolutionalGatingMlp";
  static constexpr const char* architecture = "speech.ConvolutionalGatingMlp";

  Config config;
  Linear<T> channel_proj1;
  ConvolutionalGatingUnit<T> csgu;
  Linear<T> channel_proj2;

  ConvolutionalGatingMlp() = default;
  explicit ConvolutionalGatingMlp(const Config& c)
      : config(c), channel_proj1(c.channels, c.hidden), csgu(c), channel_proj2(c.hidden / 2, c.channels) {}
  ConvolutionalGatingMlp(const Config& c, Random& random) : ConvolutionalGatingMlp(c) { this->initialize(random); }

  static constexpr auto fields() {
    using M = ConvolutionalGatingMlp;
    return std::tuple(field("channel_proj1", &M::channel_proj1), field("csgu", &M::csgu),
                      field("channel_proj2", &M::channel_proj2));
  }

  Contract contract() const { return channel_proj1.contract().then(csgu.contract()).then(channel_proj2.contract()); }

  auto apply(auto& run, auto x, auto then) const {
    auto hidden = run(channel_proj1, std::move(x), {.activation = Activation::gelu});  // N × F
    return run(channel_proj2, run(csgu, std::move(hidden)), std::move(then));          // N × C
  }
};

}  // namespace speech
