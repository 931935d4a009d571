// Integer products with the tiles of AMX-INT8, in addition to the kernels of AVX512-VNNI. See ops/int8_products.hpp.
//
// A tile register holds 16 rows of 64 bytes. tdpbusd computes C += A · B: A has 16 rows of 64 codes, B has 16 words along K and
// 16 columns, C has 16 × 16 sums. B is half a panel, read in place; its words beyond the depth are multiplied by zeros.

/// The tile registers of this thread. Uses inline assembly, because GCC 12 does not know which memory its intrinsics read.
struct TileRegisters {
  /// Registers 0 to 3 hold C (16 × 16 sums), 4 and 5 hold A (16 rows of `words` words), 6 and 7 hold B (`words` rows of 16
  /// words).
  static void configure(Index words) {
    alignas(64) std::uint8_t palette[64] = {1};
    for (int i = 0; i < 8; ++i) {
      const bool is_a = i == 4 || i == 5, is_b = i >= 6;
      palette[16 + 2 * i] = static_cast<std::uint8_t>(is_a ? 4 * words : 64);  // bytes per row
      palette[48 + i] = static_cast<std::uint8_t>(is_b ? words : 16);          // rows
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(palette) : "memory");
  }
  static void release() { __asm__ volatile("tilerelease" : : : "memory"); }

  template <int C>
  static EIGEN_ALWAYS_INLINE void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(C));
  }
  template <int To>
  static EIGEN_ALWAYS_INLINE void load(const void* from, Index stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(To) : "memory");
  }
  template <int C>
  static EIGEN_ALWAYS_INLINE void store(void* to, Index stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(C) : "memory");
  }
  /// C += A · B, with A unsigned and B signed.
  template <int C, int A, int B>
  static EIGEN_ALWAYS_INLINE void add_product() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

/// sum_tile() for 32 rows. If there are more than 16 words, rows of `a` must be padded with zeros to a multiple of 16 words.
template <class Registers>
void sum_two_by_two_tiles(Index words, const std::uint32_t* a, Index row_stride, const std::byte* panel, std::int32_t* to) {
  constexpr Index rows = 16, row_bytes = 64, panel_bytes = 2 * row_bytes;
  static_assert(rows * panel_bytes <= QuantizedPanel::read_past);
  Registers::configure(words < rows ? words : rows);
  Registers::template zero<0>();
  Registers::template zero<1>();
  Registers::template zero<2>();
  Registers::template zero<3>();
  for (Index k = 0; k < words; k += rows) {
    Registers::template load<4>(a + k, 4 * row_stride);
    Registers::template load<5>(a + rows * row_stride + k, 4 * row_stride);
    Registers::template load<6>(panel + k * panel_bytes, panel_bytes);
    Registers::template load<7>(panel + k * panel_bytes + row_bytes, panel_bytes);
    Registers::template add_product<0, 4, 6>();
    Registers::template add_product<1, 4, 7>();
    Registers::template add_product<2, 5, 6>();
    Registers::template add_product<3, 5, 7>();
  }
  Registers::template store<0>(to, panel_bytes);
  Registers::template store<1>(to + rows, panel_bytes);
  Registers::template store<2>(to + rows * 2 * rows, panel_bytes);
  Registers::template store<3>(to + rows * 2 * rows + rows, panel_bytes);
  Registers::release();
}

inline constexpr auto amx_tiles = [] {
  std::array<Int8Kernels::Tile, std::size(int8::tiles) + 1> tiles{
      {{32, &int8::multiply_tile<32, &sum_two_by_two_tiles<TileRegisters>>}}};
  std::copy(std::begin(int8::tiles), std::end(int8::tiles), tiles.begin() + 1);
  return tiles;
}();

inline constexpr Int8Kernels amx_kernels = [] {
  Int8Kernels kernels = int8::kernels;
  kernels.tiles = amx_tiles;
  return kernels;
}();
