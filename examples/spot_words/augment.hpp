#pragma once

#include <array>

#include "common/noises.hpp"
#include "gated/core/random.hpp"
#include "recordings.hpp"

/// Training windows of one second: a word at a random position, often with echo, noise and a part of another word.

namespace words {

using gated::Random;

/// The number of samples in a window.
inline constexpr Index window_samples = rate;

/// The kinds of noise used in training.
inline constexpr std::array met_noises{examples::Noise::white,  examples::Noise::pink,   examples::Noise::hum,
                                       examples::Noise::babble, examples::Noise::clicks, examples::Noise::fan};
/// The kinds of noise never used in training.
inline constexpr std::array new_noises{examples::Noise::rain, examples::Noise::siren};

/// A silent window with `sound` in its middle.
Vector<float> centred(const Vector<float>& sound);

/// Adds noise of one of `kinds` at a signal-to-noise ratio of `ratio` dB; the signal is the samples [first, first + count).
void add_noise(Vector<float>& window, Index first, Index count, double ratio, std::span<const examples::Noise> kinds,
               const Recordings& voices, Random& random);

/// A training window and its label.
struct Example {
  Vector<float> window;
  Index label;
};

/// Draws a training window with recording i of `all`.
///
/// Most recordings are played slower or faster, which shifts pitch and formants, and their spectrum is tilted at random. The
/// recording lies anywhere in the window; up to a tenth of it may be cut off. Often a part of another word precedes or follows.
/// Some windows have room echo, and most have noise at a signal-to-noise ratio of 0 to 20 dB. One window in twelve is noise
/// alone (silence_label), and one in twenty contains less than half of a word (unknown_label).
Example draw_example(const Recordings& all, std::size_t i, Random& random);

}  // namespace words
