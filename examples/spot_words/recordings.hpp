#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gated/io/wav_file.hpp"

/// Recordings of single words, from folders.

namespace words {

using gated::Index, gated::Vector;

/// The sample rate of all audio passed to models, in Hz.
inline constexpr Index rate = 16000;

/// The label of other words and of parts of words.
inline constexpr const char* unknown_label = "_unknown_";
/// The label of sound without a word.
inline constexpr const char* silence_label = "_silence_";

/// Recordings of single words, without the silence around them.
struct Recordings {
  std::vector<std::string> labels;    ///< the words, then unknown_label and silence_label
  std::vector<Vector<float>> sounds;  ///< at 16 kHz
  std::vector<Index> label_of;        ///< index into `labels`, for each sound

  Index count() const { return static_cast<Index>(sounds.size()); }
  Index unknown() const { return static_cast<Index>(labels.size()) - 2; }
  Index silence() const { return static_cast<Index>(labels.size()) - 1; }
};

/// Mixes each sound to mono and resamples it to 16 kHz. Sounds of the same rate are resampled together, because computing
/// the filter's weights takes longer than resampling a word.
std::vector<Vector<float>> resampled(const std::vector<gated::Sound>& sounds);

/// Reads the WAV file at `path` in pieces of one minute, to save memory, and calls `take(samples)` for each piece. The samples
/// are mono, at 16 kHz, and bit-identical to those of resampled(). Errors: those of WavFile.
void for_each_piece(const std::filesystem::path& path, const std::function<void(std::span<const float>)>& take);

/// Removes leading and trailing pieces of 10 ms that are at least 40 dB quieter than the loudest piece.
Vector<float> trimmed(const Vector<float>& samples);

/// The words: the sorted names of the subfolders of `folder` that do not begin with _ or a dot.
/// Errors: FileError if `folder` is not a folder or has no such subfolder.
std::vector<std::string> words_in(const std::filesystem::path& folder);

/// Reads the WAV files in the subfolders of `folder`. Subfolders that begin with _, such as _background_noise_, are skipped,
/// except _unknown_. Files in subfolders that are not among `words` are unknown words.
/// Errors: FileError if `folder` is not a folder, a word has no recording, or a file is not a WAV file; ArgumentError if a word
/// is not UTF-8.
Recordings read_recordings(const std::filesystem::path& folder, const std::vector<std::string>& words);

}  // namespace words
