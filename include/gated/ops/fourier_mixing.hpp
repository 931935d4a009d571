#pragma once

#include <algorithm>

#include "gated/core/sequence_groups.hpp"
#include "gated/ops/fourier.hpp"
#include "gated/ops/fused.hpp"

/// @file
/// The token mixer of FNet: a Fourier transform over tokens and channels, of which the real part is kept.

namespace gated {

namespace detail::fourier {

/// to[k][i] = from[i][k] for `rows` ≤ one vector's width of rows; zeros for the missing ones.
template <class T>
void transpose_rows(const T* from, Index stride, Index rows, Index columns, T* to, Index to_stride) {
  constexpr Index width = Simd<T>::width;
  Index k = 0;
  for (; rows == width && k + width <= columns; k += width) {
    transpose_block(from + k, stride, to + k * to_stride, to_stride);
  }
  for (; k < columns; ++k) {
    for (Index i = 0; i < width; ++i) {
      to[k * to_stride + i] = i < rows ? from[i * stride + k] : T{0};
    }
  }
}

/// y = Re(F_n x F_d) for the sequences of a batch, joined by `epilogue`. y may be x.
///
/// Of a real x, the transform of token n - m is the conjugate of that of token m: only half of them are computed, two columns
/// of x at a time as real and imaginary parts of one. With Z = F_n x, the real parts of the bins k of F_d applied to row m of Z
/// are those of token m, and of the bins -k those of token n - m.
template <class T>
void mix_group(const Sequences& sequences, const Rows<const T>& x, const Rows<T>& y, const Epilogue<T>& epilogue,
               Workspace<T>& workspace) {
  constexpr Index width = Simd<T>::width, row = row_size<T>;
  const Index d = x.columns;
  // The rows of Z that are computed lie where those of the sequence do.
  const auto frame = workspace.frame();
  const MatrixMap<T> real = workspace.matrix(x.count, d), imaginary = workspace.matrix(x.count, d);
  const auto at = [](const auto& m, Index i, Index j) { return const_cast<T*>(m.data()) + i * m.outerStride() + j; };

  for_each_transform<T>(
      sequences, d, 2 * width, workspace, [&](const Transform<T>& over_tokens, Index offset, Index column, T* z) {
        const Index n = over_tokens.length(), columns = std::min(2 * width, d - column);
        for (Index t = 0; t < n; ++t) {
          const auto tokens = TileRow<T>::load(x.data + (offset + t) * x.stride + column, columns);
          Complex<T>{tokens.left, tokens.right}.store(z + t * row);
        }
        over_tokens(z);
        const Simd<T> half(T(0.5));
        for (Index m = 0; 2 * m <= n; ++m) {
          const auto a = Complex<T>::load(z + over_tokens.row_of(m) * row),
                     b = Complex<T>::load(z + over_tokens.row_of((n - m) % n) * row);
          TileRow<T>{(a.re + b.re) * half, (a.im + b.im) * half}.store(at(real, offset + m, column), columns);
          TileRow<T>{(a.im - b.im) * half, (b.re - a.re) * half}.store(at(imaginary, offset + m, column), columns);
        }
      });

  const Transform<T>& over_channels = Transform<T>::of(d);
  const Index blocks = (sequences.longest() / 2 + width) / width;  // of rows of Z
  const Threads threads = x.count * d < 1 << 13 ? Threads{1} : workspace.threads();
  T* const scratch = workspace.take(over_channels.scratch_size() * threads.count());
  parallel_for(threads, sequences.count() * blocks, [&](Index task, Index thread) {
    const Index b = task / blocks, first = task % blocks * width, n = sequences.length(b), offset = sequences.offset(b);
    const Index rows = std::min(width, n / 2 + 1 - first);
    if (n == 0 || rows <= 0) {
      return;
    }
    T* const z = scratch + thread * over_channels.scratch_size();
    transpose_rows(at(real, offset + first, 0), real.outerStride(), rows, d, z, row);
    transpose_rows(at(imaginary, offset + first, 0), imaginary.outerStride(), rows, d, z + width, row);
    over_channels(z);
    // The tokens first + i, and of those whose mirror image is another one, n - first - i, in reverse.
    const Index low = std::max<Index>(1 - first, 0), high = std::min(rows, (n + 1) / 2 - first);
    constexpr auto square = Simd<T>::lane_count * Simd<T>::lane_count;
    alignas(cache_line_bytes) T gathered[square], tile[2 * square], mirrored[2 * square];
    for (Index column = 0; column < d; column += 2 * width) {
      const Index columns = std::min(2 * width, d - column);
      for (Index part = 0; part < 2; ++part) {
        for (const bool mirror : {false, true}) {
          for (Index i = 0; i < width; ++i) {
            const Index k = column + part * width + i;
            const Simd<T> bin = k < d ? Simd<T>::load(z + over_channels.row_of(mirror ? (d - k) % d : k) * row) : Simd<T>(T{0});
            bin.store(gathered + i * width);
          }
          T* const to = (mirror ? mirrored + (width - 1) * row : tile) + part * width;
          transpose_block(gathered, width, to, mirror ? -row : row);
        }
      }
      const auto finish = [&](Index token, Index count, T* from) {
        if (count > 0) {
          finish_tile(epilogue, offset + token, column, count, columns, from, y.data + (offset + token) * y.stride + column,
                      y.stride);
        }
      };
      finish(first, rows, tile);
      finish(n - first - high + 1, high - low, mirrored + (width - high) * row);
    }
  });
}

template <class T>
void mix(const Sequences& sequences, const Rows<const T>& x, const Rows<T>& y, const Epilogue<T>& epilogue,
         Workspace<T>& workspace) {
  for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
    mix_group<T>(group, x.middle(first, group.total()), y.middle(first, group.total()),
                 epilogue.block(first, 0, group.total(), x.columns), scratch);
  });
}

}  // namespace detail::fourier

