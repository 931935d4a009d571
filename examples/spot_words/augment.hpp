#pragma once

#include <array>

#include "common/noises.hpp"
#include "gated/core/random.hpp"
#include "recordings.hpp"

/// Seconds of sound to learn from: recordings at random places, between other words, in rooms and in noise.

namespace words {

using gated::Random;

/// The samples of a window.
inline constexpr Index window_samples = rate;

/// The kinds of noise in training.
inline constexpr std::array met_noises{examples::Noise::white,  examples::Noise::pink,   examples::Noise::hum,
                                       examples::Noise::babble, examples::Noise::clicks, examples::Noise::fan};
/// The kinds that no training has.
inline constexpr std::array new_noises{examples::Noise::rain, examples::Noise::siren};

/// The window with `sound` in its middle.
Vector<float> centred(const Vector<float>& sound);

/// Adds a noise of one of `kinds` at this signal-to-noise ratio in dB to the window; the signal is [first, first + count).
void add_noise(Vector<float>& window, Index first, Index count, double ratio, std::span<const examples::Noise> kinds,
               const Recordings& voices, Random& random);

/// A window to learn from, and its label.
struct Example {
  Vector<float> window;
  Index label;
};

/// Draws a window around recording i of `all`.
///
/// Most recordings are played slower or faster, which shifts pitch and formants, and get another balance of low and high
/// frequencies. The recording lies anywhere in the window; up to a tenth of it may be cut off. Often a part of another word
/// precedes or follows. The window may get the echo of a room and noise of 0 to 20 dB. One in twelve windows is noise alone,
/// with silence_label, and one in twenty has less than half of a word, with unknown_label.
Example draw_example(const Recordings& all, std::size_t i, Random& random);

}  // namespace words
