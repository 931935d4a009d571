#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gated/audio/signal.hpp"
#include "gated/io/little_endian.hpp"
#include "gated/io/nearest_name.hpp"

/// @file
/// The header of WAV files: the encoding and the position of the samples.
///
/// The format (RIFF): "RIFF", the number of bytes that follow, "WAVE", then chunks. A chunk is a name, a size and that many
/// bytes, padded to an even number. "fmt " holds the encoding, "data" the samples, with interleaved channels. All numbers are
/// little-endian.

namespace gated {

/// The encoding of samples in a WAV file.
enum class WavFormat {
  pcm16,   ///< 16-bit integers, in steps of 2⁻¹⁵
  pcm24,   ///< 24-bit integers, in steps of 2⁻²³: as exact as float
  pcm32,   ///< 32-bit integers, in steps of 2⁻³¹
  float32  ///< 32-bit float, not limited to -1 … 1
};

namespace detail {

/// Bytes per sample.
constexpr Index bytes_of(WavFormat format) { return format == WavFormat::pcm16 ? 2 : format == WavFormat::pcm24 ? 3 : 4; }

/// The tag of integer samples in the chunk "fmt ".
inline constexpr std::uint32_t wav_pcm = 1;
/// The tag of floating-point samples.
inline constexpr std::uint32_t wav_float = 3;
/// The tag of an extensible header, whose extension holds one of the tags above.
inline constexpr std::uint32_t wav_extensible = 0xFFFE;

/// The position and encoding of the samples in a WAV file.
struct WavLayout {
  WavFormat format = WavFormat::pcm16;
  Index channels = 1, rate = 48000, frames = 0;
  std::size_t begin = 0;  ///< offset of the first sample in the file, in bytes

  std::size_t frame_bytes() const { return static_cast<std::size_t>(channels * bytes_of(format)); }
};

/// Finds the samples of an untrusted WAV file.
class WavParser {
 public:
  WavParser(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  WavLayout parse() {
    expect(file_.size() >= 12 && is(0, "RIFF") && is(8, "WAVE"),
           "this is not a WAV file: it does not begin with RIFF, a size and WAVE.", convert);
    expect(number(4, 4) == file_.size() - 8, "the RIFF size at byte 4 is ", number(4, 4), ", expected ", file_.size() - 8,
           ", since the file has ", file_.size(), " bytes. Copy it again, or fix its header: ffmpeg -i FILE -c copy OUT.wav.");
    for (std::size_t at = 12; at < file_.size();) {
      expect(file_.size() - at >= 8, "at byte ", at, " there are ", file_.size() - at,
             " bytes, expected the 8 bytes of a chunk's name and size. Remove them, or copy the file again.");
      const std::size_t size = number(at + 4, 4), begin = at + 8;
      expect(size <= file_.size() - begin, "the chunk \"", name_at(at), "\" at byte ", at, " claims ", size, " bytes, but ",
             file_.size() - begin, " follow. Copy the file again: it is truncated.");
      read_chunk(at, begin, size);
      at = std::min(begin + size + size % 2, file_.size());  // some writers do not pad the last chunk
    }
    expect(has_format_, "the chunk \"fmt \" is missing, expected before \"data\". Copy the file again.");
    expect(has_samples_, "the chunk \"data\" is missing, expected after \"fmt \". Copy the file again.");
    return layout_;
  }

 private:
  /// The remedy for files that ffmpeg can convert.
  static constexpr const char* convert = " Convert it: ffmpeg -i FILE -c:a pcm_s16le OUT.wav.";

  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<FileError>(condition, name_, ": ", parts...);
  }
  std::uint32_t number(std::size_t at, std::size_t size) const {
    return static_cast<std::uint32_t>(little_endian(file_, at, size));
  }
  std::string_view text_at(std::size_t at) const { return {reinterpret_cast<const char*>(file_.data()) + at, 4}; }
  bool is(std::size_t at, std::string_view text) const { return text_at(at) == text; }
  std::string name_at(std::size_t at) const { return printable(text_at(at)); }

  void read_chunk(std::size_t at, std::size_t begin, std::size_t size) {
    if (is(at, "fmt ")) {
      expect(!has_format_, "at byte ", at, " there is a second chunk \"fmt \", expected one.", convert);
      read_format(begin, size);
      has_format_ = true;
    } else if (is(at, "data")) {
      expect(!has_samples_, "at byte ", at, " there is a second chunk \"data\", expected one.", convert);
      expect(has_format_, "the chunk \"data\" at byte ", at, " comes before \"fmt \", expected after it.", convert);
      expect_samples(begin, size);
      has_samples_ = true;
    }
  }

