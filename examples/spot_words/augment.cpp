#include "augment.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace words {

namespace {

bool happens(double probability, Random& random) { return random.uniform() < probability; }

double between(double low, double high, Random& random) { return low + (high - low) * random.uniform(); }

Index drawn(Index count, Random& random) { return static_cast<Index>(random.uniform() * static_cast<double>(count)); }

/// Adds gain · `samples` to the window, starting at index `first`; samples outside the window are dropped.
void place(const Vector<float>& samples, Index first, float gain, Vector<float>& window) {
  const Index begin = std::max<Index>(first, 0), end = std::min(first + samples.size(), window.size());
  if (begin < end) {
    window.segment(begin, end - begin) += gain * samples.segment(begin - first, end - begin);
  }
}

float gain_of(double decibels) { return static_cast<float>(std::pow(10.0, decibels / 20)); }

/// Adds another word before or after samples [first, first + count); at most half of the other word lies in the window.
void add_neighbour(const Recordings& all, Index first, Index count, Random& random, Vector<float>& window) {
  const auto& other = all.sounds[static_cast<std::size_t>(drawn(all.count(), random))];
  const auto gap = static_cast<Index>(between(0.05, 0.4, random) * rate);
  const Index half = other.size() / 2;
  const Index start =
      happens(0.5, random) ? std::max(first + count + gap, window.size() - half) : std::min(first - gap, half) - other.size();
  place(other, start, gain_of(between(-6, 6, random)), window);
}

/// Noise of power 1, of a random kind from `kinds`.
Vector<float> noise_of(std::span<const examples::Noise> kinds, const Recordings& voices, Random& random) {
  const examples::Noise kind = kinds[static_cast<std::size_t>(drawn(std::ssize(kinds), random))];
  return examples::noise(kind, window_samples, rate, voices.sounds, random);
}

/// The sound played `factor` times as fast; this shifts pitch and formants, so it sounds like another voice.
Vector<float> played(const Vector<float>& sound, double factor) {
  const auto size = static_cast<Index>(static_cast<double>(sound.size()) / factor);
  return Vector<float>::NullaryExpr(std::max<Index>(size, 1), [&](Index i) {
    const double place = static_cast<double>(i) * factor;
    const Index at = std::min(static_cast<Index>(place), sound.size() - 1), next = std::min(at + 1, sound.size() - 1);
    const auto rest = static_cast<float>(place - static_cast<double>(at));
    return (1 - rest) * sound[at] + rest * sound[next];
  });
}

/// Imitates another microphone: adds to each sample `tilt` times the sample before.
Vector<float> tilted(const Vector<float>& sound, float tilt) {
  Vector<float> result = sound;
  result.tail(sound.size() - 1) += tilt * sound.head(sound.size() - 1);
  return result;
}

/// Scales the window so its loudest sample is at `decibels` dB relative to 1, and clips it to [-1, 1] as a sound card does.
void set_level(double decibels, Vector<float>& window) {
  const float largest = window.cwiseAbs().maxCoeff();
  if (largest > 0) {
    window *= gain_of(decibels) / largest;
    window = window.cwiseMax(-1.0F).cwiseMin(1.0F);
  }
}

}  // namespace

Vector<float> centred(const Vector<float>& sound) {
  Vector<float> window = Vector<float>::Zero(window_samples);
  place(sound, (window.size() - sound.size()) / 2, 1, window);
  return window;
}

void add_noise(Vector<float>& window, Index first, Index count, double ratio, std::span<const examples::Noise> kinds,
               const Recordings& voices, Random& random) {
  const Vector<float> noise = noise_of(kinds, voices, random);
  window += examples::scale_for(window.segment(first, count), noise, ratio) * noise;
}

Example draw_example(const Recordings& all, std::size_t i, Random& random) {
  if (happens(1.0 / 12, random)) {
    Example example{noise_of(met_noises, all, random), all.silence()};
    set_level(between(-60, 0, random), example.window);
    return example;
  }
  Example example{Vector<float>::Zero(window_samples), all.label_of[i]};
  Vector<float> word = all.sounds[i];
  if (happens(0.7, random)) {
    const double tilt = between(-0.6, 0.6, random), speed = between(0.8, 1.3, random);
    word = tilted(played(word, speed), static_cast<float>(tilt));
  }
  const Index room = window_samples - word.size(), slack = std::min(word.size(), window_samples) / 10;
  Index first = std::min<Index>(room, 0) - slack + drawn(std::abs(room) + 2 * slack + 1, random);
  if (happens(0.05, random)) {  // a part of a word
    const auto seen = static_cast<Index>(between(0.1, 0.45, random) * static_cast<double>(word.size()));
    first = happens(0.5, random) ? seen - word.size() : window_samples - seen;
    example.label = all.unknown();
  }
  place(word, first, 1, example.window);
  const Index begin = std::clamp<Index>(first, 0, window_samples - 1);
  const Index count = std::clamp<Index>(first + word.size(), begin + 1, window_samples) - begin;
  if (happens(0.4, random)) {
    add_neighbour(all, first, word.size(), random, example.window);
  }
  if (happens(0.3, random)) {
    example.window = examples::in_room(example.window, rate, between(0.1, 0.5, random), random);
  }
  if (happens(0.8, random)) {
    add_noise(example.window, begin, count, between(0, 20, random), met_noises, all, random);
  }
  set_level(between(-30, 3, random), example.window);
  return example;
}

}  // namespace words
