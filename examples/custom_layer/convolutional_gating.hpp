#pragma once

#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/ops/elementwise.hpp"

/// @file
/// cgMLP, the convolutional gating MLP of E-Branchformer (arXiv:2210.00077): a gMLP whose tokens are mixed by a convolution.

namespace speech {

using gated::ConstView, gated::Index, gated::Matrix, gated::MatrixMap, gated::PlaceOf, gated::Rows, gated::RowsOf;
using gated::Sequences, gated::Vector, gated::View, gated::Workspace;

/// The options of a cgMLP.
struct ConvolutionalGatingConfig {
  Index channels = 0;   ///< C, of the input and the output
  Index hidden = 0;     ///< F, after the first projection; the gate halves it
  Index kernel = 31;    ///< K, in tokens; odd unless causal
  bool causal = false;  ///< tokens see the K - 1 before them and no later ones, so that the model streams
  gated::Activation gate_activation = gated::Activation::identity;
  double norm_eps = 1e-5;  ///< wenet's; ESPnet has 1e-12

  template <class C = ConvolutionalGatingConfig>
  static constexpr auto fields() {
    return std::tuple{gated::setting("channels", &C::channels), gated::setting("hidden", &C::hidden),
                      gated::setting("kernel", &C::kernel),     gated::setting("causal", &C::causal),
                      gated::setting("norm_eps", &C::norm_eps), gated::setting("gate_activation", &C::gate_activation)};
  }
};

/// y[t, c] = b[c] + Σ_k w[c, k] · x[t + k - before, c], zero outside the token's own sequence: PyTorch's Conv1d(C, C, K,
/// groups=C), with as many tokens after a token as before it, or with all before it.
///
/// A stream remembers the last K - 1 tokens.
/// Shapes: x and y are N × C and must not overlap.
/// Errors: ArgumentError when built, and for a stream that is not causal.
/// Cost: 2·N·C·K flops, twice that backward; scratch K × C.
template <class T>
struct DepthwiseConvolution {
  using Scalar = T;
  static constexpr const char* name = "DepthwiseConvolution";

  bool causal = false;
  Matrix<T> weight;  ///< C × K
  Vector<T> bias;    ///< C

  DepthwiseConvolution() = default;
  DepthwiseConvolution(Index channels, Index kernel, bool causal_) : causal(causal_) {
    gated::require<gated::ArgumentError>(kernel > 0 && (causal || kernel % 2 == 1), name, ": kernel = ", kernel,
                                         ", expected an odd number, so that it has a middle, or a causal one.");
    weight = gated::unset_weight<T>(channels, kernel);
    bias = Vector<T>::Ones(channels);
  }

  static constexpr auto fields() {
    using D = DepthwiseConvolution;
    return std::tuple{gated::field("weight", &D::weight, gated::Role::spatial, &D::weight_shape),
                      gated::field("bias", &D::bias, gated::Role::spatial)};
  }
  /// As Conv1d stores it.
  gated::Shape weight_shape() const { return {weight.rows(), 1, weight.cols()}; }

  /// The body: a stream goes on with what it remembers, other runs have whole sequences, and training pushes the derivative.
  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    gated::expect_set(run, "weight", weight);
    const auto y = run.make(run.count(x), run.width(x), to);
    if constexpr (Run::streams) {
      convolve_next(run, x, y);
    } else {
      convolve_all(run[x], run.sequences(), false, run[y], run.workspace());
    }
    if constexpr (Run::records) {
      run.push([this, x, y, kept = run.kept_sequences()](auto& back) { this->backward(back, x, y, back.sequences(kept)); });
    }
    return y;
  }

