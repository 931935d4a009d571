#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gated/ops/epilogue.hpp"
#include "gated/ops/gemm.hpp"

/// @file
/// The one door through which every dense product goes.

namespace gated {

/// The transpose of a matrix as a factor of matmul(): `matmul(x, transposed<T>(weight), y, …)`.
template <class T>
Operand<T> transposed(const std::type_identity_t<Operand<T>>& x) {
  return x.transposed();
}

/// A lower triangle as the first factor of matmul(): row i is 0 behind column `diagonal` ≥ 0 plus i. Most of what is 0 is not
/// multiplied, but it must be there, and which part is multiplied depends on the number of rows: 0 · NaN may reach a row.
template <class T>
Operand<T> lower(const std::type_identity_t<Operand<T>>& x, Index diagonal) {
  Operand<T> result = x;
  result.diagonal = diagonal;
  return result;
}

namespace detail {

/// The position of the Activate among `Stages`, or their number.
template <class... Stages>
constexpr std::size_t activation_index() {
  std::size_t index = 0, found = sizeof...(Stages);
  ((found = std::is_same_v<Stages, Activate> ? index : found, ++index), ...);
  return found;
}

/// to ← activation(tile + bias) for a tile of rows × columns, in one loop per activation, which all products share. `bias` may
/// be nullptr, and `to` the tile itself.
template <class T>
EIGEN_DONT_INLINE void activate_tile(Activation activation, const T* tile, const T* bias, Index rows, Index columns, T* to,
                                     Index to_stride) {
  constexpr Index width = Simd<T>::width;
  const Index left = std::min(columns, width), right = columns - left;
  const Simd<T> nothing(T(-0.0));  // x + -0 is x, whatever its sign
  const Simd<T> left_bias = bias == nullptr ? nothing : Simd<T>::load(bias, left);
  const Simd<T> right_bias = bias == nullptr || right == 0 ? nothing : Simd<T>::load(bias + width, right);
  with_activation(activation, [&](auto act) {
    for (Index i = 0; i < rows; ++i, tile += gemm::panel_columns<T>, to += to_stride) {
      act.value(Simd<T>::load(tile) + left_bias).store(to, left);
      if (right > 0) {
        act.value(Simd<T>::load(tile + width) + right_bias).store(to + width, right);
      }
    }
  });
}

/// The stages of a product, to be applied to its tiles. `y` is where they go.
template <class T, class... Stages>
struct StageList {
  static constexpr std::size_t count = sizeof...(Stages), activation = activation_index<Stages...>();
  static_assert((std::size_t{0} + ... + std::size_t{std::is_same_v<Stages, Activate>}) <= 1, "at most one Activate");

  std::tuple<const Stages&...> stages;
  View<T>& y;

  void operator()(Index row, Index column, Index rows, Index columns, T* tile) const {
    T* const to = &y.coeffRef(row, column);
    if constexpr (activation < count) {
      if (const Activation kind = std::get<activation>(stages).activation; kind != Activation::identity) {
        const T* const bias = apply_before(row, column, rows, columns, tile);
        if constexpr (activation + 1 == count) {
          activate_tile(kind, tile, bias, rows, columns, to, y.outerStride());
        } else {
          activate_tile(kind, tile, bias, rows, columns, tile, gemm::panel_columns<T>);
          apply(behind(std::make_index_sequence<count - activation - 1>{}), row, column, rows, columns, tile, to,
                y.outerStride());
        }
        return;
      }
    }
    apply(std::make_index_sequence<count>{}, row, column, rows, columns, tile, to, y.outerStride());
  }

 private:
  template <std::size_t... I>
  static constexpr auto behind(std::index_sequence<I...>) {
    return std::index_sequence<activation + 1 + I...>{};
  }

  /// Applies the stages before the activation, except a bias alone, which it returns: activate_tile() adds it on its way.
  const T* apply_before(Index row, Index column, Index rows, Index columns, T* tile) const {
    if constexpr (activation == 1 && std::is_same_v<std::tuple_element_t<0, std::tuple<Stages...>>, AddBias<T>>) {
      const T* const bias = std::get<0>(stages).bias;
      return bias == nullptr ? nullptr : bias + column;
    } else if constexpr (activation > 0) {
      apply(std::make_index_sequence<activation>{}, row, column, rows, columns, tile, tile, gemm::panel_columns<T>);
    }
    return nullptr;
  }

  /// to ← the chosen stages of a tile, one vector at a time.
  template <std::size_t... I>
  void apply(std::index_sequence<I...>, Index row, Index column, Index rows, Index columns, const T* tile, T* to,
             Index to_stride) const {
    for (Index i = 0; i < rows; ++i, tile += gemm::panel_columns<T>, to += to_stride) {
      for_each_vector<T>(columns, [&](Index j, Index lanes) {
        Simd<T> value = Simd<T>::load(tile + j);
        ((value = apply_one(std::get<I>(stages), Position{row + i, column + j, lanes}, value)), ...);
        value.store(to + j, lanes);
      });
    }
  }

  template <class Stage>
  static EIGEN_STRONG_INLINE Simd<T> apply_one(const Stage& stage, Position at, Simd<T> value) {
    if constexpr (std::is_same_v<Stage, Activate>) {
      return value;  // the identity
    } else {
      return stage(at, value);
    }
  }
};

}  // namespace detail

/// y = stages(a · b): a dense product whose epilogue is applied before the result is stored.
///
/// Shapes: a is M × K, b is K × N, y is M × N. The stages of ops/epilogue.hpp are applied to each element in the order given:
///
///     matmul(x, transposed<T>(weight), y, workspace, AddBias<T>{bias}, Activate{Activation::gelu});
///
/// y may be read by a stage (a residual) but must not overlap a or b.
/// Errors: ShapeError if the sizes do not fit. NaN and infinities propagate along their row of a and column of b.
/// Cost: 2·M·N·K flops; scratch of one packed panel of b (two vectors × K) per thread, and of a if it is a transposed matrix.
template <class T, class... Stages>
void matmul(const std::type_identity_t<Operand<T>>& a, const std::type_identity_t<Operand<T>>& b,
            std::type_identity_t<View<T>> y, Workspace<T>& workspace, const Stages&... stages) {
  require<ShapeError>(a.columns == b.rows, "matmul: a is ", a.rows, " × ", a.columns, " and b is ", b.rows, " × ", b.columns,
                      ", expected as many columns of a as rows of b.");
  expect_shape<T>("matmul", "y", y, a.rows, b.columns);

  const detail::StageList<T, Stages...> finish{std::tie(stages...), y};
  detail::gemm::multiply(a, b, detail::gemm::Epilogue<T>(finish), workspace);
}

/// Takes, until the enclosing frame ends, the scratch that a stream needs beyond this step if it reads one row more in each of
/// `positions` steps of one token: a panel of what has been seen, scores and tables. So a stream allocates in its first step
/// only.
template <class T>
void take_for_later_steps(Index positions, Workspace<T>& workspace) {
  workspace.take((detail::gemm::panel_columns<T> * workspace.threads().count + 8) * positions);
}

}  // namespace gated
