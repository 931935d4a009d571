#pragma once

#include <cstddef>
#include <span>

#include "gated/io/wav.hpp"

namespace examples {

/// Fills `samples` with values from -1 to 1, decoded from the signed 16-bit little-endian samples in `bytes`.
inline void decode_raw(std::span<const std::byte> bytes, std::span<float> samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(gated::detail::little_endian(bytes, 2 * i, 2));
    samples[i] = gated::detail::wav_sample(gated::WavFormat::pcm16, bits);
  }
}

}  // namespace examples
