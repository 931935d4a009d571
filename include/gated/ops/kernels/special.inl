// Exponential, tanh, logistic function and normal distribution on vectors of float and double.
//
// All are computed from exponentials of non-positive numbers, which cannot overflow, by formulas without cancellation.
// Relative errors are small everywhere, even near 0. Exponentials below 0.7 times the smallest normal number flush to 0,
// because processors are a hundred times slower on subnormals. NaN stays NaN.
//
// Largest errors over all floats with 2⁻¹³ ≤ |x| ≤ 128 on a machine with fused multiply-add, in machine epsilons of the result:
//
//     exp 0.75   tanh 1.69   σ 1.52   σ' 1.55   φ 1.33   x σ(x) 2.03   x Φ(x) 1.94 for x > 0 and 3.73 for x < 0
//
// Relative to |x Φ| + x² φ, the terms of x (x Φ)', the last error is at most 2.05: see tests/ops/accuracy_test.cpp.
//
// Polynomials are minimax fits of the relative error, with coefficients rounded to T, from Sollya's fpminimax.

namespace detail {

/// c₀ + c₁ x + c₂ x² + …
template <class T, std::size_t N>
EIGEN_ALWAYS_INLINE Simd<T> polynomial(const T (&c)[N], Simd<T> x) {
  Simd<T> sum(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) {
    sum = fma(sum, x, Simd<T>(c[i]));
  }
  return sum;
}

/// At or below this, exp(x) flushes to 0: x / ln 2 rounds to the n for which power_of_two(n) is 0.
template <class T>
inline constexpr T lowest_exponent = std::is_same_v<T, float> ? T(-88) : T(-709);

/// At or above this, exp(-x²/2) flushes to 0.
template <class T>
inline constexpr T largest_deviate = std::is_same_v<T, float> ? T(13.2687) : T(37.658);

/// ln 2 in two parts. The first is short enough for its product with an exponent to be exact.
template <class T>
inline constexpr T ln2_high = std::is_same_v<T, float> ? T(0.693359375) : T(0.69314718036912381649);
template <class T>
inline constexpr T ln2_low = std::is_same_v<T, float> ? T(-0.00021219444005469058) : T(1.9082149292705878161e-10);

/// Coefficients of (exp(r) - 1 - r) / r². Relative error of exp(r): 8e-9 in float for |r| < 0.4, 4e-18 in double for |r| <
/// 0.3475.
template <class T>
inline constexpr T exp_coefficients = {};
template <>
inline constexpr float exp_coefficients<float>[] = {0.49999985f, 0.16666408f, 0.04166961f, 0.0083804531f, 0.0013794921f};
template <>
inline constexpr double exp_coefficients<double>[] = {
    0.5000000000000013,     0.166666666666667,      0.04166666666651063,   0.008333333333307165,   0.0013888888948282096,
    0.00019841269917550547, 2.4801488608701644e-05, 2.755721609631554e-06, 2.7631765827758043e-07, 2.5117940019110586e-08};

/// exp(x) = (1 + rest) · 2^exponent.
template <class T>
struct SplitExp {
  Simd<T> rest, exponent;
};

/// Splits exp(x + small) into (1 + rest) · 2^exponent, for |small| < 0.05 and lowest_exponent ≤ x ≤ 0.
template <class T>
EIGEN_ALWAYS_INLINE SplitExp<T> split_exp(Simd<T> x, Simd<T> small) {
  const Simd<T> n = nearest_integer(x * Simd<T>(std::numbers::log2e_v<T>));
  const Simd<T> r = fma(n, Simd<T>(-ln2_high<T>), x) + fma(n, Simd<T>(-ln2_low<T>), small);
  return {fma(polynomial(exp_coefficients<T>, r), r * r, r), n};
}

/// exp(x + small).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> exp_of(Simd<T> x, Simd<T> small) {
  const SplitExp<T> split = split_exp(x, small);
  const Simd<T> power = power_of_two(split.exponent);
  return fma(power, split.rest, power);
}

/// exp(-|x|).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> decay(Simd<T> x) {
  return exp_of(max(-abs(x), Simd<T>(lowest_exponent<T>)), Simd<T>(T{0}));
}

/// (1 + e)² as e · (e + 2) + 1, which is more accurate than squaring 1 + e.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> square_of_one_plus(Simd<T> e) {
  return fma(e, e + Simd<T>(T{2}), Simd<T>(T{1}));
}

/// min(t, largest_deviate).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> inside(Simd<T> t) {
  return min(t, Simd<T>(largest_deviate<T>));
}

/// exp(-t²/2) for |t| ≤ largest_deviate. The square is split in two parts: rounding it would cost t²/2 ulps.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> bell(Simd<T> t) {
  const Simd<T> minus_half = t * Simd<T>(T(-0.5));
  if constexpr (Simd<T>::fuses) {
    const Simd<T> square = minus_half * t;
    return exp_of(square, fma(minus_half, t, -square));
  } else {
    const Simd<T> head = upper_half(t), minus_half_head = head * Simd<T>(T(-0.5));
    return exp_of(head * minus_half_head, (t - head) * (minus_half + minus_half_head));
  }
}

