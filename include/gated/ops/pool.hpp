#pragma once

#include <algorithm>

#include "gated/core/sequences.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Pooling over tokens, and prepending a token to each sequence.

namespace gated {

/// y[b] = mean of the rows of sequence b, summed in order; zeros for an empty sequence.
///
/// Shapes: x is rows × C, y is sequences × C.
/// Cost: one pass over x.
template <class T>
void mean_over_tokens(const ConstView<T>& x, const Sequences& sequences, View<T> y, const Workspace<T>& workspace) {
  parallel_for(workspace.threads(), sequences.count(), [&](Index b, Index) {
    kernels<RowKernels<T>>().mean_of_rows(x.data() + sequences.offset(b) * x.outerStride(), x.outerStride(),
                                          sequences.length(b), x.cols(), &y.coeffRef(b, 0));
  });
}

/// mean_over_tokens() as an op. Each row of sequence b in ∂x receives ∂y[b] / length of b.
/// Shapes: x is rows × C, y is sequences × C.
/// Errors: ShapeError if the sequences do not cover the rows of x.
/// Cost: one pass over x, and one over ∂x in the backward pass.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> mean_over_tokens(Run& run, const MatrixOf<Run>& x) {
  run.sequences().expect_total("mean_over_tokens", run.rows(x));
  const auto y = run.make(run.sequences().count(), run.columns(x));
  mean_over_tokens<T>(run[x], run.sequences(), run[y], run.workspace());
  if constexpr (Run::records) {
    run.push([x, y, sequences = run.kept_sequences()](auto& back) {
      const Sequences split = back.sequences(sequences);
      const ConstView<T> dy = back.gradient(y);
      auto [to, fresh] = back.target(x);
      for (Index b = 0; b < split.count(); ++b) {
        const T share = T{1} / static_cast<T>(std::max<Index>(split.length(b), 1));
        assign<T>(to.middleRows(split.offset(b), split.length(b)), back.workspace(),
                  per_channel<T>(&dy.coeffRef(b, 0)) * number(share), !fresh);
      }
    });
  }
  return y;
}

/// y[b] = the first row of sequence b: the class token's output.
/// Shapes: x is rows × C, y is sequences × C.
/// Errors: ShapeError if a sequence is empty, or the sequences do not cover the rows of x.
/// Cost: one copy of a row per sequence.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> first_tokens(Run& run, const MatrixOf<Run>& x) {
  const Sequences& sequences = run.sequences();
  sequences.expect_total("first_tokens", run.rows(x));
  const auto y = run.make(sequences.count(), run.columns(x));
  const MatrixView<const T> from = run[x];
  const MatrixView<T> to = run[y];
  for (Index b = 0; b < sequences.count(); ++b) {
    require<ShapeError>(sequences.length(b) > 0, "first_tokens: sequence ", b, " is empty.");
    to.rows(b, 1).assign(from.rows(sequences.offset(b), 1));
  }
  if constexpr (Run::records) {
    run.push([x, y, kept = run.kept_sequences()](auto& back) {
      const Sequences split = back.sequences(kept);
      const ConstView<T> dy = back.gradient(y);
      View<T> dx = accumulator(back, x);
      for (Index b = 0; b < split.count(); ++b) {
        dx.row(split.offset(b)) += dy.row(b);
      }
    });
  }
  return y;
}

/// y = x with `token` prepended to each sequence, as a class token. ∂token is the sum of ∂y over the prepended rows. The run's
/// sequences are those of x, not of y.
/// Shapes: token has length C, x is rows × C, y is (rows + sequences) × C and must not overlap x.
/// Cost: one copy, and one pass over ∂y in the backward pass.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> prepend(Run& run, const Vector<T>& token, const MatrixOf<Run>& x) {
  const Sequences& sequences = run.sequences();
  const auto y = run.make(run.rows(x) + sequences.count(), run.columns(x));
  const MatrixView<T> out = run[y];
  const MatrixView<const T> from = run[x], first(token.data(), 1, token.size(), 0);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    out.rows(offset + b, 1).assign(first);
    out.rows(offset + b + 1, length).assign(from.rows(offset, length));
  }
  if constexpr (Run::records) {
    run.push([&token, x, y, kept = run.kept_sequences()](auto& back) {
      const Sequences split = back.sequences(kept);
      const ConstView<T> dy = back.gradient(y);
      T* const token_gradient = back.gradient_of(token.data());
      auto [dx, fresh] = back.target(x);
      for (Index b = 0; b < split.count(); ++b) {
        const Index offset = split.offset(b), length = split.length(b);
        auto rows = dx.middleRows(offset, length);
        const auto given = dy.middleRows(offset + b + 1, length);
        if (fresh) {
          rows = given;
        } else {
          rows += given;
        }
        for (Index j = 0; token_gradient != nullptr && j < dy.cols(); ++j) {
          token_gradient[j] += dy(offset + b, j);
        }
      }
    });
  }
  return y;
}

}  // namespace gated
