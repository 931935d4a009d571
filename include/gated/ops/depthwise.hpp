#pragma once

#include <algorithm>

#include "gated/ops/convolution_tiles.hpp"
#include "gated/ops/join.hpp"

/// @file
/// Depthwise convolution over the tokens of each sequence, as an op with its derivative.

namespace gated {

/// The parameters of a depthwise convolution. Non-owning.
template <class T>
struct Depthwise {
  MatrixView<const T> weight;  ///< C × (inputs · K)
  const Vector<T>& bias;       ///< C, or empty
  Index inputs = 1;            ///< channels of x per channel of y
  Index dilation = 1;          ///< tokens from one tap to the next
  Index own_tap = 0;           ///< the tap that reads the token itself; later taps read later tokens
  bool skip = false;           ///< adds the token itself; requires inputs = 1

  Index channels() const { return weight.rows(); }
  Index taps() const { return weight.columns() / inputs; }
};

namespace detail {

/// The weights and the tap positions of a depthwise convolution.
template <class T>
struct DepthwiseWeights {
  Operand<T> weight;  ///< C × (inputs · K)
  Index inputs;
  ConvolutionTaps taps;
  bool skip = false;

  DepthwiseWeights(const Depthwise<T>& d)
      : weight(d.weight), inputs(d.inputs), taps{d.taps(), d.dilation, d.own_tap}, skip(d.skip) {}
  /// The weights for the backward pass of one input: `reversed`, C × K, is that input's taps in reverse order.
  DepthwiseWeights(const Depthwise<T>& d, const MatrixMap<T>& reversed) : DepthwiseWeights(d) {
    weight = reversed;
    inputs = 1;
    taps = taps.reversed();
  }

  /// Packs the weights of `columns` channels of y, starting at channel `first`: a panel of K rows per input.
  void pack(Index first, Index columns, T* to) const {
    const Index width = kernels<ProductKernels<T>>().panel_columns;
    for (Index i = 0; i < inputs; ++i, to += taps.count * width) {
      const Operand<T> of_input(weight.at(0, i * taps.count), weight.rows, taps.count, weight.row_stride, 1);
      kernels<ProductKernels<T>>().pack_panel(of_input.transposed(), first, columns, to);
      for (Index j = 0; skip && j < width; ++j) {
        to[taps.own * width + j] += T{1};
      }
    }
  }
};

/// One pass of a depthwise convolution over a ragged batch.
template <class T>
struct DepthwisePass {
  const DepthwiseWeights<T>& weights;
  const Sequences& sequences;
  MatrixView<const T> x;  ///< columns grouped by input: column i · C + c is input i of channel c of y
  Index known = 0;        ///< number of rows at the start of x that a stream remembers from earlier tokens; 0 if not streamed
  Index width = kernels<ProductKernels<T>>().panel_columns;

  /// A block of y.
  struct Block {
    Index first, rows, column, columns;
  };

  /// y = the convolution, with `epilogue` applied.
  void run(const MatrixView<T>& y, const Epilogue<T>& epilogue, Workspace<T>& workspace) const {
    const auto frame = workspace.inner_frame();
    const Index panels = (y.columns() + width - 1) / width, panel_size = weights.inputs * weights.taps.count * width;
    T* const packed = workspace.take(panels * panel_size);
    const auto columns_of = [&](Index panel) { return std::min(width, y.columns() - panel * width); };
    for (Index panel = 0; panel < panels; ++panel) {
      weights.pack(panel * width, columns_of(panel), packed + panel * panel_size);
    }
    for_each_block_of_rows(y.rows(), workspace, [&](Index first, Index rows) {
      // Few rows at a time, because a processor prefetches only a few rows at once.
      constexpr Index few = 2 * depthwise_tile_rows;
      for (Index row = first; row < first + rows; row += few) {
        for (Index panel = 0; panel < panels; ++panel) {
          run_block(packed + panel * panel_size, {row, std::min(few, first + rows - row), panel * width, columns_of(panel)}, y,
                    epilogue);
        }
      }
    });
  }

 private:
  void run_block(const T* panel, const Block& block, const MatrixView<T>& y, const Epilogue<T>& epilogue) const {
    alignas(64) T values[std::size_t{depthwise_tile_rows} * 2 * 64 / sizeof(T)];  // enough for vectors of 64 bytes
    const ConvolutionTaps& taps = weights.taps;
    for_each_convolution_tile(taps, sequences, known, block.first, block.rows, [&](const ConvolutionTile& tile) {
      const T* const from = x.data + tile.from(taps, known) * x.stride + block.column;
      for (Index i = 0; i < weights.inputs; ++i) {
        kernels<DepthwiseKernels<T>>().convolve_tile(tile.tap_count, panel + (i * taps.count + tile.first) * width,
                                                     from + i * y.columns(), taps.dilation * x.stride, x.stride, tile.rows,
                                                     block.columns, i > 0, values);
      }
      kernels<ProductKernels<T>>().finish_tile(epilogue, tile.row, block.column, tile.rows, block.columns, values,
                                               y.data + tile.row * y.stride + block.column, y.stride);
    });
  }
};

/// x with its columns grouped by input, as DepthwisePass reads them: x itself if `inputs` is 1, otherwise a copy in scratch.
template <class T>
MatrixView<const T> by_inputs(const MatrixView<const T>& x, Index inputs, Workspace<T>& workspace) {
  if (inputs == 1) {
    return x;
  }
  const Index channels = x.columns() / inputs;
  MatrixMap<T> map = workspace.matrix(x.rows(), x.columns());
  const MatrixView<T> sorted = map;
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index j = 0; j < x.columns(); ++j) {
      sorted.data[t * sorted.stride + j % inputs * channels + j / inputs] = x.data[t * x.stride + j];
    }
  }
  return sorted;
}

