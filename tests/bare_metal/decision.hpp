#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "gated/core/matrix.hpp"

/// What a keyword model decides: the same on a microcontroller and on the desk.

namespace gated::test {

/// The samples of a WAV file that examples/spot_words wrote, behind its header of 44 bytes.
inline std::span<const std::int16_t> samples_of(std::span<const std::byte> wav) {
  return {reinterpret_cast<const std::int16_t*>(wav.data() + 44), (wav.size() - 44) / 2};
}

/// Where the windows of one second begin in examples/spot_words/three_words.wav, in samples: a word is in each, and in the last
/// none.
inline constexpr std::array<std::size_t, 4> window_starts{0, 16000, 32000, 44000};

/// The best class, and a hash of the bits of all scores.
struct Decision {
  Index label;
  std::uint32_t hash;

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// FNV-1a over the scores.
inline Decision decision_of(std::span<const float> scores) {
  Decision decision{std::max_element(scores.begin(), scores.end()) - scores.begin(), 2166136261U};
  for (const float score : scores) {
    std::uint32_t bits;
    std::memcpy(&bits, &score, sizeof(bits));
    for (int i = 0; i < 4; ++i) {
      decision.hash = (decision.hash ^ (bits >> 8 * i & 255U)) * 16777619U;
    }
  }
  return decision;
}

}  // namespace gated::test
