#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "gated/core/elementary.hpp"
#include "gated/core/parameter_budget.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/angles.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Rotary position embedding (RoPE; Su et al., arXiv:2104.09864).

namespace gated {

/// Rotary layout: which channels form pairs. `none` rotates nothing.
enum class Rotary {
  none,
  interleaved,  ///< (0, 1), (2, 3), …: rotary-embedding-torch, GAU-α
  half          ///< (0, r/2), (1, r/2 + 1), …: the FLASH paper, JunnYu's FLASH-Quad
};

constexpr auto names_of(Rotary) { return words_for<Rotary>("none", "interleaved", "half"); }

/// base^(-2k/r) for k < r/2, with r = `dimensions`: the angle by which pair k turns per position.
template <class T>
Vector<T> rotary_frequencies(Index dimensions, double base = 10000.0) {
  require<ArgumentError>(dimensions > 0 && dimensions % 2 == 0, "rotary_frequencies: dimensions = ", dimensions,
                         ", expected a positive even number: channels are rotated in pairs.");
  expect_memory<T>("rotary_frequencies", dimensions / 2);
  Vector<T> frequencies(dimensions / 2);
  for (Index k = 0; k < frequencies.size(); ++k) {
    frequencies[k] = static_cast<T>(elementary::pow(base, -2.0 * static_cast<double>(k) / static_cast<double>(dimensions)));
  }
  return frequencies;
}

/// Row t of `table` becomes cos(p f_k) for all k, then sin(p f_k), at position p = first + t. Angles are computed in double,
/// accurate at any position.
/// Shapes: frequencies has length r/2, table is tokens × r.
template <class T>
void rotary_table(const Vector<T>& frequencies, Index first, View<T> table) {
  const Index pairs = frequencies.size();
  for_each_angle(frequencies, first, table.rows(), [&](Index t, Index k, double cosine, double sine) {
    table(t, k) = static_cast<T>(cosine);
    table(t, pairs + k) = static_cast<T>(sine);
  });
}

/// Rotates the first r channels of each row, pair by pair: (a, b) → (a cos - b sin, b cos + a sin), in place.
///
/// Shapes: x is tokens × C with C ≥ r, table is tokens × r from rotary_table().
/// Cost: one pass over x.
template <class T>
void rotate(View<T> x, const ConstView<T>& table, Rotary layout) {
  kernels<RowKernels<T>>().rotate_rows(x.data(), x.outerStride(), x.rows(), table.data(), table.outerStride(), table.cols() / 2,
                                       layout == Rotary::interleaved);
}

namespace detail {

/// Rotates each of `parts`, head by head. A head has `width` columns, or all columns if `width` is 0. Every sequence starts at
/// position `first`. sign = -1 applies the inverse rotation.
template <class T, class... Parts>
void rotate_all(const Vector<T>& frequencies, Rotary layout, Index width, const Sequences& sequences, Index first, T sign,
                Workspace<T>& workspace, const Parts&... parts) {
  const auto expect_part = [&](const View<T>& part) {
    sequences.expect_total("RotaryEmbedding", part.rows());
    const Index columns = width == 0 ? part.cols() : width;
    require<ShapeError>(columns >= 2 * frequencies.size(), "RotaryEmbedding: x has ", columns,
                        width == 0 ? " columns" : " columns per head", ", expected at least the ", 2 * frequencies.size(),
                        " that are rotated.");
  };
  (expect_part(parts), ...);
  const auto frame = workspace.frame();
  MatrixMap<T> table = workspace.matrix(sequences.longest(), 2 * frequencies.size());
  rotary_table<T>(frequencies, first, table);
  if (sign < T{0}) {
    table.rightCols(frequencies.size()) *= T{-1};
  }
  for_each_block_of_rows(sequences.total(), workspace, [&](Index row, Index rows) {
    sequences.for_each_part(row, rows, [&](Index from, Index position, Index count) {
      const auto rotate_part = [&](View<T> part) {
        const Index columns = width == 0 ? part.cols() : width;
        for (Index first_column = 0; first_column < part.cols(); first_column += columns) {
          rotate<T>(part.block(from, first_column, count, columns), table.middleRows(position, count), layout);
        }
      };
      (rotate_part(parts), ...);
    });
  });
}

}  // namespace detail

/// Rotates the first r channels of each head in each of `parts`, as an op; the angles depend on the row's position in its
/// sequence. Parts that are moved in are rotated in place, except in a recording run. Gradients are rotated back. `frequencies`
/// must outlive the backward pass. Each head has `width` columns; 0 means one head.
/// Shapes: frequencies has length r/2; each of `parts` is N × heads·width, with width ≥ r.
/// Errors: ShapeError if the sequences do not cover the rows, or a head has too few channels.
/// Cost: N·r/2 sines and cosines and one pass over each of `parts`; the same backward. A recording run also copies the parts.
template <class Run, class T, std::size_t count>
std::array<MatrixOf<Run>, count> rotate_heads(Run& run, Rotary layout, const Vector<T>& frequencies, Index width,
                                              std::array<MatrixOf<Run>, count> parts) {
  if (layout == Rotary::none) {
    return parts;
  }
  for (auto& part : parts) {
    part = run.owned(std::move(part));
  }
  const Index first = run.position();
  std::apply(
      [&](const auto&... part) {
        detail::rotate_all<T>(frequencies, layout, width, run.sequences(), first, T{1}, run.workspace(), run[part]...);
      },
      parts);
  if constexpr (Run::records) {
    run.push([&frequencies, layout, width, sequences = run.kept_sequences(), parts](auto& back) {
      std::apply(
          [&](const auto&... part) {
            detail::rotate_all<T>(frequencies, layout, width, back.sequences(sequences), 0, T{-1}, back.workspace(),
                                  accumulator(back, part)...);
          },
          parts);
    });
  }
  return parts;
}

/// rotate_heads() for a single head.
/// Shapes: frequencies has length r/2; each of `parts` is N × C with C ≥ r.
/// Errors: ShapeError as in rotate_heads().
/// Cost: N·r/2 sines and cosines and one pass over each of `parts`; the same backward. A recording run also copies the parts.
template <class Run, class T, std::size_t count>
std::array<MatrixOf<Run>, count> rotate(Run& run, Rotary layout, const Vector<T>& frequencies,
                                        std::array<MatrixOf<Run>, count> parts) {
  return rotate_heads(run, layout, frequencies, 0, std::move(parts));
}

}  // namespace gated
