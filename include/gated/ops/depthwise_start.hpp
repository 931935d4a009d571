#pragma once

#include <algorithm>

#include "gated/ops/depthwise.hpp"

/// @file
/// Pads the sequences of a depthwise convolution on the left with a constant row instead of zeros.

namespace gated {

namespace detail {

/// The number of tokens at a sequence's start that read rows before the sequence.
template <class T>
Index start_of(const Depthwise<T>& d) {
  return DepthwiseWeights<T>(d).taps.before();
}

/// sums[t, c] = Σ weight[c, k] over the taps k of token t that read rows before the sequence.
template <class T>
void taps_before(const Depthwise<T>& d, View<T> sums) {
  const ConstView<T> weight = d.weight;
  for (Index t = sums.rows() - 1; t >= 0; --t) {
    const Index taps = d.own_tap - t / d.dilation;
    if (taps == 1) {
      sums.row(t) = weight.col(0).transpose();
    } else {
      sums.row(t) = sums.row(t + d.dilation) + weight.col(taps - 1).transpose();
    }
  }
}

/// Calls `f(row, count)` for each sequence, whose first `count` tokens (from row `row` on) read rows before the sequence.
template <class F>
void for_each_start(const Sequences& sequences, Index tokens, const F& f) {
  for (Index b = 0; b < sequences.count(); ++b) {
    f(sequences.offset(b), std::min(sequences.length(b), tokens));
  }
}

/// Adds the gradients of `constant` and d.weight; see pad_start().
template <class Back, class T = typename Back::Scalar>
void start_backward(Back& back, const Depthwise<T>& d, const Vector<T>& constant, const MatrixView<const T>& dy,
                    const Sequences& sequences) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.inner_frame();
  const Index start = start_of(d);
  MatrixMap<T> sums = workspace.matrix(start, d.channels()), total = workspace.matrix(start, d.channels());
  total.setZero();
  for_each_start(sequences, start, [&](Index row, Index count) {
    assign<T>(total.topRows(count), workspace, reader<T>(dy.rows(row, count)), true);
  });
  if (T* const to = back.gradient_of(constant.data())) {
    taps_before<T>(d, sums);
    add_column_sums<T>(total.rows(), total.cols(), to, workspace, reader<T>(total) * reader<T>(sums));
  }
  if (T* const to = back.gradient_of(d.weight.data)) {
    Eigen::Map<Matrix<T>> weight(to, d.weight.rows(), d.weight.columns());
    for (Index t = 1; t < start; ++t) {
      total.row(t) += total.row(t - 1);
    }
    for (Index k = 0; k < d.own_tap; ++k) {
      const Index last = (d.own_tap - k) * d.dilation - 1;  // the last token whose tap k reads a row before the sequence
      for (Index c = 0; c < d.channels(); ++c) {
        weight(c, k) += rounded(constant[c] * total(last, c));
      }
    }
  }
}

}  // namespace detail

/// Pads each sequence of a depthwise convolution on the left with `constant`. `z` is the convolution padded with zeros:
///
///     y[t, c] = z[t, c] + constant[c] · Σ weight[c, k] over the taps k with t < (own_tap - k) · dilation
///
/// Overwrites z if it is moved in, except in a recording run.
///
/// Backward: ∂z = ∂y; the second term contributes to ∂constant and ∂weight.
/// Shapes: y and z are N × C, constant has length C; d.inputs is 1.
/// Cost: C · own_tap · dilation additions per call, and as many per sequence; twice that backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> pad_start(Run& run, MatrixOf<Run> z, const Depthwise<T>& d, const Vector<T>& constant) {
  const Index start = detail::start_of(d);
  const Index first = std::min(run.position(), start);
  if (first == start) {
    return z;
  }
  z = run.owned(std::move(z));
  Workspace<T>& workspace = run.workspace();
  const auto frame = workspace.inner_frame();
  MatrixMap<T> sums = workspace.matrix(start, d.channels());
  detail::taps_before<T>(d, sums);
  const MatrixView<T> y = run[z];
  detail::for_each_start(run.sequences(), start - first, [&](Index row, Index count) {
    const auto read = reader<T>(MatrixView<const T>(sums).rows(first, count));
    assign<T>(y.rows(row, count), workspace, read * per_channel<T>(constant.data()), true);
  });
  if constexpr (Run::records) {
    run.push([z, d, &constant, sequences = run.kept_sequences()](auto& back) {
      detail::start_backward(back, d, constant, MatrixView<const T>(back.gradient(z)), back.sequences(sequences));
    });
  }
  return z;
}

}  // namespace gated
