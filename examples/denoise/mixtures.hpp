#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "common/noises.hpp"

/// Noisy speech, made by rules from speech.

namespace denoise {

using examples::Noise, examples::Samples;
using gated::Index, gated::Matrix, gated::Random;

/// The rate of models trained here.
inline constexpr Index speech_rate = 16000;

/// The noises of the training. Rain and siren are kept apart, to measure on kinds that the model never met.
inline constexpr Noise known_noises[] = {Noise::white, Noise::pink, Noise::hum, Noise::babble, Noise::clicks, Noise::fan};
inline constexpr Noise unknown_noises[] = {Noise::rain, Noise::siren};

/// Reads the WAV files of a folder, at 16 kHz and as mono, and files named *.raw, of 16-bit samples at 16 kHz; sorted by name.
/// Errors: FileError if there are none, and those of read_wav().
std::vector<Samples> read_speech(const std::filesystem::path& folder);

/// The same for each subfolder, or for the folder if it has none.
std::vector<std::vector<Samples>> read_groups(const std::filesystem::path& folder);

/// Speech, and the same with noise.
struct Mixture {
  Samples clean, noisy;
};

/// Adds noise of one kind at a signal-to-noise ratio in dB. The other voices talk in babble.
Mixture mixed(const Samples& speech, Noise kind, double ratio, std::span<const Samples> voices, Random& random);

/// `samples` of speech from one of the groups, at 0.8 to 1.25 times its speed and pitch, in one of three cases in a room, with
/// a known noise at -5 to 20 dB, all of it 0 to 30 dB softer.
Mixture random_mixture(std::span<const std::vector<Samples>> groups, Index samples, Random& random);

}  // namespace denoise
