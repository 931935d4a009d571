#pragma once

#include "gated/core/compiler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

/// @file
/// XXH64, a hash that detects corruption, not forgery: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md

namespace gated::detail {

/// Streaming XXH64 with seed 0.
class Xxh64 {
 public:
  void add(std::span<const std::byte> bytes) {
    length_ += bytes.size();
    if (kept_ > 0) {
      const std::size_t taken = std::min(bytes.size(), rest_.size() - kept_);
      std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(kept_));
      kept_ += taken;
      bytes = bytes.subspan(taken);
      if (kept_ < rest_.size()) {
        return;
      }
      kept_ = 0;
      take_stripes(rest_);
    }
    take_stripes(bytes);
    const auto left = bytes.last(bytes.size() % rest_.size());
    std::copy(left.begin(), left.end(), rest_.begin());
    kept_ = left.size();
  }

  std::uint64_t value() const {
    std::uint64_t hash = p5;
    if (length_ >= rest_.size()) {
      hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
      for (const std::uint64_t lane : lanes_) {
        hash = (hash ^ round(0, lane)) * p1 + p4;
      }
    }
    hash += length_;
    std::size_t at = 0;
    for (; at + 8 <= kept_; at += 8) {
      hash = std::rotl(hash ^ round(0, number<std::uint64_t>(&rest_[at])), 27) * p1 + p4;
    }
    if (at + 4 <= kept_) {
      hash = std::rotl(hash ^ number<std::uint32_t>(&rest_[at]) * p1, 23) * p2 + p3;
      at += 4;
    }
    for (; at < kept_; ++at) {
      hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(rest_[at]) * p5, 11) * p1;
    }
    hash = (hash ^ hash >> 33) * p2;
    hash = (hash ^ hash >> 29) * p3;
    return hash ^ hash >> 32;
  }

 private:
  static constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9,
                                 p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;

  template <class T>
  static std::uint64_t number(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  static std::uint64_t round(std::uint64_t lane, std::uint64_t input) { return std::rotl(lane + input * p2, 31) * p1; }

  /// Adds all whole stripes of 32 bytes.
  void take_stripes(std::span<const std::byte> bytes) {
    auto lanes = lanes_;  // in registers
    for (std::size_t at = 0; at + 32 <= bytes.size(); at += 32) {
      for (std::size_t k = 0; k < 4; ++k) {
        lanes[k] = round(lanes[k], number<std::uint64_t>(&bytes[at + 8 * k]));
      }
    }
    lanes_ = lanes;
  }

  std::array<std::uint64_t, 4> lanes_{p1 + p2, p2, 0, 0 - p1};
  std::array<std::byte, 32> rest_{};
  std::size_t kept_ = 0;  // number of bytes kept in `rest_`
  std::uint64_t length_ = 0;
};

/// `hash` in 16 hexadecimal digits.
inline std::string hash_text(std::uint64_t hash) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[hash >> shift & 15];
  }
  return digits;
}

}  // namespace gated::detail
