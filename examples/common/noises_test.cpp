#include "common/noises.hpp"

#include <gtest/gtest.h>

#include "gated/core/settings.hpp"

namespace examples {
namespace {

using gated::Index, gated::Random;

constexpr Index rate = 16000, second = rate;
constexpr Noise all[] = {Noise::white,  Noise::pink, Noise::hum,  Noise::babble,
                         Noise::clicks, Noise::fan,  Noise::rain, Noise::siren};

Samples tone(double hertz) {
  return Samples::NullaryExpr(second, [&](Index t) {
    return static_cast<float>(std::sin(2 * 3.141592653589793 * hertz * static_cast<double>(t) / static_cast<double>(rate)));
  });
}

/// The power of x between two frequencies, by correlation with tones 10 Hz apart.
double band(const Samples& x, double from, double to) {
  double sum = 0;
  for (double hertz = from; hertz < to; hertz += 10) {
    double re = 0, im = 0;
    for (Index t = 0; t < x.size(); ++t) {
      const double angle = 2 * 3.141592653589793 * hertz * static_cast<double>(t) / static_cast<double>(rate);
      re += static_cast<double>(x[t]) * std::cos(angle);
      im += static_cast<double>(x[t]) * std::sin(angle);
    }
    sum += re * re + im * im;
  }
  return sum;
}

TEST(Noises, HaveUnitPowerAndRepeatForTheSameSeed) {
  const std::vector<Samples> voices{tone(200), tone(300)};
  for (const Noise kind : all) {
    Random one(3), two(3), three(4);
    const Samples x = noise(kind, second, rate, voices, one);
    ASSERT_EQ(x.size(), second);
    EXPECT_NEAR(power(x), 1, 1e-4) << gated::name_of(kind);
    EXPECT_EQ(x, noise(kind, second, rate, voices, two)) << gated::name_of(kind);
    EXPECT_NE(x, noise(kind, second, rate, voices, three)) << gated::name_of(kind);
  }
}

TEST(Noises, HaveTheExpectedSpectra) {
  Random random(1);
  const auto ratio = [&](Noise kind) {
    const Samples x = noise(kind, second, rate, {}, random);
    return band(x, 200, 400) / band(x, 3200, 3400);
  };
  EXPECT_NEAR(ratio(Noise::white), 1, 0.7);
  EXPECT_GT(ratio(Noise::pink), 4);
  const Samples hum = noise(Noise::hum, second, rate, {}, random);
  EXPECT_GT(band(hum, 0, 700), 10 * band(hum, 700, 1400));
}

TEST(Noises, RoomsAddEchoesAfterTheSound) {
  Random random(1);
  Samples click = Samples::Zero(second);
  click[100] = 1;
  const Samples wet = in_room(click, rate, 0.3, random);
  EXPECT_EQ(wet.head(101), click.head(101));
  EXPECT_GT(power(wet), 1.1 * power(click));
  EXPECT_EQ(wet.tail(second - 101 - 4801), Samples::Zero(second - 101 - 4801));
}

TEST(Noises, MixAtTheGivenRatio) {
  Random random(1);
  const Samples speech = tone(440), x = noise(Noise::white, second, rate, {}, random);
  for (const double ratio : {-5.0, 0.0, 20.0}) {
    EXPECT_NEAR(si_sdr(speech + scale_for(speech, x, ratio) * x, speech), ratio, 0.3);
  }
  EXPECT_NEAR(si_sdr(7 * (speech + scale_for(speech, x, 3) * x), speech), 3, 0.1);  // SI-SDR ignores the scale
  EXPECT_EQ(scale_for(Samples::Zero(10), x, 0), 0);
  EXPECT_EQ(scale_for(speech, Samples::Zero(10), 0), 0);
}

}  // namespace
}  // namespace examples
