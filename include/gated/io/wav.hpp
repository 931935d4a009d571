#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/io/atomic_file.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/wav_header.hpp"

/// @file
/// WAV files: uncompressed sound. Spectra and features are in gated/audio.

namespace gated {

/// Sound in memory.
struct Sound {
  Matrix<float> samples;  ///< frames × channels, from -1 to 1
  Index rate = 48000;     ///< frames per second
};

namespace detail {

/// Decodes a sample.
inline float wav_sample(WavFormat format, std::uint32_t bits) {
  switch (format) {
    case WavFormat::pcm16:
      return static_cast<float>(static_cast<std::int16_t>(bits)) * 0x1p-15f;
    case WavFormat::pcm24:
      return static_cast<float>(static_cast<std::int32_t>(bits << 8)) * 0x1p-31f;
    case WavFormat::pcm32:
      return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
    default:
      return Eigen::numext::bit_cast<float>(bits);
  }
}

/// Frames first … first + count - 1 of a file with this layout.
/// Errors: FileError, naming the byte, for a sample that is NaN or infinite.
inline Matrix<float> wav_samples(std::span<const std::byte> file, const WavLayout& layout, Index first, Index count,
                                 std::string_view name) {
  Matrix<float> samples(count, layout.channels);
  const auto bytes = static_cast<std::size_t>(bytes_of(layout.format));
  std::size_t at = layout.begin + static_cast<std::size_t>(first) * layout.frame_bytes();
  for (Index i = 0; i < samples.size(); ++i, at += bytes) {
    const float sample = wav_sample(layout.format, static_cast<std::uint32_t>(little_endian(file, at, bytes)));
    require<FileError>(std::isfinite(sample), name, ": the sample at byte ", at,
                       " is NaN or infinite, expected a finite number. Replace it with 0 in the program that wrote the file.");
    samples.data()[i] = sample;
  }
  return samples;
}

/// Encodes a sample. Integers are rounded to the nearest step, halves away from 0, and clipped.
inline std::uint32_t wav_bits(WavFormat format, float sample) {
  if (format == WavFormat::float32) {
    return Eigen::numext::bit_cast<std::uint32_t>(sample);
  }
  const double steps = std::ldexp(1.0, 8 * static_cast<int>(bytes_of(format)) - 1);
  const double step = std::round(static_cast<double>(sample) * steps);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::clamp(step, -steps, steps - 1)));
}

/// The most bytes of samples in a WAV file: its sizes are 32-bit numbers, and its header has fewer than 64 bytes.
inline constexpr std::uint64_t most_wav_bytes = 0xFFFFFFFF - 64;

/// Bytes of the encoded samples.
/// Errors: ArgumentError, starting with `where`, if they do not fit in a WAV file.
inline std::uint64_t wav_data_bytes(std::string_view where, Index frames, Index channels, WavFormat format) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(frames) * static_cast<std::uint64_t>(channels * bytes_of(format));
  require<ArgumentError>(bytes <= most_wav_bytes, where, ": ", bytes, " bytes of samples, expected at most ", most_wav_bytes,
                         ". Write several files.");
  return bytes;
}

/// Appends the encoded samples `x`, which are frames × channels, to `bytes`.
/// Errors: ArgumentError, naming the sample, for NaN and infinity.
inline void append_wav_samples(Where where, const ConstView<float>& x, WavFormat format, std::vector<std::byte>& bytes) {
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index c = 0; c < x.cols(); ++c) {
      require<ArgumentError>(std::isfinite(x(t, c)), where, ": the sample of frame ", t, ", channel ", c, " is ", x(t, c),
                             ", expected a finite number.");
      append_little_endian(bytes, wav_bits(format, x(t, c)), static_cast<std::size_t>(bytes_of(format)));
    }
  }
}

}  // namespace detail

/// Parses a WAV file in memory: 16-, 24- or 32-bit PCM or 32-bit float, mono or stereo, 8 to 96 kHz. Skips other chunks.
/// Error messages refer to the file as `name`.
///
/// An integer n of b bits becomes n / 2^(b-1); 32-bit integers are rounded to float.
/// Errors: FileError for other formats, broken headers, wrong sizes, truncated files, no samples, and samples that are NaN or
/// infinite.
/// Cost: one pass.
inline Sound parse_wav(std::span<const std::byte> file, std::string_view name = "parse_wav") {
  const detail::WavLayout layout = detail::WavParser(file, name).parse();
  return {detail::wav_samples(file, layout, 0, layout.frames, name), layout.rate};
}

/// Reads a WAV file.
///
///     const Sound sound = read_wav("speech.wav");
///     const Matrix<float> x = resample<float>(sound.samples, sound.rate, 48000);  // gated/audio/resample.hpp
///
/// Errors: those of parse_wav() and MappedFile, starting with the path.
inline Sound read_wav(const std::filesystem::path& path) { return parse_wav(MappedFile(path).bytes(), path.string()); }

/// Encodes a WAV file. Samples in integer formats are rounded to the nearest step, halves away from 0, and clipped to [-1, 1).
/// Floats are stored unchanged.
/// Errors: ShapeError unless there are 1 or 2 channels and at least one frame; ArgumentError for a rate below 8 or above 96
/// kHz, a sample that is NaN or infinite, or more than 4 GB.
/// Cost: one pass.
inline std::vector<std::byte> encode_wav(const Sound& sound, WavFormat format = WavFormat::pcm16) {
  constexpr Where where = "encode_wav";
  const Matrix<float>& x = sound.samples;
  require<ShapeError>(x.rows() >= 1 && (x.cols() == 1 || x.cols() == 2), where, ": the samples are ", x.rows(), " × ", x.cols(),
                      ", expected at least one frame × 1 or 2 channels.");
  require<ArgumentError>(sound.rate >= least_rate && sound.rate <= greatest_rate, where, ": the rate is ", sound.rate,
                         ", expected ", least_rate, " to ", greatest_rate, " frames per second.");
  const std::uint64_t data_bytes = detail::wav_data_bytes(where.layer, x.rows(), x.cols(), format);
  std::vector<std::byte> file = detail::wav_header(format, x.cols(), sound.rate, static_cast<std::uint32_t>(data_bytes));
  file.reserve(file.size() + static_cast<std::size_t>(data_bytes) + 1);
  detail::append_wav_samples(where, x, format, file);
  if (data_bytes % 2 == 1) {
    file.push_back(std::byte{0});
  }
  return file;
}

/// Writes a WAV file, atomically.
/// Errors: those of encode_wav(); FileError if the file cannot be written.
inline void write_wav(const std::filesystem::path& path, const Sound& sound, WavFormat format = WavFormat::pcm16) {
  write_file_atomically(path, encode_wav(sound, format));
}

}  // namespace gated
