#pragma once

#include "gated/ops/attention.hpp"
#include "gated/ops/depthwise.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// Lightweight convolution over the tokens of each sequence, as an op with its derivative.

namespace gated {

/// The parameters of a lightweight convolution. Non-owning.
template <class T>
struct LightweightTaps {
  const Matrix<T>& weight;  ///< H × K; channel c uses the taps of head ⌊c / R⌋, R = C / H
  const Vector<T>& bias;    ///< C, or empty
  Index own_tap = 0;        ///< the tap that reads the token itself; later taps read later tokens
  bool softmax = true;      ///< softmax over the K taps of each head; if false, `weight` holds the taps
};

namespace detail {

/// Weights y[c, k] = w[⌊c / R⌋, k] of a depthwise convolution. w is softmax(weight) over the taps or, without softmax, weight.
/// Backward: ∂w[h, k] = Σ_c ∂y[c, k] over the channels of head h; with softmax, ∂weight = w ⊙ (∂w - Σ_k w ⊙ ∂w).
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> share_taps(Run& run, const Matrix<T>& weight, Index channels, bool softmax) {
  const Index heads = weight.rows(), taps = weight.cols(), width = channels / heads;
  const auto y = run.make(channels, taps);
  const MatrixView<T> shared = run[y], first_of_heads(shared.data, heads, taps, width * shared.stride);
  first_of_heads.assign(weight);
  if (softmax) {
    gated::softmax<T>(first_of_heads, run.workspace());
  }
  for (Index c = 0; c < channels; ++c) {
    if (const Index first = c / width * width; first != c) {
      shared.rows(c, 1).assign(shared.rows(first, 1));
    }
  }
  if constexpr (Run::records) {
    run.push([&weight, y, first_of_heads, width, softmax](auto& back) {
      if (T* const to = back.gradient_of(weight.data())) {
        Workspace<T>& workspace = back.workspace();
        const auto frame = workspace.frame();
        const ConstView<T> dy = back.gradient(y);
        MatrixMap<T> sums = workspace.matrix(weight.rows(), weight.cols());
        sums.setZero();
        for (Index c = 0; c < dy.rows(); ++c) {
          sums.row(c / width) += dy.row(c);
        }
        if (softmax) {
          scores_backward<T>(0, Scoring<T>{.kernel = ScoreKernel::softmax}, first_of_heads, sums, workspace);
        }
        Eigen::Map<Matrix<T>>(to, weight.rows(), weight.cols()) += sums;
      }
    });
  }
  return y;
}

}  // namespace detail

/// y[t, c] = bias[c] + Σ_k w[⌊c / R⌋, k] · x[t + k - own_tap, c] with `epilogue` applied (arXiv:1901.10430, §3.1): a depthwise
/// convolution whose neighbouring channels share taps. Here w = softmax(weight) over the taps or, without softmax, w = weight.
/// The softmax covers all K taps, including those outside the sequence, which read zeros.
///
/// Shapes: x and y are N × C.
/// Cost: as for convolve_depthwise().
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> convolve_lightweight(Run& run, const MatrixOf<Run>& x, const LightweightTaps<T>& taps,
                                   const Epilogue<Run>& epilogue) {
  const auto weight = detail::share_taps(run, taps.weight, run.columns(x), taps.softmax);
  return convolve_depthwise(run, x, Depthwise<T>{.weight = run[weight], .bias = taps.bias, .own_tap = taps.own_tap}, epilogue,
                            weight);
}

}  // namespace gated
