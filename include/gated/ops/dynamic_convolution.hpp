#pragma once

#include "gated/ops/attention.hpp"
#include "gated/ops/convolution_tiles.hpp"
#include "gated/ops/join.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// Dynamic convolution over the tokens of each sequence, as an op with its derivative.

namespace gated {

/// The options of a dynamic convolution. Non-owning.
template <class T>
struct DynamicTaps {
  const Vector<T>& bias;  ///< C, or empty
  Index heads = 1;        ///< H; channel c uses the taps of head ⌊c / R⌋, R = C / H
  Index count = 0;        ///< K, taps per head
  Index own_tap = 0;      ///< the tap that reads the token itself; later taps read later tokens
  bool softmax = true;    ///< true: taps = softmax(scores) over the K taps of each token and head; false: taps = scores
};

namespace detail {

/// One pass of a dynamic convolution over a ragged batch.
template <class T>
struct DynamicPass {
  ConvolutionTaps taps;
  Index heads;
  const Sequences& sequences;
  MatrixView<const T> x;
  MatrixView<const T> weights;  ///< row t: the taps of token t, head by head
  /// Number of rows at the start of x that a stream remembers from earlier tokens; 0 if not streamed.
  Index known = 0;

  /// y[t, c] = Σ_k weights[t, h · K + k] · x[t + k - own, c] for h = ⌊c / R⌋, with `epilogue` applied.
  void run(const MatrixView<T>& y, const Epilogue<T>& epilogue, const Workspace<T>& workspace) const {
    const Index width = kernels<ProductKernels<T>>().panel_columns, of_head = y.columns() / heads;
    for_each_block_of_rows(y.rows(), workspace, [&](Index first, Index rows) {
      for (Index head = 0; head < heads; ++head) {
        for (Index column = head * of_head, end = column + of_head; column < end; column += width) {
          run_block(head, column, std::min(width, end - column), first, rows, y, epilogue);
        }
      }
    });
  }

  /// dw[t, h · K + k] = Σ_c dz[t, c] · x[t + k - own, c] over the channels of head h; 0 for taps outside the sequence.
  void tap_gradients(const MatrixView<const T>& dz, const MatrixView<T>& dw, const Workspace<T>& workspace) const {
    const Index of_head = dz.columns() / heads;
    for_each_block_of_rows(dz.rows(), workspace, [&](Index first, Index rows) {
      dw.rows(first, rows).fill(T{0});
      for_each_convolution_tile(taps, sequences, known, first, rows, [&](const ConvolutionTile& tile) {
        for (Index i = 0; i < tile.rows; ++i) {
          for (Index head = 0; head < heads; ++head) {
            const Index row = tile.row + i, column = head * of_head;
            kernels<DynamicConvolutionDerivatives<T>>().tap_gradients(
                tile.tap_count, dz.data + row * dz.stride + column, x.data + (tile.from(taps, known) + i) * x.stride + column,
                x.stride, of_head, dw.data + row * dw.stride + head * taps.count + tile.first);
          }
        }
      });
    });
  }

