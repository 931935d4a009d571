// Vectorized activations: value and derivative.
//
// Each activation is a small type with `value(x)` and `derivative(x)`, shared by inference, streaming and training.
// choose_activation() maps an Activation to its type, once per call.

/// x.
struct Identity {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return x;
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T>) const {
    return Simd<T>(T{1});
  }
};

/// GELU(x) = x · Φ(x) = x/2 · (1 + erf(x/√2)), the exact form (Hendrycks and Gimpel, arXiv:1606.08415).
struct Gelu {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return times_normal_distribution(x);
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    return times_normal_distribution_derivative(x);
  }
};

/// x/2 · (1 + tanh(w/2)) = x · σ(w) with w = √(8/π) · (x + 0.044715 x³), the tanh form of GELU.
struct GeluTanh {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    const Simd<T> near = inside(x);
    return times_logistic(max(x, Simd<T>(-bound<T>)), near * fma(near * near, Simd<T>(T(root * cubic)), Simd<T>(T(root))));
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> near = inside(x), square = near * near;
    const Simd<T> w = near * fma(square, Simd<T>(T(root * cubic)), Simd<T>(T(root)));
    return times_logistic_derivative(near * fma(square, Simd<T>(T(3 * root * cubic)), Simd<T>(T(root))), w);
  }

 private:
  static constexpr double cubic = 0.044715;
  static constexpr double root = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // √(8/π)
  template <class T>
  static constexpr T bound = T(25);  // keeps x³ finite; σ(w) saturates long before |x| = 25
  template <class T>
  static EIGEN_ALWAYS_INLINE Simd<T> inside(Simd<T> x) {
    return max(min(x, Simd<T>(bound<T>)), Simd<T>(-bound<T>));
  }
};

/// Odd polynomials t P(t²) that approximate Φ(t) - ½ (`value`) and GELU'(t) - ½ (`derivative`), and reach ½ at their bounds.
/// Minimax fits to GELU and GELU', in absolute error.
struct GeluFit {
  static constexpr float bound = 3.95f, derivative_bound = 4.3f;
  template <class T>
  static constexpr T value[] = {T(0.39798668),     T(-0.0647227466),  T(0.00884291716), T(-0.000829039258),
                                T(4.95519271e-05), T(-1.68115173e-06), T(2.44357636e-08)};
  template <class T>
  static constexpr T derivative[] = {T(0.797162831),    T(-0.263412774),   T(0.0571739785),
                                     T(-0.00820103195), T(0.000798575114), T(-5.20345493e-05),
                                     T(2.15876162e-06), T(-5.1276789e-08), T(5.28694755e-10)};
};
/// The same for the tanh form of GELU.
struct GeluTanhFit {
  static constexpr float bound = 3.85f, derivative_bound = 4.2f;
  template <class T>
  static constexpr T value[] = {T(0.398063123),    T(-0.0651153624),  T(0.00906914845), T(-0.000879122817),
                                T(5.48835233e-05), T(-1.95593498e-06), T(2.99434575e-08)};
  template <class T>
  static constexpr T derivative[] = {T(0.797205985),    T(-0.264814883),   T(0.0586024411),
                                     T(-0.00871774461), T(0.000892404001), T(-6.16095131e-05),
                                     T(2.71712383e-06), T(-6.86614712e-08), T(7.52899521e-10)};
};

/// GELU by polynomials: see coarse(). Beyond the bound, the value is x or nearly 0.
template <class Fit>
struct CoarseGelu {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return max(x, Simd<T>(T(-Fit::bound))) * step(Fit::template value<T>, T(Fit::bound), x);
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    return step(Fit::template derivative<T>, T(Fit::derivative_bound), x);
  }

 private:
  /// ½ + t P(t²) for t = x limited to ±bound.
  template <class T, std::size_t N>
  static EIGEN_ALWAYS_INLINE Simd<T> step(const T (&p)[N], T bound, Simd<T> x) {
    const Simd<T> t = max(min(x, Simd<T>(bound)), Simd<T>(-bound));
    return fma(t, detail::polynomial(p, t * t), Simd<T>(T(0.5)));
  }
};

/// SiLU(x) = x · σ(x), also called swish.
struct Silu {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return times_logistic(max(x, Simd<T>(detail::lowest_exponent<T>)), x);
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    const Simd<T> bound(-detail::lowest_exponent<T>);
    return times_logistic_derivative(max(min(x, bound), -bound), x);
  }
};

/// max(x, 0).
struct Relu {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return max(x, Simd<T>(T{0}));
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    return select_less(Simd<T>(T{0}), x, Simd<T>(T{1}), Simd<T>(T{0}));
  }
};

/// max(x, 0)² (Primer, arXiv:2109.08668), the score kernel of the gated attention unit.
struct Relu2 {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    const Simd<T> positive = max(x, Simd<T>(T{0}));
    return positive * positive;
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    return Simd<T>(T{2}) * max(x, Simd<T>(T{0}));
  }
};

/// (1 + erf((x - μ) / (σ√2))) / 2 with μ = √½: a smooth approximation of relu² (MEGA, arXiv:2209.10655). Laplace(0) ≠ 0.
template <bool legacy>
struct LaplaceForm {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return normal_distribution(standardized(x));
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {  // the density of N(μ, σ²)
    return normal_density(standardized(x)) * Simd<T>(T(inverse_sigma));
  }

 private:
  // σ = √(1/(4π)) matches relu² and its derivative at x = μ. lucidrains' packages before 0.1.7 had σ = √(π/4).
  static constexpr double inverse_sigma = legacy ? 2 * std::numbers::inv_sqrtpi : 2 / std::numbers::inv_sqrtpi;
  template <class T>
  static EIGEN_ALWAYS_INLINE Simd<T> standardized(Simd<T> x) {
    // √½ in two parts. A long double could hold both, but on some machines it is no wider than double.
    constexpr double root = std::numbers::sqrt2 / 2, rest_of_root = -4.8336466567264565e-17;
    constexpr T mean = T(root), rest = T(root - double{mean} + rest_of_root);
    return (x - Simd<T>(mean) - Simd<T>(rest)) * Simd<T>(T(inverse_sigma));
  }
};
using Laplace = LaplaceForm<false>;
using LaplaceLegacy = LaplaceForm<true>;

/// tanh(x).
struct Tanh {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return tanh(x);
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    return Simd<T>(T{4}) * logistic_derivative(Simd<T>(T{2}) * x);
  }
};

/// σ(x) = 1 / (1 + exp(-x)).
struct Sigmoid {
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> value(Simd<T> x) const {
    return logistic(x);
  }
  template <class T>
  EIGEN_ALWAYS_INLINE Simd<T> derivative(Simd<T> x) const {
    return logistic_derivative(x);
  }
};

/// Calls `f` with an object for `activation`: `choose_activation(config.activation, [&](auto act) { … act.value(x) … })`.
template <class F>
decltype(auto) choose_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::gelu:
      return f(Gelu{});
    case Activation::gelu_tanh:
      return f(GeluTanh{});
    case Activation::coarse_gelu:
      return f(CoarseGelu<GeluFit>{});
    case Activation::coarse_gelu_tanh:
      return f(CoarseGelu<GeluTanhFit>{});
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
