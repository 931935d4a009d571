#include "common/noises.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace examples {
namespace {

using gated::Index, gated::Random;

double between(double low, double high, Random& random) { return low + (high - low) * random.uniform(); }
Index index_below(Index count, Random& random) {
  return std::min(static_cast<Index>(random.uniform() * static_cast<double>(count)), count - 1);
}

Samples white(Index samples, Random& random) {
  return Samples::NullaryExpr(samples, [&](Index) { return static_cast<float>(random.normal()); });
}

/// The sum of six low-pass-filtered copies of white noise, their corner frequencies two octaves apart (Voss-McCartney as a
/// filter).
Samples pink(Index samples, Random& random) {
  std::array<double, 6> low{};
  return Samples::NullaryExpr(samples, [&](Index) {
    const double x = random.normal();
    double sum = 0, decay = 0.5;
    for (double& y : low) {
      y += decay * (x - y);
      sum += y;
      decay /= 4;
    }
    return static_cast<float>(sum);
  });
}

/// A tone of `pitch` cycles per sample and up to 9 overtones below half the sample rate, each with `fall` times the amplitude
/// of the one before.
class Tone {
 public:
  Tone(double fall, Random& random) : fall_(fall) {
    std::generate(phases_.begin(), phases_.end(), [&] { return random.uniform(); });
  }
  double next(double pitch) {
    turn_ += pitch;
    double sum = 0, size = 1;
    for (std::size_t k = 0; k < phases_.size() && static_cast<double>(k + 1) * pitch < 0.5; ++k, size *= fall_) {
      sum += size * std::sin(2 * std::numbers::pi * (static_cast<double>(k + 1) * turn_ + phases_[k]));
    }
    return sum;
  }

 private:
  double fall_, turn_ = 0;
  std::array<double, 10> phases_;
};

Samples hum(Index samples, Index rate, Random& random) {
  Tone tone(between(0.5, 0.9, random), random);
  const double pitch = (random.uniform() < 0.5 ? 50.0 : 60.0) / static_cast<double>(rate), hiss = between(0.01, 0.1, random);
  return Samples::NullaryExpr(samples, [&](Index) { return static_cast<float>(tone.next(pitch) + hiss * random.normal()); });
}

/// Random bursts of noise or of a decaying tone, `per_second` on average.
Samples bursts(Index samples, Index rate, double per_second, double shortest, double longest, Random& random) {
  Samples x = Samples::Zero(samples);
  const double seconds = static_cast<double>(samples) / static_cast<double>(rate);
  for (Index left = static_cast<Index>(std::ceil(per_second * seconds)); left > 0; --left) {
    const Index start = index_below(samples, random);
    const double length = between(shortest, longest, random) * static_cast<double>(rate),
                 size = std::abs(random.normal()) + 0.2;
    const double pitch = between(0.02, 0.4, random), tonal = random.uniform();
    const Index end = std::min(samples, start + static_cast<Index>(5 * length) + 1);
    for (Index t = start; t < end; ++t) {
      const double age = static_cast<double>(t - start);
      x[t] += static_cast<float>(size * std::exp(-age / length) *
                                 (tonal * std::sin(2 * std::numbers::pi * pitch * age) + (1 - tonal) * random.normal()));
    }
  }
  return x;
}

Samples fan(Index samples, Index rate, Random& random) {
  Samples x = pink(samples, random);
  Tone blades(between(0.4, 0.8, random), random);
  const double pitch = between(60, 250, random) / static_cast<double>(rate), loud = between(0.2, 1.5, random);
  const double swell = between(0.1, 0.6, random), turn = between(0.2, 2, random) / static_cast<double>(rate);
  for (Index t = 0; t < samples; ++t) {
    const double size = 1 + swell * std::sin(2 * std::numbers::pi * turn * static_cast<double>(t));
    x[t] = static_cast<float>(size * (static_cast<double>(x[t]) + loud * blades.next(pitch)));
  }
  return x;
}

Samples siren(Index samples, Index rate, Random& random) {
  Tone tone(between(0.2, 0.5, random), random);
  const double low = between(300, 700, random), high = low * between(1.5, 2.5, random), turn = between(0.2, 3, random);
  return Samples::NullaryExpr(samples, [&](Index t) {
    const double place = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * turn * static_cast<double>(t) / static_cast<double>(rate));
    return static_cast<float>(tone.next((low + (high - low) * place) / static_cast<double>(rate)) + 0.02 * random.normal());
  });
}

Samples babble(Index samples, std::span<const Samples> voices, Random& random) {
  Samples x = Samples::Zero(samples);
  for (Index left = 4 + index_below(5, random); left > 0; --left) {
    const Samples& voice = voices[static_cast<std::size_t>(index_below(static_cast<Index>(voices.size()), random))];
    const double loud = std::sqrt(std::max(power(voice), 1e-12));
    const auto size = static_cast<float>(between(0.5, 1, random) / loud);
    for (Index t = 0, at = index_below(voice.size(), random); t < samples; ++t, at = at + 1 < voice.size() ? at + 1 : 0) {
      x[t] += size * voice[at];
    }
  }
  return x;
}

Samples shaped(Noise kind, Index samples, Index rate, std::span<const Samples> voices, Random& random) {
  switch (kind) {
    case Noise::white:
      return white(samples, random);
    case Noise::hum:
      return hum(samples, rate, random);
    case Noise::babble:
      return voices.empty() ? pink(samples, random) : babble(samples, voices, random);
    case Noise::clicks:
      return bursts(samples, rate, between(2, 12, random), 0.0005, 0.02, random);
    case Noise::fan:
      return fan(samples, rate, random);
    case Noise::rain:
      return bursts(samples, rate, 400, 0.0003, 0.003, random) + 0.05f * white(samples, random);
    case Noise::siren:
      return siren(samples, rate, random);
    default:
      return pink(samples, random);
  }
}

}  // namespace

double power(const Samples& x) { return x.size() == 0 ? 0 : x.cast<double>().squaredNorm() / static_cast<double>(x.size()); }

Samples noise(Noise kind, Index samples, Index rate, std::span<const Samples> voices, Random& random) {
  Samples x = shaped(kind, samples, rate, voices, random);
  const double before = power(x);
  return before > 0 ? Samples(x * static_cast<float>(1 / std::sqrt(before))) : x;
}

Samples in_room(const Samples& dry, Index rate, double seconds, Random& random) {
  constexpr int echoes = 40;
  Samples wet = dry;
  for (int i = 0; i < echoes; ++i) {
    const double place = random.uniform();  // the delay, as a share of `seconds`
    const auto delay = static_cast<Index>(place * seconds * static_cast<double>(rate)) + 1;
    const double sign = random.uniform() < 0.5 ? -1 : 1;
    const auto size = static_cast<float>(sign * 0.4 * std::pow(10.0, -3 * place) * random.uniform());
    if (delay < dry.size()) {
      wet.tail(dry.size() - delay) += size * dry.head(dry.size() - delay);
    }
  }
  return wet;
}

float scale_for(const Samples& speech, const Samples& noise, double ratio) {
  const double signal = power(speech), disturbance = power(noise);
  return signal > 0 && disturbance > 0 ? static_cast<float>(std::sqrt(signal / disturbance / std::pow(10.0, ratio / 10)))
                                       : 0.0f;
}

double si_sdr(const Samples& estimate, const Samples& speech) {
  const auto y = estimate.cast<double>(), s = speech.cast<double>();
  const double scale = y.dot(s) / s.squaredNorm();
  return 10 * std::log10((scale * s).squaredNorm() / (scale * s - y).squaredNorm());
}

}  // namespace examples
