// Scores and attention weights: see Scoring.

/// (value + B_ij) · scale if bias_inside, else value · scale + B_ij, for the query at `row` and keys that start at `column`.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> score_of(const Scoring<T>& scoring, Index row, Index column, Index lanes, Simd<T> value) {
  const Simd<T> scale(scoring.scale);
  value = scoring.bias_inside ? value : value * scale;
  if (scoring.relative != nullptr) {
    value = value + Simd<T>::load(scoring.relative + (column - row), lanes);
  }
  if (scoring.bias != nullptr) {
    value = value + Simd<T>::load(scoring.bias + row * scoring.bias_stride + column, lanes);
  }
  return scoring.bias_inside ? value * scale : value;
}

/// The weight times weight_scale, or 0 if masks or causality hide its score.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> visible_of(const Scoring<T>& scoring, Index row, Index column, Index lanes, Simd<T> weight) {
  weight = weight * Simd<T>(scoring.weight_scale);
  // Replaces hidden weights by 0 instead of multiplying: they may be infinity or NaN, whose product with 0 is NaN.
  if (scoring.visible_keys != nullptr) {
    weight = select_less(Simd<T>(T{0}), Simd<T>::load(scoring.visible_keys + column, lanes), weight, Simd<T>(T{0}));
  }
  if (scoring.visible_queries != nullptr && scoring.visible_queries[row] == T{0}) {
    weight = Simd<T>(T{0});
  }
  return scoring.causal ? weight.keep(column > row ? 0 : row - column + 1) : weight;
}

/// Writes the scores S to `to`, or the attention weights A if the kernel has a pointwise `activation`. Queries start at `row`,
/// keys at `column`. With an activation, overwrites `tile`.
template <class T>
EIGEN_DONT_INLINE void score_tile(const Scoring<T>& scoring, const std::optional<Activation>& activation, Index row,
                                  Index column, Index rows, Index columns, T* tile, T* to, Index to_stride) {
  constexpr Index tile_stride = 2 * Simd<T>::width;
  const auto pass = [&](T* y, Index stride, const auto& f) {
    const T* from = tile;
    for (Index i = 0; i < rows; ++i, from += tile_stride, y += stride) {
      for_each_vector<T>(columns, [&](Index j, Index lanes) { f(i, j, lanes, Simd<T>::load(from + j)).store(y + j, lanes); });
    }
  };
  const auto scored = [&](Index i, Index j, Index lanes, Simd<T> value) GATED_INLINED {
    return score_of(scoring, row + i, column + j, lanes, value);
  };
  if (!activation) {
    return pass(to, to_stride, scored);
  }
  pass(tile, tile_stride, scored);
  activate_tile<T>(*activation, tile, tile_stride, nullptr, rows, columns, tile, tile_stride);
  pass(to, to_stride,
       [&](Index i, Index j, Index lanes, Simd<T> value) GATED_INLINED {
         return visible_of(scoring, row + i, column + j, lanes, value);
       });
}

template <class T>
inline constexpr AttentionKernels<T> table<AttentionKernels<T>> = {.score_tile = &score_tile<T>, .softmax_rows = &softmax_rows<T>};
