#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "common/noises.hpp"

/// Makes noisy speech from clean speech.

namespace denoise {

using examples::Noise, examples::Samples;
using gated::Index, gated::Matrix, gated::Random;

/// The sample rate of models trained here, in Hz.
inline constexpr Index speech_rate = 16000;

/// The noises used in training. Rain and siren are held out for tests on unknown kinds of noise.
inline constexpr Noise known_noises[] = {Noise::white, Noise::pink, Noise::hum, Noise::babble, Noise::clicks, Noise::fan};
inline constexpr Noise unknown_noises[] = {Noise::rain, Noise::siren};

/// Reads the *.wav files of a folder, converted to mono at 16 kHz, and its *.raw files of 16-bit samples at 16 kHz, sorted by
/// name. Errors: FileError if the folder has no such file; those of read_wav().
std::vector<Samples> read_speech(const std::filesystem::path& folder);

/// Calls read_speech() for each subfolder, or for `folder` itself if it has no subfolders.
std::vector<std::vector<Samples>> read_groups(const std::filesystem::path& folder);

/// Clean speech, and the same speech with noise.
struct Mixture {
  Samples clean, noisy;
};

/// Adds noise of one kind at a signal-to-noise ratio in dB. Babble is made from `voices`.
Mixture mixed(const Samples& speech, Noise kind, double ratio, std::span<const Samples> voices, Random& random);

/// Draws `samples` samples of speech from one group, at 0.8 to 1.25 times its speed and pitch. Adds room echoes with
/// probability 1/3, and a known noise at an SNR of -5 to 20 dB. The level of the speech is -50 to -20 dB.
Mixture random_mixture(std::span<const std::vector<Samples>> groups, Index samples, Random& random);

}  // namespace denoise
