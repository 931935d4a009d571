// Applies an epilogue to a finished tile: see Epilogue.

/// The two vectors of a tile row. Both may be partial, and the second may be empty.
template <class T>
struct TileRow {
  Simd<T> left, right;

  static EIGEN_ALWAYS_INLINE TileRow load(const T* from) { return {Simd<T>::load(from), Simd<T>::load(from + Simd<T>::width)}; }
  static EIGEN_ALWAYS_INLINE TileRow load(const T* from, Index columns) {
    constexpr Index width = Simd<T>::width;
    if (columns == 2 * width) [[likely]] {
      return load(from);
    }
    const Index lanes = (columns < width ? columns : width);
    return {Simd<T>::load(from, lanes), columns > width ? Simd<T>::load(from + width, columns - width) : Simd<T>(T{0})};
  }
  EIGEN_ALWAYS_INLINE void store(T* to, Index columns) const {
    constexpr Index width = Simd<T>::width;
    if (columns == 2 * width) [[likely]] {
      left.store(to);
      right.store(to + width);
      return;
    }
    left.store(to, (columns < width ? columns : width));
    if (columns > width) {
      right.store(to + width, columns - width);
    }
  }
};

/// `to` ← activation(tile + bias) and, if `saves`, `derivative` ← activation'(tile + bias), for the first `columns` columns of
/// the tile's rows. `bias` may be nullptr; `to` may be the tile.
template <bool saves, class T>
EIGEN_ALWAYS_INLINE void activate_vectors(Activation activation, const T* tile, Index stride, const T* bias, Index rows,
                                          Index columns, T* to, Index to_stride, T* derivative, Index derivative_stride) {
  constexpr Index width = Simd<T>::width;
  const Simd<T> nothing(T(-0.0));  // x + (-0) is x, even for x = -0
  const auto added = bias == nullptr ? TileRow<T>{nothing, nothing} : TileRow<T>::load(bias, columns);
  choose_activation(activation, [&](auto act) {
    for (Index i = 0; i < rows; ++i, tile += stride, to += to_stride) {
      const Simd<T> left = Simd<T>::load(tile) + added.left, right = Simd<T>::load(tile + width) + added.right;
      if constexpr (saves) {
        TileRow<T>{act.derivative(left), act.derivative(right)}.store(derivative + i * derivative_stride, columns);
      }
      TileRow<T>{act.value(left), columns > width ? act.value(right) : right}.store(to, columns);
    }
  });
}

/// activate_vectors() without derivatives.
template <class T>
EIGEN_DONT_INLINE void activate_tile(Activation activation, const T* tile, Index stride, const T* bias, Index rows,
                                     Index columns, T* to, Index to_stride) {
  activate_vectors<false, T>(activation, tile, stride, bias, rows, columns, to, to_stride, nullptr, 0);
}

/// activate_vectors() with derivatives: see DerivativeKernel.
template <class T>
EIGEN_DONT_INLINE void activate_and_save_derivative(Activation activation, const T* tile, Index stride, const T* bias,
                                                    Index rows, Index columns, T* to, Index to_stride, T* derivative,
                                                    Index derivative_stride) {
  activate_vectors<true, T>(activation, tile, stride, bias, rows, columns, to, to_stride, derivative, derivative_stride);
}

/// activation(z) and activation'(z) of a few rows, for code that uses both. All such code shares one compiled copy of the
/// activations.
template <class T>
struct ActivatedTile {
  static constexpr auto high = std::size_t{8}, size = high * 2 * Simd<T>::lane_count;
  static constexpr Index most_rows = high, stride = 2 * Simd<T>::width;
  alignas(64) T values[size], derivatives[size];

  /// At most most_rows rows and `stride` columns.
  ActivatedTile(Activation activation, const T* z, Index z_stride, Index rows, Index columns) {
    if (columns < stride) {  // the kernel reads whole vectors
      for (Index i = 0; i < rows; ++i) {
        TileRow<T>::load(z + i * z_stride, columns).store(values + i * stride, stride);
      }
      z = values;
      z_stride = stride;
    }
    activate_and_save_derivative<T>(activation, z, z_stride, nullptr, rows, stride, values, stride, derivatives, stride);
  }

  EIGEN_ALWAYS_INLINE Simd<T> value(Index row, Index column) const { return Simd<T>::load(values + row * stride + column); }
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Index row, Index column) const {
    return Simd<T>::load(derivatives + row * stride + column);
  }
};