 private:
  /// Backward: ∂x is the convolution of ∂y with the kernels reversed, ∂w[c, k] = Σ_t ∂y[t, c] · x[t + k - before, c] and
  /// ∂b = Σ_t ∂y.
  template <class Back, class Variable>
  void backward(Back& back, Variable x, Variable y, const Sequences& sequences) const {
    Workspace<T>& workspace = back.workspace();
    const auto frame = workspace.frame();
    const ConstView<T> values = back[x], dy = back.gradient(y);
    if (back.wants_gradient(x)) {
      MatrixMap<T> dx = workspace.matrix(dy.rows(), dy.cols());
      convolve_all(dy, sequences, true, dx, workspace);
      gated::add_gradient(back, x, ConstView<T>(dx));
    }
    if (T* const to = back.gradient_of(weight.data())) {
      MatrixMap<T> sums = workspace.matrix(weight.cols(), weight.rows());
      gated::parallel_for(workspace.threads(), weight.cols(), [&](Index k, Index) {  // each tap adds up the tokens in order
        const Index shift = k - before(false);
        sums.row(k).setZero();
        for (Index b = 0; b < sequences.count(); ++b) {
          const Index first = sequences.offset(b), length = sequences.length(b);
          for (Index t = std::max<Index>(-shift, 0); t < std::min(length, length - shift); ++t) {
            sums.row(k) += dy.row(first + t).cwiseProduct(values.row(first + t + shift));
          }
        }
      });
      Eigen::Map<Matrix<T>>(to, weight.rows(), weight.cols()) += sums.transpose();
    }
    if (T* const to = back.gradient_of(bias.data())) {
      gated::add_column_sums<T>(dy, to, workspace);
    }
  }

  /// y ← the next tokens of a stream, which remembers the K - 1 before them. These cannot be taken back.
  template <class Run>
  void convolve_next(Run& run, const Rows<T>& x, const Rows<T>& y) const {
    gated::require<gated::ArgumentError>(causal, run.where(),
                                         ": the convolution looks at later tokens. Build it with causal = true to stream.");
    const Index past = weight.cols() - 1, known = std::min(run.position(), past);
    Matrix<T>& last = run.remember(past, x.columns, Run::Memory::sums);
    const Rows<T> all = run.make(past + x.count, x.columns);
    View<T>(all.middle(0, past)) = last;
    View<T>(all.middle(past, x.count)) = View<T>(x);
    convolve(all.middle(past - known, known + x.count), known, false, y, run.workspace());
    last = View<T>(all.middle(x.count, past));
  }

  /// y ← x, each sequence convolved.
  void convolve_all(const ConstView<T>& x, const Sequences& sequences, bool reversed, View<T> y,
                    Workspace<T>& workspace) const {
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index first = sequences.offset(b), length = sequences.length(b);
      convolve(x.middleRows(first, length), 0, reversed, y.middleRows(first, length), workspace);
    }
  }

  /// The tokens before its own that a kernel, or a reversed one, begins with.
  Index before(bool reversed) const {
    const Index taps = weight.cols();
    return !causal ? (taps - 1) / 2 : reversed ? 0 : taps - 1;
  }

  /// y ← the tokens `first`, `first` + 1, … of one sequence x; with `reversed` the transpose, without the bias.
  void convolve(const ConstView<T>& x, Index first, bool reversed, View<T> y, Workspace<T>& workspace) const {
    const Index taps = weight.cols(), channels = weight.rows(), lead = before(reversed);
    const auto frame = workspace.frame();
    MatrixMap<T> kernels = workspace.matrix(taps, channels);  // tap by tap, because vectors run along the channels
    for (Index k = 0; k < taps; ++k) {
      kernels.row(k) = weight.col(reversed ? taps - 1 - k : k).transpose();
    }
    // Tasks of 32 rows, whatever the number of threads; the taps are added in their order.
    gated::for_each_block_of_rows(y.rows(), workspace, [&](Index row, Index count) {
      const Index t = first + row - lead;  // the token that the first tap of the first row takes
      View<T> sums = y.middleRows(row, count);
      if (reversed) {
        sums.setZero();
      } else {
        sums.rowwise() = bias.transpose();
      }
      for (Index k = 0; k < taps; ++k) {
        const Index from = std::max<Index>(-t - k, 0), rows = std::min(count, x.rows() - t - k) - from;
        if (rows > 0) {
          gated::assign<T>(sums.middleRows(from, rows), workspace,
                           gated::reader<T>(sums.middleRows(from, rows)) +
                               gated::reader<T>(x.middleRows(t + k + from, rows)) * gated::per_channel(&kernels(k, 0)));
        }
      }
    });
  }
};