  void read_format(std::size_t begin, std::size_t size) {
    expect(size >= 16, "the chunk \"fmt \" at byte ", begin - 8, " has ", size,
           " bytes, expected at least 16. Copy the file again.");
    std::uint32_t tag = number(begin, 2);
    const std::uint32_t channels = number(begin + 2, 2), rate = number(begin + 4, 4), bits = number(begin + 14, 2);
    if (tag == wav_extensible) {
      tag = extended_tag(begin, size, bits);
    }
    expect((tag == wav_pcm && (bits == 16 || bits == 24 || bits == 32)) || (tag == wav_float && bits == 32),
           "the encoding at byte ", begin, " is ", tag, " with ", bits,
           " bits, expected 1 (PCM) with 16, 24 or 32 bits, or 3 (float) with 32.", convert);
    layout_.format = tag == wav_float ? WavFormat::float32
                     : bits == 16     ? WavFormat::pcm16
                     : bits == 24     ? WavFormat::pcm24
                                      : WavFormat::pcm32;
    expect(channels == 1 || channels == 2, "there are ", channels, " channels at byte ", begin + 2,
           ", expected 1 or 2. Mix them: ffmpeg -i FILE -ac 2 OUT.wav.");
    expect(static_cast<Index>(rate) >= least_rate && static_cast<Index>(rate) <= greatest_rate, "the rate at byte ", begin + 4,
           " is ", rate, ", expected ", least_rate, " to ", greatest_rate,
           " frames per second. Resample it: ffmpeg -i FILE -ar 48000 OUT.wav.");
    layout_.channels = static_cast<Index>(channels);
    layout_.rate = static_cast<Index>(rate);
    const std::size_t frame_bytes = layout_.frame_bytes();
    expect(number(begin + 12, 2) == frame_bytes, "the bytes per frame at byte ", begin + 12, " are ", number(begin + 12, 2),
           ", expected ", frame_bytes, " for ", channels, " channels of ", bits, " bits.", convert);
    expect(number(begin + 8, 4) == rate * frame_bytes, "the bytes per second at byte ", begin + 8, " are ",
           number(begin + 8, 4), ", expected ", rate * frame_bytes, " for ", rate, " frames of ", frame_bytes, " bytes.",
           convert);
  }

  /// The encoding tag in an extensible header: the first two bytes of the subformat's GUID.
  std::uint32_t extended_tag(std::size_t begin, std::size_t size, std::uint32_t bits) const {
    expect(size >= 40 && number(begin + 16, 2) >= 22, "the extensible chunk \"fmt \" at byte ", begin - 8, " has ", size,
           " bytes, expected at least 40, with an extension of at least 22.", convert);
    const std::uint32_t valid = number(begin + 18, 2);
    expect(valid >= 1 && valid <= bits, "at byte ", begin + 18, " there are ", valid, " valid bits, expected 1 to ", bits, ".",
           convert);
    constexpr std::array<std::uint8_t, 14> rest{0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71};
    const auto guid = file_.subspan(begin + 26, rest.size());
    expect(std::equal(guid.begin(), guid.end(), rest.begin(), [](std::byte a, std::uint8_t b) { return a == std::byte{b}; }),
           "the subformat at byte ", begin + 24, " is unknown, expected PCM or float.", convert);
    return number(begin + 24, 2);
  }

  void expect_samples(std::size_t begin, std::size_t size) {
    const std::size_t frame_bytes = layout_.frame_bytes();
    expect(size > 0, "the chunk \"data\" at byte ", begin - 8, " has no samples, expected at least one. Record it again.");
    expect(size % frame_bytes == 0, "the chunk \"data\" at byte ", begin - 8, " has ", size,
           " bytes, expected a multiple of the ", frame_bytes, " bytes of a frame.", convert);
    layout_.begin = begin;
    layout_.frames = static_cast<Index>(size / frame_bytes);
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  bool has_format_ = false, has_samples_ = false;
  WavLayout layout_;
};

/// The start of a WAV file, up to its samples. A writer that does not know the number of samples yet can rewrite the header at
/// the end. In the file, the `data_bytes` bytes of samples must be padded to an even number.
inline std::vector<std::byte> wav_header(WavFormat format, Index channels, Index rate, std::uint32_t data_bytes) {
  std::vector<std::byte> header;
  const auto put = [&](std::uint32_t value, std::size_t size) { append_little_endian(header, value, size); };
  const auto put_text = [&](std::string_view text) {
    std::transform(text.begin(), text.end(), std::back_inserter(header), [](char c) { return static_cast<std::byte>(c); });
  };
  const bool is_float = format == WavFormat::float32;
  const auto bytes = static_cast<std::uint32_t>(bytes_of(format)), frame_bytes = static_cast<std::uint32_t>(channels) * bytes;
  const std::uint32_t format_bytes = is_float ? 18 : 16, fact_bytes = is_float ? 12 : 0;
  put_text("RIFF");
  put(4 + 8 + format_bytes + fact_bytes + 8 + data_bytes + data_bytes % 2, 4);
  put_text("WAVEfmt ");
  put(format_bytes, 4);
  put(is_float ? wav_float : wav_pcm, 2);
  put(static_cast<std::uint32_t>(channels), 2);
  put(static_cast<std::uint32_t>(rate), 4);
  put(static_cast<std::uint32_t>(rate) * frame_bytes, 4);
  put(frame_bytes, 2);
  put(8 * bytes, 2);
  if (is_float) {  // float files need an empty extension and a chunk with the number of frames
    put(0, 2);
    put_text("fact");
    put(4, 4);
    put(data_bytes / frame_bytes, 4);
  }
  put_text("data");
  put(data_bytes, 4);
  return header;
}

}  // namespace detail

}  // namespace gated
