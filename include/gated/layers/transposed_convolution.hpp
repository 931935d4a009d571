#pragma once

#include <cmath>

#include "gated/core/random.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Transposed convolution: frames to a waveform.

namespace gated {

/// wave[n] = Σ_t Σ_c x[t, c] · weight[c, n - t · stride]: overlap-add of one frame of `window` samples per row of x, like
/// PyTorch's ConvTranspose1d(C, 1, window, stride). Samples outside all frames are 0.
///
/// In a layer's body: conv.wave(run, x, samples). Each sequence of the run consists of the frames of one wave.
/// Shapes: x is frames × C, y is waves × samples.
/// Cost: 2·frames·C·window flops. Scratch: frames × window elements.
template <class T>
struct TransposedConvolution {
  using Scalar = T;
  static constexpr const char* name = "TransposedConvolution";

  Index stride = 1;  ///< samples from one frame to the next
  Matrix<T> weight;  ///< C × window

  TransposedConvolution() = default;
  TransposedConvolution(Index channels, Index window, Index stride_) : stride(stride_) {
    require<ArgumentError>(channels > 0 && window > 0 && stride_ > 0, name, ": channels = ", channels, ", window = ", window,
                           " and stride = ", stride_, " must be positive.");
    weight = unset_weight<T>(channels, window, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &TransposedConvolution::weight, Role::spatial, &TransposedConvolution::weight_shape));
  }
  /// The shape in which ConvTranspose1d stores `weight`.
  Shape weight_shape() const { return {weight.rows(), 1, weight.cols()}; }

  /// PyTorch's initialization: uniform in ±1 / √window.
  void initialize(Random& random) { fill_uniform(weight, 1 / std::sqrt(static_cast<double>(weight.cols())), random); }

  /// Converts the frames x to waves, one per sequence. Backward: ∂x = ∂frames weightᵀ and ∂weight = xᵀ ∂frames, where ∂frames
  /// are the frames of ∂wave. `samples` must be at least (frames - 1) · stride + window; this is not checked.
  template <class Run>
  MatrixOf<Run> wave(Run& run, const MatrixOf<Run>& x, Index samples) const {
    expect_set(run, "weight", weight);
    const Sequences& sequences = run.sequences();
    const auto y = run.make(sequences.count(), samples);
    {
      const auto frame = run.workspace().inner_frame();
      MatrixMap<T> frames = run.workspace().matrix(run.rows(x), weight.cols());
      matmul(run[x], weight, frames, run.workspace());
      MatrixView<T>(run[y]).fill(T{0});
      for_each_frame(sequences, run[y], [&](Index row, auto samples_of_frame) { samples_of_frame += frames.row(row); });
    }
    if constexpr (Run::records) {
      run.push([this, x, y, kept = run.kept_sequences()](auto& back) {
        const auto frame = back.workspace().frame();
        MatrixMap<T> frames = back.workspace().matrix(back.rows(x), weight.cols());
        for_each_frame(back.sequences(kept), back.last_gradient(y),
                       [&](Index row, auto samples_of_frame) { frames.row(row) = samples_of_frame; });
        add_parameter_product(back, weight, transposed(back[x]), frames);
        add_gradient_product(back, x, frames, transposed(weight));
      });
    }
    return y;
  }

 private:
  /// Calls f(row of x, samples of this frame in y) for each frame.
  template <class F>
  void for_each_frame(const Sequences& sequences, View<T> y, const F& f) const {
    for (Index b = 0; b < sequences.count(); ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        f(sequences.offset(b) + t, y.row(b).segment(t * stride, weight.cols()));
      }
    }
  }
};

}  // namespace gated
