#pragma once

#include <algorithm>
#include <type_traits>

#include "gated/core/sequences.hpp"
#include "gated/ops/join.hpp"

/// @file
/// Depthwise convolution over the tokens of each sequence, as an op with its derivative.

namespace gated {

/// The parameters of a depthwise convolution. Non-owning.
template <class T>
struct Depthwise {
  const Matrix<T>& weight;  ///< C × (inputs · K)
  const Vector<T>& bias;    ///< C, or empty
  Index inputs = 1;         ///< channels of x per channel of y
  Index dilation = 1;       ///< tokens from one tap to the next
  Index own_tap = 0;        ///< the tap that reads the token itself; those after it read later tokens
  bool skip = false;        ///< adds the token itself, for inputs = 1

  Index channels() const { return weight.rows(); }
  Index taps() const { return weight.cols() / inputs; }
  /// Tokens from the first tap to the token itself.
  Index before() const { return own_tap * dilation; }
};

namespace detail {

/// The weights of a depthwise convolution in panels, and its taps.
template <class T>
struct DepthwiseTaps {
  Operand<T> weight;  ///< C × (inputs · K)
  Index inputs, count, dilation, own;
  bool skip = false;

  DepthwiseTaps(const Depthwise<T>& d)
      : weight(d.weight), inputs(d.inputs), count(d.taps()), dilation(d.dilation), own(d.own_tap), skip(d.skip) {}
  /// Those of the backward pass: the taps of one input in reverse, which `reversed` holds, C × K.
  DepthwiseTaps(const Depthwise<T>& d, const MatrixMap<T>& reversed)
      : weight(reversed), inputs(1), count(d.taps()), dilation(d.dilation), own(d.taps() - 1 - d.own_tap), skip(d.skip) {}

  Index before() const { return own * dilation; }

  /// Packs the taps of `columns` channels from `first` on, input by input.
  void pack(Index first, Index columns, T* to) const {
    const Index width = kernels<ProductKernels<T>>().panel_columns;
    for (Index i = 0; i < inputs; ++i, to += count * width) {
      const Operand<T> of_input(weight.at(0, i * count), weight.rows, count, weight.row_stride, 1);
      kernels<ProductKernels<T>>().pack_panel(of_input.transposed(), first, columns, to);
      for (Index j = 0; skip && j < width; ++j) {
        to[own * width + j] += T{1};
      }
    }
  }
};

/// A run of a depthwise convolution over ragged rows.
template <class T>
struct DepthwisePass {
  const DepthwiseTaps<T>& taps;
  const Sequences& sequences;
  MatrixView<const T> x;  ///< input by input: channel c of input i is column i · C + c
  Index known = 0;        ///< rows of x before the first token, in a stream
  Index width = kernels<ProductKernels<T>>().panel_columns;

  /// A block of y.
  struct Block {
    Index first, rows, column, columns;
  };
  /// The taps of a token that read its own sequence.
  struct Range {
    Index first, count;
  };

  /// y = the convolution, with `epilogue` applied.
  void run(const MatrixView<T>& y, const Epilogue<T>& epilogue, Workspace<T>& workspace) const {
    const auto frame = workspace.inner_frame();
    const Index panels = (y.columns() + width - 1) / width, panel_size = taps.inputs * taps.count * width;
    T* const packed = workspace.take(panels * panel_size);
    const auto columns_of = [&](Index panel) { return std::min(width, y.columns() - panel * width); };
    for (Index panel = 0; panel < panels; ++panel) {
      taps.pack(panel * width, columns_of(panel), packed + panel * panel_size);
    }
    for_each_block_of_rows(y.rows(), workspace, [&](Index first, Index rows) {
      for (Index panel = 0; panel < panels; ++panel) {
        run_block(packed + panel * panel_size, {first, rows, panel * width, columns_of(panel)}, y, epilogue);
      }
    });
  }

 private:
  Range range_of(Index token, Index length) const {
    const Index missing = std::max<Index>(taps.before() - token - known, 0), later = length - 1 - token + taps.before();
    const Index first = (missing + taps.dilation - 1) / taps.dilation;
    return {first, std::min(later / taps.dilation + 1, taps.count) - first};
  }

