#pragma once

#include "gated/core/sequences.hpp"
#include "gated/ops/epilogue.hpp"
#include "gated/ops/norm.hpp"

/// @file
/// Convolution along the tokens, each channel with its own kernel: the op, without parameters and state.

namespace speech {

using gated::ConstView, gated::Index, gated::Matrix, gated::MatrixMap, gated::Sequences, gated::Simd, gated::Vector;
using gated::View, gated::Workspace;

/// y[t, c] = stages(bias[c] + Σ_k weight[c, k] · x[t + k - (K-1)/2, c]), zero outside the token's own sequence.
///
/// PyTorch's Conv1d(C, C, K, padding=(K-1)/2, groups=C). With `reversed` the kernel is read from its end, which is the
/// transpose: how gradients pass. An empty bias adds nothing; a stage is one of ops/epilogue.hpp or any function of its kind.
/// Shapes: x and y are N × C and must not overlap; weight is C × K with an odd K. Cost: 2·N·C·K flops; scratch K × C.
template <class T, class... Stages>
void depthwise_convolution(const ConstView<T>& x, const Matrix<T>& weight, const Vector<T>& bias, const Sequences& sequences,
                           bool reversed, View<T> y, Workspace<T>& workspace, const Stages&... stages) {
  const Index channels = weight.rows(), taps = weight.cols(), before = (taps - 1) / 2;
  const auto frame = workspace.frame();
  // Vectors run along the channels, so the kernels are needed tap by tap.
  MatrixMap<T> kernels = workspace.matrix(taps, channels);
  for (Index k = 0; k < taps; ++k) {
    kernels.row(k) = weight.col(reversed ? taps - 1 - k : k).transpose();
  }
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index first = sequences.offset(b), length = sequences.length(b);
    gated::for_each_row(length, workspace, [&](Index t) {  // tasks of 32 rows, whatever the number of threads
      const Index lowest = std::max<Index>(before - t, 0), highest = std::min(taps, length - t + before);
      gated::for_each_vector<T>(channels, [&](Index c, Index lanes) {
        Simd<T> sum = bias.size() == 0 ? Simd<T>(T{0}) : Simd<T>::load(bias.data() + c, lanes);
        for (Index k = lowest; k < highest; ++k) {
          const T* const source = x.data() + (first + t + k - before) * x.outerStride() + c;
          sum = fma(Simd<T>::load(source, lanes), Simd<T>::load(&kernels(k, c), lanes), sum);
        }
        ((sum = stages(gated::Position{first + t, c, lanes}, sum)), ...);
        sum.store(&y(first + t, c), lanes);
      });
    });
  }
}

/// The gradient of the kernels: to[c, k] += Σ_t dy[t, c] · x[t + k - (K-1)/2, c].
///
/// Shapes: x and dy are N × C, `to` is C × K. Each tap is a task that adds up the tokens in their order. Cost: 2·N·C·K flops;
/// scratch K × C.
template <class T>
void add_kernel_gradient(const ConstView<T>& x, const ConstView<T>& dy, const Sequences& sequences, View<T> to,
                         Workspace<T>& workspace) {
  const Index channels = to.rows(), taps = to.cols(), before = (taps - 1) / 2;
  const auto frame = workspace.frame();
  MatrixMap<T> sums = workspace.matrix(taps, channels);
  gated::parallel_for(workspace.threads(), taps, [&](Index k, Index) {
    sums.row(k).setZero();
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index first = sequences.offset(b), length = sequences.length(b), shift = k - before;
      for (Index t = std::max<Index>(-shift, 0); t < std::min(length, length - shift); ++t) {
        sums.row(k) += dy.row(first + t).cwiseProduct(x.row(first + t + shift));
      }
    }
  });
  to += sums.transpose();
}

}  // namespace speech
