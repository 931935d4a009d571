#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gated/audio/signal.hpp"
#include "gated/core/random.hpp"
#include "gated/core/words.hpp"

/// Synthetic noises, room echoes, mixing at a signal-to-noise ratio, and the SI-SDR of an estimate.

namespace examples {

using Samples = gated::Vector<float>;

enum class Noise {
  white,   ///< the same power at each frequency
  pink,    ///< the same power in each octave
  hum,     ///< 50 or 60 Hz and its overtones, with a little hiss
  babble,  ///< several voices
  clicks,  ///< short decaying bursts at random times
  fan,     ///< pink noise and blade tones that slowly swell and fade
  rain,    ///< hundreds of drops a second, over faint white noise
  siren    ///< a tone that sweeps up and down, with overtones
};

constexpr auto names_of(Noise) {
  return gated::words_for<Noise>("white", "pink", "hum", "babble", "clicks", "fan", "rain", "siren");
}

/// Noise of power 1: `samples` samples at `rate` Hz. Babble mixes 4 to 8 of `voices`, each from a random start; without voices,
/// babble is pink noise.
Samples noise(Noise kind, gated::Index samples, gated::Index rate, std::span<const Samples> voices, gated::Random& random);

/// Simulates a room: adds 40 echoes at random delays up to `seconds`, the time in which echoes decay by 60 dB.
Samples in_room(const Samples& dry, gated::Index rate, double seconds, gated::Random& random);

/// The mean square of the samples.
double power(const Samples& x);

/// The factor that gives speech + factor · noise a signal-to-noise ratio of `ratio` dB; 0 if speech or noise is silent.
float scale_for(const Samples& speech, const Samples& noise, double ratio);

/// The scale-invariant signal-to-distortion ratio of an estimate y of speech s, in dB: 10 log₁₀(|a s|² / |a s - y|²), where
/// the scale a minimizes |a s - y|² (Le Roux et al., arXiv:1811.02508).
double si_sdr(const Samples& estimate, const Samples& speech);

}  // namespace examples