  void run_block(const T* panel, const Block& block, const MatrixView<T>& y, const Epilogue<T>& epilogue) const {
    alignas(64) T tile[std::size_t{depthwise_tile_rows} * 2 * 64 / sizeof(T)];  // enough for the widest vectors
    const Index end = block.first + block.rows, channels = y.columns();
    Index b = sequences.first_from(block.first + 1) - 1;
    for (Index row = block.first, rows = 1; row < end; row += rows) {
      while (row >= sequences.offset(b) + sequences.length(b)) {
        ++b;
      }
      const Index token = row - sequences.offset(b), length = sequences.length(b), last = token + depthwise_tile_rows - 1;
      const Range range = range_of(token, length);
      const bool whole = last < length && row + depthwise_tile_rows <= end && range.count == taps.count &&
                         range_of(last, length).count == taps.count;
      rows = whole ? depthwise_tile_rows : 1;
      const T* const from = x.data + (row + known - taps.before() + range.first * taps.dilation) * x.stride + block.column;
      for (Index i = 0; i < taps.inputs; ++i) {
        kernels<DepthwiseKernels<T>>().convolve_tile(range.count, panel + (i * taps.count + range.first) * width,
                                                     from + i * channels, taps.dilation * x.stride, x.stride, rows,
                                                     block.columns, i > 0, tile);
      }
      kernels<ProductKernels<T>>().finish_tile(epilogue, row, block.column, rows, block.columns, tile,
                                               y.data + row * y.stride + block.column, y.stride);
    }
  }
};

/// The channels of x input by input, as DepthwisePass reads them: x itself if there is one input, otherwise a copy in scratch.
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

/// ∂weight[c, i · K + k] += Σ_t ∂z[t, c] · x_i[t + k · dilation - before, c].
template <class T>
void add_depthwise_weight(const Depthwise<T>& d, const MatrixView<const T>& x, const MatrixView<const T>& dz,
                          const Sequences& sequences, T* to, Workspace<T>& workspace) {
  const auto frame = workspace.inner_frame();
  MatrixMap<T> sums = workspace.matrix(d.weight.cols(), d.weight.rows());
  sums.setZero();
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index tap = 0; tap < d.weight.cols(); ++tap) {
      const Index ahead = tap % d.taps() * d.dilation - d.before(), first = std::max<Index>(-ahead, 0);
      const Index rows = sequences.length(b) - std::max<Index>(ahead, 0) - first, offset = sequences.offset(b) + first;
      if (rows > 0) {
        const Index column = tap / d.taps() * d.channels();
        add_column_sums<T>(rows, d.channels(), &sums(tap, 0), workspace,
                           reader<T>(dz.rows(offset, rows)) * reader<T>(x.block(offset + ahead, column, rows, d.channels())));
      }
    }
  }
  Eigen::Map<Matrix<T>>(to, d.weight.rows(), d.weight.cols()) += sums.transpose();
}

/// ∂x_i[s, c] += Σ_k ∂z[s + before - k · dilation, c] · weight[c, i · K + k], and ∂z itself if the op skips.
template <class Back, class Variable, class T = typename Back::Scalar>
void add_depthwise_input(Back& back, Variable x, const Depthwise<T>& d, const MatrixView<const T>& dz,
                         const Sequences& sequences) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.inner_frame();
  auto [to, fresh] = back.target(x);
  const MatrixView<T> dx = to;
  MatrixMap<T> reversed = workspace.matrix(d.channels(), d.taps());
  for (Index i = 0; i < d.inputs; ++i) {
    reversed = d.weight.middleCols(i * d.taps(), d.taps()).rowwise().reverse();
    const DepthwiseTaps<T> taps(d, reversed);
    const DepthwisePass<T> pass{.taps = taps, .sequences = sequences, .x = dz};
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

/// x after the rows that a stream remembers, at most `span`. Remembers the last rows in turn.
template <class Run, class T = typename Run::Scalar>
MatrixView<const T> with_rows_before(Run& run, const MatrixOf<Run>& x, Index span) {
  Matrix<T>& last = run.remember(span, x.columns(), Run::Memory::sums);
  const Index known = std::min(span, run.position()), kept = std::min(span, known + x.rows());
  const MatrixView<T> room = run.make(span + x.rows(), x.columns());  // equal steps take equal memory
  const MatrixView<T> rows = room.rows(span - known, known + x.rows());
  rows.rows(0, known).assign(MatrixView<T>(last).rows(span - known, known));
  rows.rows(known, x.rows()).assign(x);
  MatrixView<T>(last).rows(span - kept, kept).assign(rows.rows(known + x.rows() - kept, kept));
  return rows;
}

}  // namespace detail

/// y[t, c] = bias[c] + Σ_i Σ_k weight[c, i · K + k] · x[t + (k - own_tap) · dilation, c · inputs + i], with `epilogue` applied;
/// x is zero outside the token's own sequence. A correlation, as PyTorch's Conv1d(inputs · C, C, K, groups=C). A stream
/// remembers (K - 1) · dilation tokens; no tap may read a later token then.
///
/// Backward: ∂x is the convolution of ∂z by the taps in reverse; ∂weight[c, i · K + k] = Σ_t ∂z[t, c] · x[…], ∂bias = Σ_t ∂z,
/// with ∂z from backward_through().
/// Shapes: x is N × (inputs · C), y is N × C.
/// Cost: 2·N·C·inputs·K flops, twice that backward; scratch for the weights, and for x if it has several inputs.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> convolve_depthwise(Run& run, const MatrixOf<Run>& x, const Depthwise<T>& d, const Epilogue<Run>& epilogue) {
  Workspace<T>& workspace = run.workspace();
  const Joined<Run> joined = joined_result(run, run.rows(x), d.channels(), epilogue, {.bias = d.bias.data()});
  MatrixView<const T> tokens = run[x];
  if constexpr (Run::streams) {
    tokens = detail::with_rows_before(run, x, d.before());
  }
  const detail::DepthwiseTaps<T> taps(d);
  const auto frame = workspace.inner_frame();
  const detail::DepthwisePass<T> pass{.taps = taps,
                                      .sequences = run.sequences(),
                                      .x = detail::by_inputs(tokens, d.inputs, workspace),
                                      .known = tokens.rows() - run.rows(x)};
  pass.run(run[joined.y], joined.epilogue, workspace);
  if constexpr (Run::records) {
    run.push([x, y = joined.y, kept = joined.kept, epilogue, d, sequences = run.kept_sequences()](auto& back) {
      const MatrixView<const T> dz = backward_through(back, epilogue, y, kept, back.gradient_of(d.bias.data()));
      const auto backward_frame = back.workspace().frame();
      if (T* const to = back.gradient_of(d.weight.data())) {
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
