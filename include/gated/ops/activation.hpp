#pragma once

#include <array>
#include <numbers>
#include <string_view>
#include <utility>

#include "gated/ops/special.hpp"

/// @file
/// Activations: value and derivative side by side, on vectors.
///
/// Each is a small type with `value(x)` and `derivative(x)`; inference, streaming and training call the same ones. A
/// configuration names one by the enumeration Activation, and with_activation() turns the name into the type, once per call.

namespace gated {

/// x.
struct Identity {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return x;
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T>) const {
    return Simd<T>(T{1});
  }
};

/// GELU(x) = x · Φ(x) = x/2 · (1 + erf(x/√2)), the exact form (Hendrycks and Gimpel, arXiv:1606.08415).
struct Gelu {
  template <class T>
  static EIGEN_STRONG_INLINE Simd<T> two_phi(Simd<T> x) {
    return Simd<T>(T{1}) + erf(x * Simd<T>(std::numbers::sqrt2_v<T> / 2));
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return Simd<T>(T(0.5)) * x * two_phi(x);
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> inside = max(min(x, Simd<T>(T(40))), Simd<T>(T(-40)));  // a huge x times a density that is not quite 0
    return Simd<T>(T(0.5)) * two_phi(x) + inside * normal_density(inside);
  }
};

/// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), the tanh form of GELU.
struct GeluTanh {
  template <class T>
  static EIGEN_STRONG_INLINE Simd<T> inner_tanh(Simd<T> x) {
    const Simd<T> inside = max(min(x, Simd<T>(T(100))), Simd<T>(T(-100)));  // tanh is ±1 long before; x³ must not overflow
    return tanh(Simd<T>(T(root)) * inside * fma(inside * inside, Simd<T>(T(cubic)), Simd<T>(T{1})));
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return Simd<T>(T(0.5)) * x * (Simd<T>(T{1}) + inner_tanh(x));
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> inside = max(min(x, Simd<T>(T(100))), Simd<T>(T(-100)));
    const Simd<T> t = inner_tanh(x), one(T{1});
    const Simd<T> slope = Simd<T>(T(root)) * fma(inside * inside, Simd<T>(T(3 * cubic)), one);
    return Simd<T>(T(0.5)) * (one + t + inside * (one - t * t) * slope);
  }

 private:
  static constexpr double cubic = 0.044715;
  static constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // √(2/π)
};

/// SiLU(x) = x · σ(x), also called swish.
struct Silu {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    const Simd<T> inside = max(x, Simd<T>(logistic_bound<T>));
    return inside / one_plus_exp_minus(inside);
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> s = logistic(x), inside = max(x, Simd<T>(logistic_bound<T>)), one(T{1});
    return s * fma(inside, one - s, one);
  }
};

/// max(x, 0).
struct Relu {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return max(x, Simd<T>(T{0}));
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    return select_less(Simd<T>(T{0}), x, Simd<T>(T{1}), Simd<T>(T{0}));
  }
};

/// max(x, 0)² (Primer, arXiv:2109.08668), the score kernel of the gated attention unit.
struct Relu2 {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    const Simd<T> positive = max(x, Simd<T>(T{0}));
    return positive * positive;
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    return Simd<T>(T{2}) * max(x, Simd<T>(T{0}));
  }
};

/// (1 + erf((x - μ) / (σ√2))) / 2 with μ = √½: the smooth stand-in for relu² (MEGA, arXiv:2209.10655). Laplace(0) ≠ 0.
template <bool legacy>
struct LaplaceForm {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return Simd<T>(T(0.5)) * (Simd<T>(T{1}) + erf(standardised(x)));
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {  // the density of N(μ, σ²)
    return normal_density(standardised(x) * Simd<T>(std::numbers::sqrt2_v<T>)) * Simd<T>(T(slope * std::numbers::sqrt2));
  }

 private:
  // 1 / (σ√2). σ = √(1/(4π)) matches relu² and its slope at x = μ; old packages had σ = √(π/4).
  static constexpr double slope = legacy ? std::numbers::sqrt2 * std::numbers::inv_sqrtpi   // √(2/π)
                                         : std::numbers::sqrt2 / std::numbers::inv_sqrtpi;  // √(2π)
  template <class T>
  static EIGEN_STRONG_INLINE Simd<T> standardised(Simd<T> x) {
    return (x - Simd<T>(std::numbers::sqrt2_v<T> / 2)) * Simd<T>(T(slope));
  }
};
using Laplace = LaplaceForm<false>;
using LaplaceLegacy = LaplaceForm<true>;

/// tanh(x).
struct Tanh {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return tanh(x);
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> t = tanh(x);
    return Simd<T>(T{1}) - t * t;
  }
};

/// σ(x) = 1 / (1 + exp(-x)).
struct Sigmoid {
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> value(Simd<T> x) const {
    return logistic(x);
  }
  template <class T>
  EIGEN_STRONG_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> s = logistic(x);
    return s * (Simd<T>(T{1}) - s);
  }
};

/// The name of an activation in a configuration.
enum class Activation { identity, gelu, gelu_tanh, silu, relu, relu2, laplace, laplace_legacy, tanh, sigmoid };

/// The words that configuration files use.
constexpr auto names_of(Activation) {
  return std::array{std::pair{Activation::identity, std::string_view("identity")},
                    std::pair{Activation::gelu, std::string_view("gelu")},
                    std::pair{Activation::gelu_tanh, std::string_view("gelu_tanh")},
                    std::pair{Activation::silu, std::string_view("silu")},
                    std::pair{Activation::relu, std::string_view("relu")},
                    std::pair{Activation::relu2, std::string_view("relu2")},
                    std::pair{Activation::laplace, std::string_view("laplace")},
                    std::pair{Activation::laplace_legacy, std::string_view("laplace_legacy")},
                    std::pair{Activation::tanh, std::string_view("tanh")},
                    std::pair{Activation::sigmoid, std::string_view("sigmoid")}};
}

/// Calls `f` with the type that `activation` names: `with_activation(config.activation, [&](auto act) { … act.value(x) … })`.
template <class F>
decltype(auto) with_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::gelu:
      return f(Gelu{});
    case Activation::gelu_tanh:
      return f(GeluTanh{});
    case Activation::silu:
      return f(Silu{});
    case Activation::relu:
      return f(Relu{});
    case Activation::relu2:
      return f(Relu2{});
    case Activation::laplace:
      return f(Laplace{});
    case Activation::laplace_legacy:
      return f(LaplaceLegacy{});
    case Activation::tanh:
      return f(Tanh{});
    case Activation::sigmoid:
      return f(Sigmoid{});
    case Activation::identity:
      break;
  }
  return f(Identity{});
}

/// values[i] ← activation(values[i]) for `count` numbers, a multiple of the vector width.
template <class T>
EIGEN_DONT_INLINE void activate(Activation activation, T* values, Index count) {
  with_activation(activation, [&](auto act) {
    for (Index i = 0; i < count; i += Simd<T>::width) {
      act.value(Simd<T>::load(values + i)).store(values + i);
    }
  });
}

}  // namespace gated
