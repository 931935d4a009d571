#include "mixtures.hpp"

#include <algorithm>
#include <cmath>

#include "common/raw_samples.hpp"
#include "common/recording.hpp"
#include "common/sorted_entries.hpp"

namespace denoise {
namespace {

namespace fs = std::filesystem;

Samples read_raw(const fs::path& path) {
  const gated::MappedFile file(path);
  Samples samples(static_cast<Index>(file.bytes().size() / 2));
  examples::decode_raw(file.bytes(), {samples.data(), static_cast<std::size_t>(samples.size())});
  return samples;
}

Samples read_mono(const fs::path& path) {
  const examples::Recording recording(path, speech_rate, true);
  return recording.read(0, recording.frames()).col(0);
}

Index below(Index count, Random& random) { return static_cast<Index>(random.uniform() * static_cast<double>(count)); }

template <class T>
const T& one_of(std::span<const T> all, Random& random) {
  return all[static_cast<std::size_t>(below(std::ssize(all), random))];
}

/// Resamples x to play at `speed` times its speed, by linear interpolation.
Samples at_speed(const Samples& x, double speed) {
  return Samples::NullaryExpr(static_cast<Index>(static_cast<double>(x.size() - 1) / speed), [&](Index t) {
    const double place = static_cast<double>(t) * speed;
    const auto before = static_cast<Index>(place);
    const auto part = static_cast<float>(place - static_cast<double>(before));
    return (1 - part) * x[before] + part * x[before + 1];
  });
}

}  // namespace

std::vector<std::vector<Samples>> read_groups(const fs::path& folder) {
  gated::require<gated::FileError>(fs::is_directory(folder), folder.string(), ": there is no such folder.");
  const auto folders = examples::sorted_entries(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
  std::vector<std::vector<Samples>> groups;
  for (const fs::path& one : folders.empty() ? std::vector{folder} : folders) {
    groups.push_back(read_speech(one));
  }
  return groups;
}

std::vector<Samples> read_speech(const fs::path& folder) {
  gated::require<gated::FileError>(fs::is_directory(folder), folder.string(), ": there is no such folder.");
  const auto paths = examples::sorted_entries(folder, [](const fs::directory_entry& entry) {
    return entry.path().extension() == ".wav" || entry.path().extension() == ".raw";
  });
  gated::require<gated::FileError>(!paths.empty(), folder.string(), ": contains no *.wav or *.raw files.");
  std::vector<Samples> speech;
  for (const fs::path& path : paths) {
    speech.push_back(path.extension() == ".raw" ? read_raw(path) : read_mono(path));
    gated::require<gated::FileError>(examples::power(speech.back()) > 0, path.string(), ": is silent. Remove it.");
  }
  return speech;
}

Mixture mixed(const Samples& speech, Noise kind, double ratio, std::span<const Samples> voices, Random& random) {
  const Samples noise = examples::noise(kind, speech.size(), speech_rate, voices, random);
  return {speech, speech + examples::scale_for(speech, noise, ratio) * noise};
}

Mixture random_mixture(std::span<const std::vector<Samples>> groups, Index samples, Random& random) {
  const std::span<const Samples> speech = one_of(groups, random);
  Samples voice = Samples::Zero(samples);
  const double speed = 0.8 * std::pow(1.25 / 0.8, random.uniform());
  for (Index at = below(speech_rate / 2, random); at < samples; at += below(speech_rate / 2, random)) {  // with pauses
    const Samples one = at_speed(one_of(speech, random), speed);
    const Index count = std::min(one.size(), samples - at);
    voice.segment(at, count) = one.head(count) / static_cast<float>(std::sqrt(examples::power(one)));
    at += count;
  }
  if (random.uniform() < 1.0 / 3) {
    voice = examples::in_room(voice, speech_rate, 0.1 + 0.4 * random.uniform(), random);
  }
  const Noise kind = one_of(std::span<const Noise>(known_noises), random);
  // Drawn before the call, because compilers evaluate arguments in different orders.
  const std::span<const Samples> voices = one_of(groups, random);
  const double ratio = -5 + 25 * random.uniform();
  Mixture mixture = mixed(voice, kind, ratio, voices, random);
  const auto gain = static_cast<float>(0.1 * std::pow(10.0, -1.5 * random.uniform()));  // 0.1: speech of -20 dB
  mixture.clean *= gain;
  mixture.noisy *= gain;
  return mixture;
}

}  // namespace denoise
