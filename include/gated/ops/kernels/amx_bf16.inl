// Products in bf16 with the tiles of AMX-BF16, instead of the tiles of AVX512-BF16. See ops/bf16_products.hpp.
//
// Both factors are stored as in bf16.inl and read in place. A tile sums the even and the odd values of 16 pairs separately, so
// other rows than those of full tiles are computed by smaller tiles, not by AVX512-BF16: the bits do not depend on the number of
// rows.

/// tile[i][j] = Σ_k a[i][k] · panel[k][j] for `Rows` ≤ 32 rows, over the pairs of K.
template <class Registers, Index Rows>
void multiply_by_tiles(Index pairs, const float* a, Index row_stride, const float* panel, float* tile) {
  constexpr Index side = 16, row_bytes = 4 * side, panel_bytes = 2 * row_bytes;
  constexpr Index above = Rows < side ? Rows : side, below = Rows - above;
  std::memset(tile, 0, static_cast<std::size_t>(Rows * panel_bytes));
  const auto add = [&](Index words, Index begin, Index end) {
    Registers::configure(words, above, below);
    Registers::template load<0>(tile, panel_bytes);
    Registers::template load<1>(tile + side, panel_bytes);
    if constexpr (below > 0) {
      Registers::template load<2>(tile + above * 2 * side, panel_bytes);
      Registers::template load<3>(tile + above * 2 * side + side, panel_bytes);
    }
    for (Index k = begin; k < end; k += words) {
      Registers::template load<4>(a + k, 4 * row_stride);
      Registers::template load<6>(panel + k * 2 * side, panel_bytes);
      Registers::template load<7>(panel + k * 2 * side + side, panel_bytes);
      Registers::template add_pairs<0, 4, 6>();
      Registers::template add_pairs<1, 4, 7>();
      if constexpr (below > 0) {
        Registers::template load<5>(a + above * row_stride + k, 4 * row_stride);
        Registers::template add_pairs<2, 5, 6>();
        Registers::template add_pairs<3, 5, 7>();
      }
    }
    Registers::template store<0>(tile, panel_bytes);
    Registers::template store<1>(tile + side, panel_bytes);
    if constexpr (below > 0) {
      Registers::template store<2>(tile + above * 2 * side, panel_bytes);
      Registers::template store<3>(tile + above * 2 * side + side, panel_bytes);
    }
  };
  const Index rest = pairs % side;
  if (pairs >= side) {
    add(side, 0, pairs - rest);
  }
  if (rest > 0) {
    add(rest, pairs - rest, pairs);
  }
  Registers::release();
}

inline constexpr Bf16Kernels::Tile amx_tiles[] = {
    {32, &multiply_by_tiles<TileRegisters, 32>}, {16, &multiply_by_tiles<TileRegisters, 16>},
    {8, &multiply_by_tiles<TileRegisters, 8>},   {4, &multiply_by_tiles<TileRegisters, 4>},
    {2, &multiply_by_tiles<TileRegisters, 2>},   {1, &multiply_by_tiles<TileRegisters, 1>}};

inline constexpr Bf16Kernels amx_product_kernels = {
    .tiles = amx_tiles, .pair_rows = &pair_rows, .pack_panel = &pack_panel, .corner = nullptr};