/// ∂weight[c, i · K + k] += Σ_t ∂z[t, c] · x_i[t + (k - own_tap) · dilation, c], where x_i[t, c] is input i of channel c.
template <class T>
void add_depthwise_weight(const Depthwise<T>& d, const MatrixView<const T>& x, const MatrixView<const T>& dz,
                          const Sequences& sequences, View<T> to, Workspace<T>& workspace) {
  const auto frame = workspace.inner_frame();
  const ConvolutionTaps taps = DepthwiseWeights<T>(d).taps;
  MatrixMap<T> sums = workspace.matrix(to.cols(), to.rows());
  sums.setZero();
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index tap = 0; tap < sums.rows(); ++tap) {
      const Index ahead = tap % taps.count * taps.dilation - taps.before(), first = std::max<Index>(-ahead, 0);
      const Index rows = sequences.length(b) - std::max<Index>(ahead, 0) - first, offset = sequences.offset(b) + first;
      if (rows > 0) {
        const Index column = tap / taps.count * d.channels();
        add_column_sums<T>(rows, d.channels(), &sums(tap, 0), workspace,
                           reader<T>(dz.rows(offset, rows)) * reader<T>(x.block(offset + ahead, column, rows, d.channels())));
      }
    }
  }
  to += sums.transpose();
}

/// ∂x_i[s, c] += Σ_k ∂z[s - (k - own_tap) · dilation, c] · weight[c, i · K + k], plus ∂z[s, c] if the op has a skip.
template <class Back, class Variable, class T = typename Back::Scalar>
void add_depthwise_input(Back& back, Variable x, const Depthwise<T>& d, const MatrixView<const T>& dz,
                         const Sequences& sequences) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.inner_frame();
  auto [to, fresh] = back.target(x);
  const MatrixView<T> dx = to;
  MatrixMap<T> reversed = workspace.matrix(d.channels(), d.taps());
  for (Index i = 0; i < d.inputs; ++i) {
    reversed = ConstView<T>(d.weight.columns(i * d.taps(), d.taps())).rowwise().reverse();
    const DepthwiseWeights<T> weights(d, reversed);
    const DepthwisePass<T> pass{.weights = weights, .sequences = sequences, .x = dz};
    if (d.inputs == 1) {
      pass.run(dx, {.added = fresh ? MatrixView<const T>() : MatrixView<const T>(dx)}, workspace);
      return;
    }
    const auto of_input = workspace.frame();
    MatrixMap<T> part = workspace.matrix(dz.rows(), dz.columns());
    pass.run(part, {}, workspace);
    Eigen::Map<Matrix<T>, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> scattered(
        dx.data + i, dz.rows(), dz.columns(), Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(dx.stride, d.inputs));
    if (fresh) {
      scattered = part;
    } else {
      scattered += part;
    }
  }
}

}  // namespace detail

/// y[t, c] = bias[c] + Σ_i Σ_k weight[c, i · K + k] · x[t + (k - own_tap) · dilation, c · inputs + i], with `epilogue` applied;
/// x is zero outside the token's own sequence. A correlation, as PyTorch's Conv1d(inputs · C, C, K, groups=C) computes it. A
/// stream remembers (K - 1) · dilation tokens; its taps must not read later tokens.
///
/// Backward: ∂x is the convolution of ∂z with the reversed taps; ∂weight[c, i · K + k] = Σ_t ∂z[t, c] · x[same indices], and
/// ∂bias = Σ_t ∂z, with ∂z from backward_through(). `computed` is the handle of weights that the run has computed; it is
/// empty for parameters.
/// Shapes: x is N × (inputs · C), y is N × C.
/// Cost: 2·N·C·inputs·K flops, twice that backward. Scratch: the packed weights and, if inputs > 1, a copy of x.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> convolve_depthwise(Run& run, const MatrixOf<Run>& x, const Depthwise<T>& d, const Epilogue<Run>& epilogue,
                                 const MatrixOf<Run>& computed = {}) {
  Workspace<T>& workspace = run.workspace();
  const Joined<Run> joined = joined_result(run, run.rows(x), d.channels(), epilogue, {.bias = d.bias.data()});
  const detail::DepthwiseWeights<T> weights(d);
  MatrixView<const T> tokens = run[x];
  if constexpr (Run::streams) {
    tokens = detail::with_rows_before(run, x, weights.taps.before());
  }
  const auto frame = workspace.inner_frame();
  const detail::DepthwisePass<T> pass{.weights = weights,
                                      .sequences = run.sequences(),
                                      .x = detail::by_inputs(tokens, d.inputs, workspace),
                                      .known = tokens.rows() - run.rows(x)};
  pass.run(run[joined.y], joined.epilogue, workspace);
  if constexpr (Run::records) {
    run.push([x, y = joined.y, saved = joined.saved, epilogue, d, computed, sequences = run.kept_sequences()](auto& back) {
      const MatrixView<const T> dz = backward_through(back, epilogue, y, saved, back.gradient_of(d.bias.data()));
      const auto backward_frame = back.workspace().frame();
      T* const parameter = computed ? nullptr : back.gradient_of(d.weight.data);
      if (computed || parameter != nullptr) {
        const MatrixView<T> to = computed ? MatrixView<T>(accumulator(back, computed))
                                          : MatrixView<T>(parameter, d.weight.rows(), d.weight.columns(), d.weight.columns());
        detail::add_depthwise_weight<T>(d, detail::by_inputs<T>(back[x], d.inputs, back.workspace()), dz,
                                        back.sequences(sequences), to, back.workspace());
      }
      if (back.wants_gradient(x)) {
        detail::add_depthwise_input(back, x, d, dz, back.sequences(sequences));
      }
    });
  }
  return joined.y;
}

}  // namespace gated
