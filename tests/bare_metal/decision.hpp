#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "gated/core/matrix.hpp"

/// The decision of a keyword model, computed by the same code on a microcontroller and on a desktop.

namespace gated::test {

/// The samples after the 44-byte header of a WAV file written by examples/spot_words.
inline std::span<const std::int16_t> samples_of(std::span<const std::byte> wav) {
  return {reinterpret_cast<const std::int16_t*>(wav.data() + 44), (wav.size() - 44) / 2};
}

/// Start of each one-second window of examples/spot_words/three_words.wav, in samples. All but the last contain a word.
inline constexpr std::array<std::size_t, 4> window_starts{0, 16000, 32000, 44000};

/// The class with the highest score, and a hash of the bits of all scores.
struct Decision {
  Index label;
  std::uint32_t hash;

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// The decision for these scores; its hash is FNV-1a over their bytes.
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
