#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gated/core/matrix.hpp"

namespace gated::test {

/// Emulates the AMX instructions as Intel's manual describes them, because the machine may lack AMX: the interface of
/// TileRegisters in ops/kernels/amx_tiles.inl.
struct PlainTiles {
  static inline thread_local Index words = 0, above = 0, below = 0;
  static inline thread_local std::byte tiles[8][16][64];

  static void configure(Index words_, Index above_, Index below_) {
    words = words_;
    above = above_;
    below = below_;
    std::memset(tiles, 0, sizeof(tiles));
  }
  static void release() { words = above = below = 0; }
  static constexpr bool is_a(int tile) { return tile == 4 || tile == 5; }
  static Index rows(int tile) { return tile >= 6 ? words : tile < 2 || tile == 4 ? above : below; }
  static std::size_t row_bytes(int tile) { return is_a(tile) ? 4 * static_cast<std::size_t>(words) : 64; }

  template <int C>
  static void zero() {
    std::memset(tiles[C], 0, sizeof(tiles[C]));
  }
  template <int To>
  static void load(const void* from, Index stride) {
    zero<To>();
    for (Index row = 0; row < rows(To); ++row) {
      std::memcpy(tiles[To][row], static_cast<const std::byte*>(from) + row * stride, row_bytes(To));
    }
  }
  template <int C>
  static void store(void* to, Index stride) {
    for (Index row = 0; row < rows(C); ++row) {
      std::memcpy(static_cast<std::byte*>(to) + row * stride, tiles[C][row], 64);
    }
  }
  /// Calls f(sum, m, n) for each sum of C.
  template <class Sum, int C, class F>
  static void for_each_sum(const F& f) {
    for (Index m = 0; m < rows(C); ++m) {
      for (Index n = 0; n < 16; ++n) {
        Sum sum;
        std::memcpy(&sum, tiles[C][m] + 4 * n, 4);
        f(sum, m, n);
        std::memcpy(tiles[C][m] + 4 * n, &sum, 4);
      }
    }
  }
  /// tdpbusd.
  template <int C, int A, int B>
  static void add_codes() {
    for_each_sum<std::int32_t, C>([](std::int32_t& sum, Index m, Index n) {
      for (Index k = 0; k < 4 * words; ++k) {
        sum += static_cast<int>(tiles[A][m][k]) * static_cast<std::int8_t>(tiles[B][k / 4][4 * n + k % 4]);
      }
    });
  }
  /// tdpbf16ps. Subnormal numbers, which the instruction reads and writes as 0, are not emulated.
  template <int C, int A, int B>
  static void add_pairs() {
    const auto value = [](const std::byte* bf16) {
      std::uint16_t half;
      std::memcpy(&half, bf16, 2);
      return Eigen::numext::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
    };
    for_each_sum<float, C>([&](float& sum, Index m, Index n) {
      float of[2] = {0, 0};
      for (Index k = 0; k < words; ++k) {
        for (const int odd : {0, 1}) {
          of[odd] = std::fma(value(tiles[A][m] + 4 * k + 2 * odd), value(tiles[B][k] + 4 * n + 2 * odd), of[odd]);
        }
      }
      sum += of[0] + of[1];
    });
  }
};

}  // namespace gated::test