/// y = u ⊙ act(conv(LN(v))), where (u, v) are the halves of x: the Convolutional Spatial Gating Unit.
///
/// Shapes: x is N × F, y is N × F/2.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: N·F·K flops.
template <class T>
struct ConvolutionalGatingUnit : gated::SequenceLayer<ConvolutionalGatingUnit<T>, T> {
  using Scalar = T;
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* name = "ConvolutionalGatingUnit";

  gated::Activation activation = gated::Activation::identity;
  gated::Norm<T> norm;
  DepthwiseConvolution<T> conv;

  ConvolutionalGatingUnit() = default;
  explicit ConvolutionalGatingUnit(const ConvolutionalGatingConfig& c) : activation(c.gate_activation) {
    gated::require<gated::ArgumentError>(c.hidden > 0 && c.hidden % 2 == 0, name, ": hidden = ", c.hidden,
                                         ", expected a positive even number: the input is split in halves.");
    norm = gated::Norm<T>(c.hidden / 2, c.norm_eps);
    conv = DepthwiseConvolution<T>(c.hidden / 2, c.kernel, c.causal);
  }

  static constexpr auto fields() {
    using U = ConvolutionalGatingUnit;
    return std::tuple{gated::field("norm", &U::norm), gated::field("conv", &U::conv)};
  }

  Index in() const { return 2 * out(); }
  Index out() const { return conv.bias.size(); }

  /// ESPnet's start: kernels near zero and biases of one, so that the unit passes u on.
  void initialize(gated::Random& random) {
    gated::fill_normal(conv.weight, 1e-6, random);
    conv.bias.setOnes();
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const auto u = run.columns(x, 0, out()), v = run.columns(x, out(), out());
    const auto gate = run(conv, run(norm, v));
    return multiply(run, u, activate(run, gate, activation, run.over(gate)), to);
  }
};

/// y = W₂ csgu(GELU(W₁ x + b₁)) + b₂.
///
/// Shapes: x and y are N × C.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: 3·N·C·F + N·F·K flops.
template <class T>
struct ConvolutionalGatingMlp : gated::SequenceLayer<ConvolutionalGatingMlp<T>, T> {
  using Scalar = T;
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* name = "ConvolutionalGatingMlp";
  static constexpr const char* architecture = "speech.ConvolutionalGatingMlp";

  ConvolutionalGatingConfig config;
  gated::Linear<T> channel_proj1;
  ConvolutionalGatingUnit<T> csgu;
  gated::Linear<T> channel_proj2;

  ConvolutionalGatingMlp() = default;
  explicit ConvolutionalGatingMlp(const ConvolutionalGatingConfig& c)
      : config(c), channel_proj1(c.channels, c.hidden), csgu(c), channel_proj2(c.hidden / 2, c.channels) {}
  ConvolutionalGatingMlp(const ConvolutionalGatingConfig& c, gated::Random& random) : ConvolutionalGatingMlp(c) {
    initialize(random);
  }
  static gated::Count value_count(const ConvolutionalGatingConfig& c) {
    const gated::Count gated_channels = c.hidden / 2;
    return gated::Linear<T>::value_count(c.channels, c.hidden) + gated::Norm<T>::value_count(gated_channels) +
           gated_channels * c.kernel + gated_channels + gated::Linear<T>::value_count(gated_channels, c.channels);
  }

  static constexpr auto fields() {
    using M = ConvolutionalGatingMlp;
    return std::tuple{gated::field("channel_proj1", &M::channel_proj1), gated::field("csgu", &M::csgu),
                      gated::field("channel_proj2", &M::channel_proj2)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }

  void initialize(gated::Random& random) {
    channel_proj1.initialize(random);
    csgu.initialize(random);
    channel_proj2.initialize(random);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const auto hidden = run(channel_proj1, x, {.activation = gated::Activation::gelu});  // N × F
    return run(channel_proj2, run(csgu, hidden), {}, to);                                // N × C
  }
};

}  // namespace speech
