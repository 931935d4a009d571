#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/core/ordered_sum.hpp"
#include "gated/core/parameters.hpp"
#include "gated/layers/mixer_block.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/interpolation.hpp"
#include "gated/ops/matmul.hpp"

/// @file
/// The rules that models/resize.hpp uses to convert spatial weights to another length or grid. All rules take grids; a sequence
/// is a grid of one row.

namespace gated {

namespace detail {

/// Maps each new position on an axis to the old position whose filter it reuses.
using Positions = std::vector<Index>;

/// For each of n' new positions i', the nearest of n old ones if both axes span the same extent: ⌊(i' + 1/2) n / n'⌋.
inline Positions same_place(Index old_size, Index new_size) {
  Positions positions;
  for (Index i = 0; i < new_size; ++i) {
    positions.push_back((2 * i + 1) * old_size / (2 * new_size));
  }
  return positions;
}

/// For each new position i', the nearest of n old ones if both axes have the same start and spacing: min(i', n - 1).
inline Positions same_start(Index old_size, Index new_size) {
  Positions positions;
  for (Index i = 0; i < new_size; ++i) {
    positions.push_back(std::min(i, old_size - 1));
  }
  return positions;
}

/// W'[(y', x'), (y' + Δy, x' + Δx)] = W[(y, x), (y + Δy, x + Δx)] with y = down[y'] and x = across[x']: each new position
/// reuses the filter of one old position. Weights from outside the old grid are 0.
template <class T>
Matrix<T> move_filters(ConstView<T> w, ImageSize old_grid, ImageSize new_grid, const Positions& down, const Positions& across) {
  Matrix<T> moved = Matrix<T>::Zero(new_grid.area(), new_grid.area());
  for (Index i = 0; i < moved.rows(); ++i) {
    const Index new_y = i / new_grid.width, old_y = down[static_cast<std::size_t>(new_y)];
    const Index new_x = i % new_grid.width, old_x = across[static_cast<std::size_t>(new_x)];
    const Index left = std::min(old_x, new_x), right = std::min(old_grid.width - old_x, new_grid.width - new_x);
    const Index above = std::min(old_y, new_y), below = std::min(old_grid.height - old_y, new_grid.height - new_y);
    for (Index dy = -above; dy < below; ++dy) {
      moved.row(i).segment((new_y + dy) * new_grid.width + new_x - left, left + right) =
          w.row(old_y * old_grid.width + old_x).segment((old_y + dy) * old_grid.width + old_x - left, left + right);
    }
  }
  return moved;
}

/// The matrix S that selects positions: (S v)[i'] = v[positions[i']].
template <class T>
Matrix<T> selection(const Positions& positions, Index old_size) {
  Matrix<T> s = Matrix<T>::Zero(static_cast<Index>(positions.size()), old_size);
  for (Index i = 0; i < s.rows(); ++i) {
    s(i, positions[static_cast<std::size_t>(i)]) = T{1};
  }
  return s;
}

/// A variant of interpolation() that keeps sums: every column sums to 1. On a coarser axis, the triangular filter reaches one
/// new cell to each side; a narrower filter would skip old cells.
template <class T>
Matrix<T> redistribution(Index old_size, Index new_size) {
  Matrix<T> b =
      interpolation<T>(old_size, new_size, std::max(1.0, static_cast<double>(old_size) / static_cast<double>(new_size)));
  for (Index j = 0; j < old_size; ++j) {
    b.col(j) /= ordered_sum(b.col(j));
  }
  return b;
}

/// a · b.
template <class T>
Matrix<T> multiplied(const Operand<T>& a, const Operand<T>& b) {
  Workspace<T> workspace;
  Matrix<T> c(a.rows, b.columns);
  matmul(a, b, c, workspace);
  return c;
}

/// Columns `first` … `first + count - 1` of `m`, with zeros for columns outside `m`.
template <class T>
Matrix<T> window(const Matrix<T>& m, Index first, Index count) {
  Matrix<T> out = Matrix<T>::Zero(m.rows(), count);
  const Index from = std::max(first, Index{0}), to = std::min(first + count, m.cols());
  out.middleCols(from - first, to - from) = m.middleCols(from, to - from);
  return out;
}

/// Gathers columns: column i of the result is column positions[i] of `m`.
template <class T>
Matrix<T> take_columns(const Matrix<T>& m, const Positions& positions) {
  Matrix<T> out(m.rows(), m.rows() > 0 ? static_cast<Index>(positions.size()) : 0);
  for (Index i = 0; i < out.cols(); ++i) {
    out.col(i) = m.col(positions[static_cast<std::size_t>(i)]);
  }
  return out;
}

/// Converts linear maps that read or write the tokens of a grid to another grid.
template <class T>
struct GridRule {
  Matrix<T> reading;    ///< A: new × old tokens; interpolates a value per token
  Matrix<T> spreading;  ///< B: new × old tokens; keeps sums over the tokens

