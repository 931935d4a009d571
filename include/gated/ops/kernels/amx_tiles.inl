// The tile registers of AMX: 8 registers of 16 rows of 64 bytes.
//
// A product computes C += A · B: A has 16 rows of 16 words, B has 16 words along K and 16 columns, C has 16 × 16 sums. A word
// holds 4 codes in int8, or 2 values in bf16.

/// The tile registers of this thread. Uses inline assembly, because GCC 12 does not know which memory its intrinsics read.
struct TileRegisters {
  /// Registers 0 and 1 hold `above` rows of C, 2 and 3 hold `below` rows of C, each with 16 sums. 4 holds `above` rows of A, 5
  /// holds `below` rows, each of `words` words. 6 and 7 hold B: `words` rows of 16 words. Registers with 0 rows are unusable.
  static void configure(Index words, Index above, Index below) {
    alignas(64) std::uint8_t palette[64] = {1};
    for (int i = 0; i < 8; ++i) {
      const bool is_a = i == 4 || i == 5, is_b = i >= 6;
      const Index rows = is_b ? words : i < 2 || i == 4 ? above : below;
      palette[16 + 2 * i] = static_cast<std::uint8_t>(rows == 0 ? 0 : is_a ? 4 * words : 64);  // bytes per row
      palette[48 + i] = static_cast<std::uint8_t>(rows);
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
  /// C += A · B for codes, with A unsigned and B signed.
  template <int C, int A, int B>
  static EIGEN_ALWAYS_INLINE void add_codes() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
  /// C += A · B for pairs in bf16.
  template <int C, int A, int B>
  static EIGEN_ALWAYS_INLINE void add_pairs() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};