/// Coefficients of P and Q in exp(t²/2) · (1 - Φ(t)) = P(t) / Q(t). Relative error: 5e-9 in float up to t = 13.2, 5e-17 in
/// double up to 37.6. All coefficients are positive, so nothing cancels.
template <class T>
inline constexpr T tail_numerator = {};
template <>
inline constexpr float tail_numerator<float>[] = {0.875f, 0.762248231f, 0.317135865f, 0.0699211796f, 0.00702766874f};
template <>
inline constexpr double tail_numerator<double>[] = {0.875,
                                                    1.35448642565063396361,
                                                    1.03734626401772395220,
                                                    0.504736445574022523646,
                                                    0.170257908006903106633,
                                                    0.0411205849283594904733,
                                                    0.00710987302424751702011,
                                                    0.000851519296640057996563,
                                                    0.0000645855251733989248866,
                                                    0.00000239786039324032830425};
template <class T>
inline constexpr T tail_denominator = {};
template <>
inline constexpr float tail_denominator<float>[] = {1.75f, 2.92079506f, 2.08972185f, 0.812266798f, 0.175279392f, 0.0176155008f};
template <>
inline constexpr double tail_denominator<double>[] = {1.75,
                                                      4.10527083270626603871,
                                                      4.47522474336662391144,
                                                      2.99298286411188167040,
                                                      1.36405233417301305899,
                                                      0.444271289480039161813,
                                                      0.105196442901711944726,
                                                      0.0179837006339791247124,
                                                      0.00214045289039471392496,
                                                      0.000161891903527369598659,
                                                      0.00000601054466033449427630};

/// 1 / √(2π), the density of the standard normal distribution at 0.
template <class T>
inline constexpr T density_at_zero = T(0.39894228040143267794L);

/// exp(t²/2) · (1 - Φ(t)): Mills' ratio times the density at 0, for 0 ≤ t ≤ largest_deviate.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> scaled_tail(Simd<T> t) {
  return polynomial(tail_numerator<T>, t) / polynomial(tail_denominator<T>, t);
}

}  // namespace detail

/// exp(min(x, 0)).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> exp_of_negative(Simd<T> x) {
  return detail::decay(min(x, Simd<T>(T{0})));
}

/// tanh(x) = (1 - exp(-2|x|)) / (1 + exp(-2|x|)) with the sign of x.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> tanh(Simd<T> x) {
  const Simd<T> exponent = max(Simd<T>(T(-2)) * abs(x), Simd<T>(T(-44)));  // where this clamps, tanh rounds to ±1
  const auto [rest, n] = detail::split_exp(exponent, Simd<T>(T{0}));
  const Simd<T> power = power_of_two(n);
  const Simd<T> minus_one = fma(power, rest, power - Simd<T>(T{1}));  // expm1, accurate near 0
  return copysign(minus_one / (minus_one + Simd<T>(T{2})), x);
}

/// factor · σ(x), with σ(x) = 1 / (1 + exp(-x)) = exp(x) / (1 + exp(x)).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> times_logistic(Simd<T> factor, Simd<T> x) {
  const Simd<T> e = detail::decay(x);
  return select_less(x, Simd<T>(T{0}), factor * e, factor) / (e + Simd<T>(T{1}));
}

/// σ(x).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> logistic(Simd<T> x) {
  return times_logistic(Simd<T>(T{1}), x);
}

/// σ'(x) = σ(x) (1 - σ(x)) = exp(-|x|) / (1 + exp(-|x|))².
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> logistic_derivative(Simd<T> x) {
  const Simd<T> e = detail::decay(x);
  return e / detail::square_of_one_plus(e);
}

/// σ(x) (1 + v (1 - σ(x))): the derivative of t · σ(x(t)) with respect to t, where x = x(t) and v = t · x'(t).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> times_logistic_derivative(Simd<T> v, Simd<T> x) {
  const Simd<T> e = detail::decay(x), base = e + Simd<T>(T{1});
  return select_less(x, Simd<T>(T{0}), e * (v + base), fma(v, e, base)) / detail::square_of_one_plus(e);
}

/// The density of the standard normal distribution, φ(x) = exp(-x²/2) / √(2π).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> normal_density(Simd<T> x) {
  return detail::bell(detail::inside(abs(x))) * Simd<T>(detail::density_at_zero<T>);
}

/// Φ(x) = ∫ φ from -∞ to x = (1 + erf(x / √2)) / 2.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> normal_distribution(Simd<T> x) {
  const Simd<T> t = detail::inside(abs(x)), tail = detail::scaled_tail(t) * detail::bell(t);
  return select_less(x, Simd<T>(T{0}), tail, Simd<T>(T{1}) - tail);
}

/// x Φ(x) = max(x, 0) - |x| Φ(-|x|).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> times_normal_distribution(Simd<T> x) {
  const Simd<T> t = detail::inside(abs(x));
  return fma(t * detail::scaled_tail(t), -detail::bell(t), max(x, Simd<T>(T{0})));
}

/// (x Φ(x))' = Φ(x) + x φ(x).
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> times_normal_distribution_derivative(Simd<T> x) {
  const Simd<T> t = detail::inside(abs(x));
  const Simd<T> tail = fma(t, Simd<T>(-detail::density_at_zero<T>), detail::scaled_tail(t)) * detail::bell(t);
  return select_less(x, Simd<T>(T{0}), tail, Simd<T>(T{1}) - tail);
}