/// Calls `f(row, column, lanes, value, derivative)` for each vector of rows × columns activations.
template <class T, class F>
EIGEN_ALWAYS_INLINE void for_each_activated(Activation activation, const T* z, Index z_stride, Index rows, Index columns,
                                            const F& f) {
  using Tile = ActivatedTile<T>;
  const auto least = [](Index a, Index b) { return a < b ? a : b; };
  for (Index i = 0; i < rows; i += Tile::most_rows) {
    for (Index j = 0; j < columns; j += Tile::stride) {
      const Index high = least(Tile::most_rows, rows - i), wide = least(Tile::stride, columns - j);
      const Tile tile(activation, z + i * z_stride + j, z_stride, high, wide);
      for (Index k = 0; k < high; ++k) {
        for (Index m = 0; m < wide; m += Simd<T>::width) {
          f(i + k, j + m, least(Simd<T>::width, wide - m), tile.value(k, m), tile.derivative(k, m));
        }
      }
    }
  }
}

/// y = activation(x) for rows of any width.
template <class T>
void activate_rows(Activation activation, Index rows, Index columns, const T* x, Index x_stride, T* y, Index y_stride) {
  constexpr Index together = 2 * Simd<T>::width;
  const Index whole = columns - columns % together, rest = columns - whole;
  for (Index j = 0; j < whole; j += together) {
    activate_tile<T>(activation, x + j, x_stride, nullptr, rows, together, y + j, y_stride);
  }
  for (Index i = 0; rest > 0 && i < rows; ++i) {
    alignas(64) T last[2 * Simd<T>::lane_count];
    TileRow<T>::load(x + i * x_stride + whole, rest).store(last, together);
    activate_tile<T>(activation, last, 0, nullptr, 1, rest, y + i * y_stride + whole, 0);
  }
}

/// `to` ← epilogue(tile), for an epilogue without an activation, or for a tile that has already been activated.
template <class T>
EIGEN_DONT_INLINE void combine_tile(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, const T* tile,
                                    T* to, Index to_stride) {
  const Simd<T> nothing(T(-0.0));
  const auto bias = e.bias == nullptr ? TileRow<T>{nothing, nothing} : TileRow<T>::load(e.bias + column, columns);
  const auto at = [&](const auto& x, Index i) { return x.data + (row + i) * x.stride + column; };
  for (Index i = 0; i < rows; ++i, tile += 2 * Simd<T>::width, to += to_stride) {
    auto z = TileRow<T>::load(tile);
    if (e.factor != T{1}) {
      const Simd<T> factor(e.factor);
      z = {z.left * factor, z.right * factor};
    }
    z = {z.left + bias.left, z.right + bias.right};
    if (e.row_bias != nullptr) {
      const Simd<T> b(e.row_bias[row + i]);
      z = {z.left + b, z.right + b};
    }
    if (e.added) {
      const auto added = TileRow<T>::load(at(e.added, i), columns);
      z = {z.left + added.left, z.right + added.right};
    }
    if (e.saved) {
      z.store(at(e.saved, i), columns);
    }
    if (e.gate) {
      const auto gate = TileRow<T>::load(at(e.gate, i), columns);
      z = {z.left * gate.left, z.right * gate.right};
    }
    if (e.residual) {
      const auto x = TileRow<T>::load(at(e.residual, i), columns);
      if (e.residual_scale != nullptr) {
        const auto s = TileRow<T>::load(e.residual_scale + column, columns);
        z = {fma(x.left, s.left, z.left), fma(x.right, s.right, z.right)};
      } else {
        z = {z.left + x.left, z.right + x.right};
      }
    }
    z.store(to, columns);
  }
}

/// `to` ← epilogue(tile), for a finished tile with rows of two vectors. May overwrite the tile.
template <class T>
void finish_tile(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, T* tile, T* to, Index to_stride) {
  constexpr Index tile_stride = 2 * Simd<T>::width;
  if (e.activation == Activation::identity) {
    return combine_tile(e, row, column, rows, columns, tile, to, to_stride);
  }
  const bool joined = e.gate || e.residual;
  const T* bias = e.bias == nullptr ? nullptr : e.bias + column;
  const bool saves_derivative = e.derivative_kernel != nullptr && e.saved;
  const MatrixView<T> saved = saves_derivative ? MatrixView<T>() : e.saved;
  if (e.factor != T{1} || e.row_bias != nullptr || e.added || saved) {
    combine_tile<T>({.factor = e.factor, .bias = e.bias, .row_bias = e.row_bias, .added = e.added, .saved = saved}, row, column,
                    rows, columns, tile, tile, tile_stride);
    bias = nullptr;
  }
  T* const activated = joined ? tile : to;
  const Index stride = joined ? tile_stride : to_stride;
  if (saves_derivative) {
    e.derivative_kernel(e.activation, tile, tile_stride, bias, rows, columns, activated, stride,
                        e.saved.data + row * e.saved.stride + column, e.saved.stride);
  } else {
    activate_tile(e.activation, tile, tile_stride, bias, rows, columns, activated, stride);
  }
  if (!joined) {
    return;
  }
  combine_tile<T>({.gate = e.gate, .residual = e.residual, .residual_scale = e.residual_scale}, row, column, rows, columns,
                  tile, to, to_stride);
}
