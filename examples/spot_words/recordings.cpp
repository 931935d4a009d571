#include "recordings.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

#include "common/recording.hpp"
#include "common/sorted_entries.hpp"
#include "gated/io/labels.hpp"

namespace words {

namespace {

namespace fs = std::filesystem;
using gated::FileError, gated::require, examples::sorted_entries;

std::vector<fs::path> subfolders(const fs::path& folder) {
  require<FileError>(fs::is_directory(folder), folder.string(),
                     ": no such folder. Give one with a subfolder of WAV files per word.");
  return sorted_entries(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
}

/// The number of frames after resampling `frames` frames.
Index converted(Index frames, Index up, Index down) {
  return static_cast<Index>((static_cast<std::int64_t>(frames) * up + down - 1) / down);
}

/// An upper bound on the number of frames that resample()'s filter reads on each side of a frame.
Index reach_of(Index from) { return 128 * std::max<Index>(1, (from + rate - 1) / rate); }

}  // namespace

void for_each_piece(const fs::path& path, const std::function<void(std::span<const float>)>& take) {
  const examples::Recording recording(path, rate, true);
  const Index minute = 60 * rate;
  for (Index first = 0; first < recording.frames(); first += minute) {
    const gated::Matrix<float> samples = recording.read(first, std::min(minute, recording.frames() - first));
    take({samples.data(), static_cast<std::size_t>(samples.size())});
  }
}

std::vector<Vector<float>> resampled(const std::vector<gated::Sound>& sounds) {
  std::map<Index, std::vector<std::size_t>> by_rate;
  for (std::size_t i = 0; i < sounds.size(); ++i) {
    by_rate[sounds[i].rate].push_back(i);
  }
  std::vector<Vector<float>> results(sounds.size());
  for (const auto& [from, chosen] : by_rate) {
    const Index divisor = std::gcd(from, rate), down = from / divisor, up = rate / divisor;
    const Index gap = reach_of(from);
    std::vector<Index> steps{0};  // where each sound begins, in units of `down` frames
    for (const std::size_t i : chosen) {
      steps.push_back(steps.back() + (sounds[i].samples.rows() + gap + down - 1) / down);
    }
    gated::Matrix<float> joined = gated::Matrix<float>::Zero(steps.back() * down, 1);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto& samples = sounds[chosen[k]].samples;
      joined.middleRows(steps[k] * down, samples.rows()) = samples.rowwise().mean();
    }
    const gated::Matrix<float> all = gated::resample<float>(joined, from, rate);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const Index frames = sounds[chosen[k]].samples.rows();
      results[chosen[k]] = all.col(0).segment(steps[k] * up, converted(frames, up, down));
    }
  }
  return results;
}

Vector<float> trimmed(const Vector<float>& samples) {
  constexpr Index piece = rate / 100;
  const Index pieces = samples.size() / piece;
  std::vector<float> powers;
  for (Index i = 0; i < pieces; ++i) {
    powers.push_back(samples.segment(i * piece, piece).squaredNorm());
  }
  const float loudest = powers.empty() ? 0 : *std::max_element(powers.begin(), powers.end());
  if (loudest == 0) {
    return samples;
  }
  const float least = 1e-4F * loudest;
  const auto loud = [least](float power) { return power > least; };
  const auto first = std::find_if(powers.begin(), powers.end(), loud);
  const auto last = std::find_if(powers.rbegin(), powers.rend(), loud);
  const Index begin = static_cast<Index>(first - powers.begin()) * piece;
  return samples.segment(begin, std::max(piece, static_cast<Index>(powers.rend() - last) * piece - begin));
}

std::vector<std::string> words_in(const fs::path& folder) {
  std::vector<std::string> words;
  for (const fs::path& one : subfolders(folder)) {
    if (!one.filename().string().starts_with("_")) {
      words.push_back(one.filename().string());
    }
  }
  require<FileError>(!words.empty(), folder.string(), ": has no subfolder. Give one with a subfolder of WAV files per word.");
  return words;
}

Recordings read_recordings(const fs::path& folder, const std::vector<std::string>& words) {
  Recordings all{words, {}, {}};
  all.labels.insert(all.labels.end(), {unknown_label, silence_label});
  gated::labels_text(all.labels);  // raises its errors before training, not when the model is saved
  for (const fs::path& one : subfolders(folder)) {
    const std::string name = one.filename().string();
    if (name.starts_with("_") && name != unknown_label) {
      continue;
    }
    const Index label = std::find(words.begin(), words.end(), name) - words.begin();  // unknown() if not found
    std::vector<gated::Sound> sounds;
    for (const fs::path& file : sorted_entries(one, [](const auto& entry) { return entry.path().extension() == ".wav"; })) {
      sounds.push_back(gated::read_wav(file));
    }
    for (const Vector<float>& samples : resampled(sounds)) {
      all.sounds.push_back(trimmed(samples));
      all.label_of.push_back(label);
    }
  }
  for (Index label = 0; label < static_cast<Index>(words.size()); ++label) {
    const bool found = std::find(all.label_of.begin(), all.label_of.end(), label) != all.label_of.end();
    require<FileError>(found, folder.string(), ": has no WAV file in a subfolder called ",
                       words[static_cast<std::size_t>(label)], ".");
  }
  return all;
}

}  // namespace words
