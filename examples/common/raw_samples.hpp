#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <span>
#include <system_error>
#include <vector>

#include "common/interrupt.hpp"
#include "gated/io/wav.hpp"

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

namespace examples {

/// Makes Windows pass a standard stream's bytes on unchanged.
inline void use_binary_mode([[maybe_unused]] std::FILE* stream) {
#if defined(_WIN32)
  _setmode(_fileno(stream), _O_BINARY);
#endif
}

/// Fills `samples` with values from -1 to 1, decoded from the signed 16-bit little-endian samples in `bytes`.
inline void decode_raw(std::span<const std::byte> bytes, std::span<float> samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(gated::detail::little_endian(bytes, 2 * i, 2));
    samples[i] = gated::detail::wav_sample(gated::WavFormat::pcm16, bits);
  }
}

/// Passes the raw samples from stdin to `next`, `count` at a time and fewer at the end, then calls `finish`, also if an error
/// follows. Ends early after Ctrl-C, if stop_when_asked() was called.
/// Errors: FileError if stdin cannot be read, or ends within a sample.
template <class Next, class Finish>
void for_each_raw_block(std::size_t count, const Next& next, const Finish& finish) {
  use_binary_mode(stdin);
  std::vector<std::byte> bytes(2 * count);
  std::vector<float> samples(count);
  std::size_t got = bytes.size();
  int reason = 0;
  while (got == bytes.size() && stop_signal == 0) {
    got = std::fread(bytes.data(), 1, bytes.size(), stdin);
    reason = std::ferror(stdin) != 0 ? errno : 0;
    const std::span block = std::span(samples).first(got / 2);
    decode_raw(bytes, block);
    next(block);
  }
  finish();
  if (stop_signal == 0) {
    gated::require<gated::FileError>(reason == 0, "stdin: cannot be read: ", std::generic_category().message(reason), ".");
    gated::require<gated::FileError>(got % 2 == 0,
                                     "stdin: the last sample has one byte, expected two. Send signed 16-bit samples.");
  }
}

}  // namespace examples
