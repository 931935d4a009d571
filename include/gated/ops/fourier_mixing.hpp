#pragma once

#include <algorithm>

#include "gated/core/sequence_groups.hpp"
#include "gated/ops/fourier.hpp"
#include "gated/ops/join.hpp"

/// @file
/// FNet's token mixer: the real part of a Fourier transform over tokens and channels.

namespace gated {

namespace detail::fourier {

/// y = Re(F_n x F_d) for the sequences of a batch, with `epilogue` applied: F_n transforms tokens, F_d channels. y may be x.
///
/// For real x, rows m and n - m of Z = F_n x are conjugates, so only rows m ≤ n/2 are stored. Columns of x are transformed in
/// pairs, as the real and imaginary parts of one complex column. After F_d is applied to row m of Z, the real part of bin k
/// belongs to token m, and the real part of bin -k to token n - m.
template <class T>
void mix_group(const Sequences& sequences, const MatrixView<const T>& x, const MatrixView<T>& y, const Epilogue<T>& epilogue,
               Workspace<T>& workspace) {
  const Index width = vector_width<T>(), d = x.columns();
  // Row m of Z is stored in row m of its sequence.
  const auto frame = workspace.frame();
  const MatrixView<T> real = workspace.matrix(x.rows(), d), imaginary = workspace.matrix(x.rows(), d);
  for_each_transform<T>(
      sequences, d, transform_columns<T>(), workspace, [&](const Transform<T>& over_tokens, Index offset, Index column, T* z) {
        const Index n = over_tokens.length(), columns = std::min(transform_columns<T>(), d - column);
        load_pair<T>(x.block(offset, column, n, columns), nullptr, z);
        over_tokens(z);
        const MatrixView<T> re = real.block(offset, column, n, columns), im = imaginary.block(offset, column, n, columns);
        kernels<FourierMixingKernels<T>>().fourier_split(z, over_tokens.order(), n, re.data, re.stride, im.data, im.stride,
                                                         columns);
      });

  const Transform<T>& over_channels = Transform<T>::of(d);
  const Index blocks = (sequences.longest() / 2 + width) / width;  // blocks of `width` rows of Z
  const Threads threads = x.rows() * d < 1 << 13 ? Threads{1} : workspace.threads();
  T* const scratch = workspace.take(over_channels.scratch_size() * threads.count());
  parallel_for(threads, sequences.count() * blocks, [&](Index task, Index thread) {
    const Index b = task / blocks, first = task % blocks * width, n = sequences.length(b), offset = sequences.offset(b);
    const Index rows = std::min(width, n / 2 + 1 - first);
    if (n == 0 || rows <= 0) {
      return;
    }
    T* const z = scratch + thread * over_channels.scratch_size();
    kernels<FourierMixingKernels<T>>().fourier_load_transposed(real.rows(offset + first, rows),
                                                               imaginary.rows(offset + first, rows), z);
    over_channels(z);
    // Tokens m = first + i, then their mirror images n - m. Tokens with m = 0 or 2·m = n have no mirror image.
    const Index low = std::max<Index>(1 - first, 0), high = std::min(rows, (n + 1) / 2 - first);
    const Index* const order = over_channels.order();
    kernels<FourierMixingKernels<T>>().fourier_finish(z, order, false, offset + first, 0, rows, epilogue, y);
    kernels<FourierMixingKernels<T>>().fourier_finish(z, order, true, offset + n - first, low, high, epilogue, y);
  });
}

template <class T>
void mix(const Sequences& sequences, const MatrixView<const T>& x, const MatrixView<T>& y, const Epilogue<T>& epilogue,
         Workspace<T>& workspace) {
  for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
    mix_group<T>(group, x.rows(first, group.total()), y.rows(first, group.total()),
                 epilogue.block(first, 0, group.total(), x.columns()), scratch);
  });
}

}  // namespace detail::fourier

/// y = Re(F_n x F_d) with `epilogue` applied: the unscaled discrete Fourier transform over the tokens of each sequence and over
/// the channels (FNet, arXiv:2105.03824), for any n and d.
///
/// The map is symmetric: the backward pass applies it to ∂y.
/// Shapes: x and y are N × C.
/// Errors: ArgumentError in a stream.
/// Cost: about 2.5·n·d·log₂(n·d) flops per sequence if n and d have small prime factors; scratch: 2·n·d values.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> mix_by_fourier(Run& run, const MatrixOf<Run>& x, Epilogue<Run> epilogue) {
  expect_all_tokens(run, "a Fourier transform over the tokens");
  const Joined<Run> joined = joined_result(run, run.rows(x), run.columns(x), epilogue);
  if constexpr (Run::records) {
    run.push([x, y = joined.y, saved = joined.saved, epilogue, sequences = run.kept_sequences()](auto& back) {
      const View<T> dz = backward_through(back, epilogue, y, saved);
      if (back.wants_gradient(x)) {
        auto [dx, fresh] = back.target(x);
        const MatrixView<T> place = dx;
        detail::fourier::mix<T>(back.sequences(sequences), MatrixView<const T>(dz), place,
                                {.added = fresh ? MatrixView<const T>() : MatrixView<const T>(place)}, back.workspace());
      }
    });
  }
  detail::fourier::mix<T>(run.sequences(), run[x], run[joined.y], joined.epilogue, run.workspace());
  return joined.y;
}

}  // namespace gated
