#pragma once

#include <array>
#include <numbers>
#include <type_traits>

#include "gated/ops/simd.hpp"

/// @file
/// erf, tanh and the logistic function on vectors, for float and double.
///
/// erf and tanh are odd, so f(x) = x · P(x²) / Q(x²). The coefficients are minimax fits of the relative error on |x| < bound
/// (reweighted least squares in 60 digits); all are positive, so the evaluation loses nothing to cancellation. Outside the
/// bound, where f rounds to ±1, exactly ±1 is returned. NaN stays NaN.

namespace gated {

namespace detail {

template <class T, std::size_t N>
struct OddRational {
  T bound;
  std::array<T, N> p, q;  // from the constant term on

  EIGEN_STRONG_INLINE Simd<T> operator()(Simd<T> x) const {
    const Simd<T> inside = max(min(x, Simd<T>(bound)), Simd<T>(-bound));
    const Simd<T> z = inside * inside;
    Simd<T> top(p[N - 1]), bottom(q[N - 1]);
    for (std::size_t i = N - 1; i-- > 0;) {
      top = fma(top, z, Simd<T>(p[i]));
      bottom = fma(bottom, z, Simd<T>(q[i]));
    }
    const Simd<T> value = max(min(inside * top / bottom, Simd<T>(T{1})), Simd<T>(T{-1}));  // rounding must not pass ±1
    return select_less(abs(x), Simd<T>(bound), value, inside / Simd<T>(bound));
  }
};

// Relative error 1.9e-8.
inline constexpr OddRational<float, 6> erf_float{
    3.92f,
    {1.128379146f, 0.1903985754f, 0.05274711951f, 0.003765110352f, 0.0002848431018f, 2.049783864e-6f},
    {1.0f, 0.502069089f, 0.1141053393f, 0.01496824316f, 0.001162359016f, 3.808649419e-5f}};

// Relative error 3.4e-17.
inline constexpr OddRational<double, 13> erf_double{
    5.93,
    {1.12837916709551254, 0.220145987625655519, 0.06611677912910826918, 0.006888099987315162495, 0.0008555242313324496187,
     0.00005692695203417514216, 3.899469981228363055e-6, 1.694198662972985139e-7, 6.757958622393197208e-9,
     1.719180065305525927e-10, 3.336261522328256963e-12, 2.227482674079029811e-14, 1.5721205012206759e-17},
    {1.0, 0.528432635097576483, 0.1347386815876535035, 0.02198357383611482487, 0.002564278173725372909,
     0.0002260444246750804718, 0.0000154945195852888996, 8.347723875712781203e-7, 3.514406128782964326e-8,
     1.124212862152023828e-9, 2.548752919201181693e-11, 3.319565324316738248e-13, 8.854564448391898575e-16}};

// Relative error 2.2e-8.
inline constexpr OddRational<float, 5> tanh_float{
    9.02f,
    {0.9999999784f, 0.1338005871f, 0.003494423053f, 2.058919443e-5f, 1.332566635e-8f},
    {1.0f, 0.4671337433f, 0.02587259373f, 0.0003283699135f, 7.765000299e-7f}};

// Relative error 7.8e-17.
inline constexpr OddRational<double, 10> tanh_double{
    19.1,
    {0.9999999999999999291, 0.1518051268656175284, 0.00597467781106335717, 0.00009360155842136496843, 6.830177684770083011e-7,
     2.440213610357001871e-9, 4.169808017276375046e-12, 3.062015250786054333e-15, 7.407024993749497265e-19,
     2.497978719703838288e-23},
    {1.0, 0.4851384601989500227, 0.03435416454404849405, 0.0008281156814965252191, 8.753399357858667255e-6,
     4.462891326504092456e-8, 1.110937633851249436e-10, 1.269906399326433037e-13, 5.627631327886381428e-17,
     6.216260173216168701e-21}};

}  // namespace detail

/// erf(x) = 2/√π ∫₀ˣ exp(-t²) dt.
template <class T>
EIGEN_STRONG_INLINE Simd<T> erf(Simd<T> x) {
  if constexpr (std::is_same_v<T, float>) {
    return detail::erf_float(x);
  } else {
    return detail::erf_double(x);
  }
}

/// tanh(x).
template <class T>
EIGEN_STRONG_INLINE Simd<T> tanh(Simd<T> x) {
  if constexpr (std::is_same_v<T, float>) {
    return detail::tanh_float(x);
  } else {
    return detail::tanh_double(x);
  }
}

/// 1 + exp(-x), kept finite for every finite x; σ(x) is its reciprocal.
template <class T>
EIGEN_STRONG_INLINE Simd<T> one_plus_exp_minus(Simd<T> x) {
  return Simd<T>(T{1}) + exp(-x);
}

/// The x below which exp(-x) would overflow, and σ(x) is 0 to working precision.
template <class T>
inline constexpr T logistic_bound = std::is_same_v<T, float> ? T(-87) : T(-700);

/// σ(x) = 1 / (1 + exp(-x)).
template <class T>
EIGEN_STRONG_INLINE Simd<T> logistic(Simd<T> x) {
  return Simd<T>(T{1}) / one_plus_exp_minus(max(x, Simd<T>(logistic_bound<T>)));
}

/// The density of the standard normal distribution, exp(-x²/2) / √(2π).
template <class T>
EIGEN_STRONG_INLINE Simd<T> normal_density(Simd<T> x) {
  const Simd<T> inside = max(min(x, Simd<T>(T(40))), Simd<T>(T(-40)));  // x² must not overflow
  return exp(inside * inside * Simd<T>(T(-0.5))) * Simd<T>(std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>);
}

}  // namespace gated
