#pragma once

#include "gated/ops/spatial.hpp"

/// @file
/// A convolution over tokens with a kernel as long as the sequence.

namespace gated {

/// The options of long_convolution().
struct LongConvolution {
  bool causal = true;                      ///< tokens see no later ones
  Index fourier_from = fourier_crossover;  ///< tokens from which it goes by Fourier transform
};

/// y_i = Σ_j w_{i-j} v_j over the tokens of each sequence, and what `fused` adds; each row of w is the kernel of as many
/// columns.
///
/// It is a spatial projection by a Toeplitz weight without a bias: see mix_tokens() for streams, which need
/// `options.causal`, for the backward pass and for the cost, and SpatialWeight for the lengths at which it is transformed.
/// Shapes: v and y are rows × C; w is heads × N with lags 0 … N - 1 if causal, or heads × (2N-1) with lags 1 - N … N - 1.
/// Errors: ShapeError for sequences of more than N tokens, a w of an even number of lags that is not causal, and heads that do
/// not divide C; ArgumentError for a stream that is not causal.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows long_convolution(Run& run, const Matrix<T>& w, const LongConvolution& options, const typename Run::Rows& v,
                                    const Fused<Run>& fused, const typename Run::Place& to) {
  const Index heads = w.rows(), length = options.causal ? w.cols() : (w.cols() + 1) / 2;
  require<ShapeError>(heads > 0 && w.cols() > 0 && (options.causal || w.cols() % 2 == 1), "long_convolution: w is ", heads,
                      " × ", w.cols(), ", expected heads × ",
                      options.causal ? "N." : "(2N-1): as many lags before 0 as after it.");
  require<ShapeError>(run.width(v) % heads == 0, "long_convolution: v has ", run.width(v), " channels, which heads = ", heads,
                      " does not divide.");
  require<ShapeError>(run.sequences().longest() <= length, "long_convolution: a sequence has ", run.sequences().longest(),
                      " tokens, but w has ", length, " lags. Give it more, zeros if need be.");
  if constexpr (Run::streams) {
    require<ArgumentError>(options.causal, run.where(),
                           ": the convolution is not causal, so a token's output depends on later tokens and cannot be "
                           "streamed. Build it with causal = true.");
  }
  const SpatialWeight<T> weight{SpatialForm::toeplitz, length, heads, options.causal, &w, nullptr, nullptr, nullptr,
                                options.fourier_from};
  return mix_tokens(run, weight, v, fused, to);
}

}  // namespace gated