  /// For `length` tokens; tokens outside the grid precede the patches.
  GridRule(Index length, ImageSize old_grid, ImageSize new_grid) {
    const Index others = length - old_grid.area(), tokens = others + new_grid.area();
    require<ArgumentError>(old_grid.area() > 0 && new_grid.height > 0 && new_grid.width > 0 && others >= 0,
                           "resize_grid: the old grid has ", old_grid.height, " × ", old_grid.width, " patches, the new one ",
                           new_grid.height, " × ", new_grid.width, ", and the layer ", length,
                           " tokens, expected non-empty grids and at most ", length, " old patches.");
    reading = spreading = Matrix<T>::Zero(tokens, length);
    for (Matrix<T>* m : {&reading, &spreading}) {
      m->topLeftCorner(others, others).setIdentity();
    }
    reading.bottomRightCorner(new_grid.area(), old_grid.area()) =
        on_grid(interpolation<T>(old_grid.height, new_grid.height), interpolation<T>(old_grid.width, new_grid.width));
    spreading.bottomRightCorner(new_grid.area(), old_grid.area()) =
        on_grid(redistribution<T>(old_grid.height, new_grid.height), redistribution<T>(old_grid.width, new_grid.width));
  }

  /// Converts a map from tokens to hidden units: W Bᵀ.
  SpatialProjection<T> input(const SpatialProjection<T>& from) const {
    auto config = from.config;
    config.length = spreading.rows();
    SpatialProjection<T> to(config);
    to.weight = multiplied<T>(from.weight, transposed(spreading));
    to.bias = from.bias;
    return to;
  }
  /// Converts a map from hidden units to tokens: A W and A b.
  SpatialProjection<T> output(const SpatialProjection<T>& from) const {
    auto config = from.config;
    config.outputs = reading.rows();
    SpatialProjection<T> to(config);
    to.weight = multiplied<T>(reading, from.weight);
    to.bias = multiplied<T>(from.bias, transposed(reading));
    return to;
  }
};

/// A model's stack of blocks, or the model itself if it is a stack.
template <class Model>
auto& trunk_of(Model& model) {
  if constexpr (requires { model.trunk; }) {
    return model.trunk;
  } else {
    return model;
  }
}

/// The part of a block whose weights depend on the number of tokens.
template <class T>
auto& token_part(GmlpBlock<T>& block) {
  return block.gate.proj;
}
template <class T>
const auto& token_part(const GmlpBlock<T>& block) {
  return block.gate.proj;
}
template <class TokenMixer, class ChannelMixer>
auto& token_part(MixerBlock<TokenMixer, ChannelMixer>& block) {
  return block.tokens.mixer;
}
template <class TokenMixer, class ChannelMixer>
const auto& token_part(const MixerBlock<TokenMixer, ChannelMixer>& block) {
  return block.tokens.mixer;
}

/// A model of `config` with the parameters of `model`, except that resize() converts the token part of each block.
template <class Model, class Resize>
Model with_token_parts(const Model& model, const typename Model::Config& config, const Resize& resize) {
  using T = typename Model::Scalar;
  using Part = std::remove_cvref_t<decltype(token_part(trunk_of(model).blocks.front()))>;
  std::vector<Part> parts;  // resized before the new model is built, as resize() may throw
  for (const auto& block : trunk_of(model).blocks) {
    parts.push_back(resize(token_part(block)));
  }
  std::vector<std::span<const T>> sources;
  for_each_parameter([&](const ParameterInfo&, auto values) { sources.push_back(values); }, model);

  Model result(config);
  std::set<const T*> resized;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = token_part(trunk_of(result).blocks[i]);
    part = std::move(parts[i]);
    for_each_parameter([&](const ParameterInfo&, auto values) { resized.insert(values.data()); }, part);
  }
  auto source = sources.begin();
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        if (resized.count(values.data()) == 0) {
          std::copy(source->begin(), source->end(), values.begin());
        }
        ++source;
      },
      result);
  return result;
}

}  // namespace detail

}  // namespace gated