/// y = Re(F_n x F_d), and what `fused` adds: the discrete Fourier transform over the tokens of each sequence and over the
/// channels, not scaled (FNet, arXiv:2105.03824). Any n and d.
///
/// Backward: the same map, which is symmetric. An observer sees the transform alone.
/// Shapes: x and y are N × C.
/// Errors: ArgumentError in a stream.
/// Cost: about 2.5·n·d·log₂(n·d) flops a sequence where n and d have small primes; scratch of 2·n·d numbers.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows mix_by_fourier(Run& run, const typename Run::Rows& x, const Fused<Run>& fused,
                                  const typename Run::Place& to) {
  expect_all_tokens(run, "a Fourier transform over the tokens");
  return join_residual(run, fused, [&](const Fused<Run>& joined) {
    const auto y = run.make(run.count(x), run.width(x), to);
    Epilogue<T> epilogue = epilogue_of(run, joined, y);
    if constexpr (Run::records) {
      const auto kept = joined.keeps() ? run.make(run.count(x), run.width(x)) : typename Run::Rows();
      if (kept) {
        epilogue.kept = run[kept];
      }
      run.push([x, y, kept, joined, sequences = run.kept_sequences()](auto& back) {
        const View<T> dz = backward_through(back, joined, y, kept);
        if (back.wants_gradient(x)) {
          auto [dx, fresh] = back.target(x);
          const Rows<T> place = dx;
          detail::fourier::mix<T>(back.sequences(sequences), Rows<const T>(dz), place,
                                  {.added = fresh ? Rows<const T>() : Rows<const T>(place)}, back.workspace());
        }
      });
    } else if (run.observed() && !joined.is_plain()) {
      const auto frame = run.workspace().frame();
      const Rows<T> alone = run.workspace().matrix(x.count, x.columns);
      detail::fourier::mix<T>(run.sequences(), x, alone, {}, run.workspace());
      run.show(alone);
    }
    detail::fourier::mix<T>(run.sequences(), run[x], run[y], epilogue, run.workspace());
    return y;
  });
}

}  // namespace gated
