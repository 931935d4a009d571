// Integer products with the tiles of AMX-INT8, in addition to the kernels of AVX512-VNNI. See ops/int8_products.hpp.
//
// B is half a panel, read in place; its words beyond the depth are multiplied by zeros.

/// The sums of 32 rows, for multiply_tile(). If a call has more than 16 words, rows of `a` must be padded with zeros to a
/// multiple of 16 words. The tile registers are in use until the destructor.
template <class Registers>
class SumsInTiles {
 public:
  SumsInTiles() = default;
  ~SumsInTiles() { Registers::release(); }
  SumsInTiles(const SumsInTiles&) = delete;
  SumsInTiles& operator=(const SumsInTiles&) = delete;

  void operator()(Index words, const std::uint32_t* a, Index row_stride, const std::byte* panel, std::int32_t* to) {
    configure(words < rows ? words : rows);
    Registers::template zero<0>();
    Registers::template zero<1>();
    Registers::template zero<2>();
    Registers::template zero<3>();
    for (Index k = 0; k < words; k += rows) {
      Registers::template load<4>(a + k, 4 * row_stride);
      Registers::template load<5>(a + rows * row_stride + k, 4 * row_stride);
      Registers::template load<6>(panel + k * panel_bytes, panel_bytes);
      Registers::template load<7>(panel + k * panel_bytes + row_bytes, panel_bytes);
      Registers::template add_codes<0, 4, 6>();
      Registers::template add_codes<1, 4, 7>();
      Registers::template add_codes<2, 5, 6>();
      Registers::template add_codes<3, 5, 7>();
    }
    Registers::template store<0>(to, panel_bytes);
    Registers::template store<1>(to + rows, panel_bytes);
    Registers::template store<2>(to + rows * 2 * rows, panel_bytes);
    Registers::template store<3>(to + rows * 2 * rows + rows, panel_bytes);
  }

 private:
  static constexpr Index rows = 16, row_bytes = 64, panel_bytes = 2 * row_bytes;
  static_assert(rows * panel_bytes <= QuantizedPanel::read_past);

  void configure(Index words) {
    if (words != words_) {
      Registers::configure(words, rows, rows);
      words_ = words;
    }
  }

  Index words_ = 0;  // along K, in each register; 0 before the first call
};

template <class Registers>
inline constexpr auto amx_tiles = [] {
  std::array<Int8Kernels::Tile, std::size(int8::tiles) + 1> tiles{{{32, &int8::multiply_tile<32, SumsInTiles<Registers>>}}};
  std::copy(std::begin(int8::tiles), std::end(int8::tiles), tiles.begin() + 1);
  return tiles;
}();

template <class Registers>
inline constexpr Int8Kernels amx_kernels = [] {
  Int8Kernels kernels = int8::kernels;
  kernels.tiles = amx_tiles<Registers>;
  return kernels;
}();
