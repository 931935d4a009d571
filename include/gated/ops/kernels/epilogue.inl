// What joins a finished tile: see Epilogue.

/// The two vectors of a row of a tile. The second may be empty, and both may be partial.
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

/// to ← activation(tile + bias) for a tile of rows × columns, and slope ← activation'(tile + bias) where that is asked for.
/// `bias` may be nullptr, and `to` the tile itself.
template <class T>
EIGEN_DONT_INLINE void activate_tile(Activation activation, const T* tile, const T* bias, Index rows, Index columns, T* to,
                                     Index to_stride, T* slope = nullptr, Index slope_stride = 0) {
  constexpr Index width = Simd<T>::width;
  const Simd<T> nothing(T(-0.0));  // x + -0 is x, whatever its sign
  const auto added = bias == nullptr ? TileRow<T>{nothing, nothing} : TileRow<T>::load(bias, columns);
  choose_activation(activation, [&](auto act) {
    for (Index i = 0; i < rows; ++i, tile += 2 * width, to += to_stride) {
      const Simd<T> left = Simd<T>::load(tile) + added.left, right = Simd<T>::load(tile + width) + added.right;
      if (slope != nullptr) {
        TileRow<T>{act.derivative(left), act.derivative(right)}.store(slope + i * slope_stride, columns);
      }
      TileRow<T>{act.value(left), columns > width ? act.value(right) : right}.store(to, columns);
    }
  });
}

/// to ← what the epilogue makes of a tile that needs no activation, or whose activation is done.
template <class T>
EIGEN_DONT_INLINE void combine_tile(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, const T* tile,
                                    T* to, Index to_stride) {
  const Simd<T> nothing(T(-0.0));
  const auto bias = e.bias == nullptr ? TileRow<T>{nothing, nothing} : TileRow<T>::load(e.bias + column, columns);
  const auto at = [&](const auto& x, Index i) { return x.data + (row + i) * x.stride + column; };
  for (Index i = 0; i < rows; ++i, tile += 2 * Simd<T>::width, to += to_stride) {
    auto z = TileRow<T>::load(tile);
    if (e.scale != T{1}) {
      const Simd<T> scale(e.scale);
      z = {z.left * scale, z.right * scale};
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
    if (e.kept) {
      z.store(at(e.kept, i), columns);
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

/// to ← the epilogue of a finished tile, which may be overwritten: rows of two vectors.
template <class T>
void finish_tile(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, T* tile, T* to, Index to_stride) {
  constexpr Index tile_stride = 2 * Simd<T>::width;
  if (e.activation == Activation::identity) {
    return combine_tile(e, row, column, rows, columns, tile, to, to_stride);
  }
  const bool joined = e.gate || e.residual;
  const T* bias = e.bias == nullptr ? nullptr : e.bias + column;
  const Rows<T> kept = e.keeps_slope ? Rows<T>() : e.kept;
  if (e.scale != T{1} || e.row_bias != nullptr || e.added || kept) {
    combine_tile<T>({.scale = e.scale, .bias = e.bias, .row_bias = e.row_bias, .added = e.added, .kept = kept}, row, column,
                    rows, columns, tile, tile, tile_stride);
    bias = nullptr;
  }
  T* const slope = e.keeps_slope && e.kept ? e.kept.data + row * e.kept.stride + column : nullptr;
  if (!joined) {
    return activate_tile(e.activation, tile, bias, rows, columns, to, to_stride, slope, e.kept.stride);
  }
  activate_tile(e.activation, tile, bias, rows, columns, tile, tile_stride, slope, e.kept.stride);
  combine_tile<T>({.gate = e.gate, .residual = e.residual, .residual_scale = e.residual_scale}, row, column, rows, columns,
                  tile, to, to_stride);
}