 private:
  /// Computes the block of `rows` rows and `columns` columns of y that starts at (first, column), within one head.
  void run_block(Index head, Index column, Index columns, Index first, Index rows, const MatrixView<T>& y,
                 const Epilogue<T>& epilogue) const {
    alignas(64) T values[std::size_t{depthwise_tile_rows} * 2 * 64 / sizeof(T)];  // per row, two vectors of up to 64 bytes
    for_each_convolution_tile(taps, sequences, known, first, rows, [&](const ConvolutionTile& tile) {
      const T* const of_token = weights.data + tile.row * weights.stride + head * taps.count + tile.first;
      kernels<DynamicConvolutionKernels<T>>().convolve_tile(tile.tap_count, of_token, weights.stride,
                                                            x.data + tile.from(taps, known) * x.stride + column, x.stride,
                                                            tile.rows, columns, values);
      kernels<ProductKernels<T>>().finish_tile(epilogue, tile.row, column, tile.rows, columns, values,
                                               y.data + tile.row * y.stride + column, y.stride);
    });
  }
};

/// The weights of the backward pass: to[s, h · K + k] = weights[t, h · K + K - 1 - k] for t = s + k - reversed.own. This is the
/// weight with which token t reads token s.
template <class T>
void reverse_taps(const ConvolutionTaps& reversed, Index heads, const Sequences& sequences, const MatrixView<const T>& weights,
                  const MatrixView<T>& to, const Workspace<T>& workspace) {
  const Index last = reversed.count - 1;
  for_each_block_of_rows(to.rows(), workspace, [&](Index first, Index rows) {
    for_each_convolution_tile(reversed, sequences, 0, first, rows, [&](const ConvolutionTile& tile) {
      for (Index i = 0; i < tile.rows; ++i) {
        for (Index k = tile.first; k < tile.first + tile.tap_count; ++k) {
          const T* const from = weights.data + (tile.row + i + k - reversed.own) * weights.stride + last - k;
          T* const into = to.data + (tile.row + i) * to.stride + k;
          for (Index head = 0; head < heads; ++head) {
            into[head * reversed.count] = from[head * reversed.count];
          }
        }
      }
    });
  });
}

/// Backward pass of convolve_dynamic(), given ∂z. `pass` describes the forward pass.
template <class Back, class Variable, class T = typename Back::Scalar>
void dynamic_convolution_backward(Back& back, Variable x, Variable scores, const DynamicPass<T>& pass, bool softmax,
                                  const MatrixView<T>& softmaxed, const MatrixView<const T>& dz) {
  Workspace<T>& workspace = back.workspace();
  if (back.wants_gradient(x)) {
    const auto frame = workspace.frame();
    auto [to, fresh] = back.target(x);
    const MatrixView<T> dx = to;
    MatrixMap<T> weights = workspace.matrix(pass.weights.rows(), pass.weights.columns());
    DynamicPass<T> gather = pass;
    gather.taps = pass.taps.reversed();
    gather.x = dz;
    gather.weights = weights;
    reverse_taps<T>(gather.taps, pass.heads, pass.sequences, pass.weights, weights, workspace);
    gather.run(dx, {.added = fresh ? MatrixView<const T>() : MatrixView<const T>(dx)}, workspace);
  }
  if (back.wants_gradient(scores)) {
    const auto frame = workspace.frame();
    const Index rows = pass.weights.rows(), columns = pass.weights.columns(), taps = pass.taps.count;
    const MatrixView<T> dw(workspace.take(rows * columns), rows, columns, columns);
    pass.tap_gradients(dz, dw, workspace);
    if (softmax) {
      const MatrixView<T> by_head(dw.data, rows * pass.heads, taps, taps);
      scores_backward<T>(0, Scoring<T>{.kernel = ScoreKernel::softmax}, softmaxed, by_head, workspace);
    }
    add_gradient<Back>(back, scores, ConstView<T>(dw));
  }
}

}  // namespace detail

/// y[t, c] = bias[c] + Σ_k w[t, h · K + k] · x[t + k - own_tap, c] for h = ⌊c / R⌋, with `epilogue` applied. Here w is
/// softmax(scores) over the K taps of each token and head, or the scores themselves (arXiv:1901.10430, §3.2). x is zero outside
/// the token's own sequence, but the softmax always covers all K taps. In a stream, which remembers K - 1 tokens, no tap may
/// read a later token.
///
/// Backward, with ∂z from backward_through():
///
///     ∂w[t, h · K + k] = Σ_c ∂z[t, c] · x[t + k - own_tap, c]      ∂scores = w ⊙ (∂w - Σ_k w ⊙ ∂w)
///     ∂x[s, c] = Σ_k w[s - k + own_tap, h · K + k] · ∂z[s - k + own_tap, c]
///
/// Shapes: x and y are N × C, scores is N × (H · K).
/// Cost: 2·N·C·K flops and N·H·K exponentials, twice that backward; scratch of N·H·K elements.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> convolve_dynamic(Run& run, const MatrixOf<Run>& x, const MatrixOf<Run>& scores, const DynamicTaps<T>& d,
                               const Epilogue<Run>& epilogue) {
  const Index rows = run.rows(scores), columns = run.columns(scores);
  const Joined<Run> joined = joined_result(run, run.rows(x), run.columns(x), epilogue, {.bias = d.bias.data()});
  MatrixView<T> by_head;
  MatrixView<const T> weights = run[scores], tokens = run[x];
  if (d.softmax) {
    by_head = {run.take(rows * columns), rows * d.heads, d.count, d.count};
    const MatrixView<T> copy(by_head.data, rows, columns, columns);
    copy.assign(weights);
    softmax<T>(by_head, run.workspace());
    weights = copy;
  }
  const detail::ConvolutionTaps taps{.count = d.count, .own = d.own_tap};
  if constexpr (Run::streams) {
    tokens = detail::with_rows_before(run, x, taps.before());
  }
  const detail::DynamicPass<T> pass{taps, d.heads, run.sequences(), tokens, weights, tokens.rows() - run.rows(x)};
  pass.run(run[joined.y], joined.epilogue, run.workspace());
  if constexpr (Run::records) {
    run.push([x, scores, y = joined.y, saved = joined.saved, epilogue, d, taps, weights, by_head,
              sequences = run.kept_sequences()](auto& back) {
      const MatrixView<const T> dz = backward_through(back, epilogue, y, saved, back.gradient_of(d.bias.data()));
      const Sequences own = back.sequences(sequences);
      const detail::DynamicPass<T> pass_back{taps, d.heads, own, back[x], weights};
      detail::dynamic_convolution_backward(back, x, scores, pass_back, d.softmax, by_head, dz);
    });
  }
  return joined.y;
}

}  // namespace gated
