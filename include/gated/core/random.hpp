#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gated/core/elementary.hpp"
#include "gated/core/matrix.hpp"

/// @file
/// Random numbers that are the same on every platform.

namespace gated {

/// The i-th output of SplitMix64 (Steele et al., 2014) for `seed`, without computing the earlier outputs.
constexpr std::uint64_t random_bits_at(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64.
///
/// The standard library's distributions differ between implementations, so uniform() and normal() use only correctly rounded
/// operations. uniform() scales 53 random bits. normal() uses the ratio-of-uniforms method (Kinderman and Monahan, 1977): the
/// value is a quotient, and a logarithm only decides whether it is accepted. Equal seeds give equal values on every platform.
class Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed = 0) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      state_[i] = random_bits_at(seed, i);
    }
  }

  /// Continues from a state that state() returned.
  explicit Random(const State& state) : state_(state) {}
  const State& state() const { return state_; }

  /// 64 random bits.
  std::uint64_t bits() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  /// Normal with mean 0 and standard deviation 1.
  double normal() {
    constexpr double width = 1.7155277699214135;  // sqrt(8 / e)
    for (;;) {
      const double u = 1.0 - uniform();  // never 0
      const double x = width * (uniform() - 0.5) / u;
      if (x * x <= -4.0 * elementary::log(u)) {
        return x;
      }
    }
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

  State state_{};
};

/// Fills `values` with samples from N(0, deviation²).
template <class T>
void fill_normal(std::span<T> values, double deviation, Random& random) {
  for (T& value : values) {
    value = static_cast<T>(deviation * random.normal());
  }
}
/// Fills a matrix or vector with samples from N(0, deviation²), in memory order.
template <class M>
void fill_normal(Eigen::PlainObjectBase<M>& values, double deviation, Random& random) {
  fill_normal(std::span(values.data(), static_cast<std::size_t>(values.size())), deviation, random);
}

/// Fills `values` with uniform samples from [-bound, bound).
template <class T>
void fill_uniform(std::span<T> values, double bound, Random& random) {
  for (T& value : values) {
    value = static_cast<T>(bound * (2.0 * random.uniform() - 1.0));
  }
}
/// Fills a matrix or vector with uniform samples from [-bound, bound), in memory order.
template <class M>
void fill_uniform(Eigen::PlainObjectBase<M>& values, double bound, Random& random) {
  fill_uniform(std::span(values.data(), static_cast<std::size_t>(values.size())), bound, random);
}

}  // namespace gated
