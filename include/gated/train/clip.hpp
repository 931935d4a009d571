#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "gated/core/ordered_sum.hpp"
#include "gated/core/parallel.hpp"
#include "gated/core/parameters.hpp"

/// @file
/// Gradient norms, clipping, and finding non-finite values.

namespace gated {

namespace detail {

/// Σ (factor · x)², in double.
template <class T>
double sum_of_squares(std::span<const T> values, double factor) {
  return ordered_sum(static_cast<Index>(values.size()), [&](Index i) {
    const double x = factor * static_cast<double>(values[static_cast<std::size_t>(i)]);
    return std::is_same_v<T, float> ? x * x : rounded(x * x);  // in double, the square of a float is exact
  });
}

/// Σ (factor · x)² over all parameters except constants, in double, in an order that depends only on the model.
template <class Model>
double sum_of_squares(const Model& model, double factor, const Threads& threads) {
  constexpr std::size_t piece = 1 << 14, together = 64;  // piece: values per task; together: tasks per parallel loop
  double sum = 0;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        using T = std::remove_const_t<typename decltype(values)::value_type>;
        for (std::size_t first = 0; first < values.size() && info.role != Role::constant; first += together * piece) {
          const std::span<const T> some = values.subspan(first, std::min(together * piece, values.size() - first));
          std::array<double, together> sums{};
          parallel_for(threads, static_cast<Index>((some.size() + piece - 1) / piece), [&](Index task, Index) {
            const std::size_t begin = static_cast<std::size_t>(task) * piece;
            sums[begin / piece] = sum_of_squares(some.subspan(begin, std::min(piece, some.size() - begin)), factor);
          });
          sum = std::accumulate(sums.begin(), sums.end(), sum);
        }
      },
      model);
  return sum;
}

}  // namespace detail

/// The global norm √Σx² over all parameters of `gradient` except constants.
///
/// Sums are in double, in a fixed order. If squares overflow or underflow (impossible for floats), the sum is repeated with
/// scaled values. The result is finite unless a value is not finite or the norm exceeds the largest double.
/// Cost: one pass.
template <class Model>
double gradient_norm(const Model& gradient, const Threads& threads = {}) {
  const double sum = detail::sum_of_squares(gradient, 1.0, threads);
  if (std::isnan(sum) || (sum > 1e-280 && sum < 1e300)) {
    return std::sqrt(sum);
  }
  double largest = 0;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        for (const auto value : values) {
          largest = info.role == Role::constant ? largest : std::max(largest, std::abs(static_cast<double>(value)));
        }
      },
      gradient);
  if (largest == 0 || std::isinf(largest)) {
    return largest;
  }
  const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  return std::ldexp(std::sqrt(detail::sum_of_squares(gradient, std::ldexp(1.0, -exponent), threads)), exponent);
}

/// Multiplies all parameters except constants by `factor`, in double; each product is rounded once.
template <class Model>
void scale_parameters(Model& model, double factor) {
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        using T = typename decltype(values)::value_type;
        if (info.role != Role::constant) {
          for (T& value : values) {
            value = static_cast<T>(factor * static_cast<double>(value));
          }
        }
      },
      model);
}

/// Scales `gradient` by largest / (norm + 1e-6) if that is below 1, as torch.nn.utils.clip_grad_norm_ does, and returns the
/// norm before scaling. A gradient with a non-finite norm is left unchanged.
/// Errors: ArgumentError unless `largest` is above 0.
/// Cost: one pass, two if it scales.
template <class Model>
double clip_by_global_norm(Model& gradient, double largest, const Threads& threads = {}) {
  require<ArgumentError>(largest > 0, "clip_by_global_norm: the largest norm is ", largest, ", expected more than 0.");
  const double norm = gradient_norm(gradient, threads);
  const double factor = largest / (norm + 1e-6);
  if (std::isfinite(norm) && factor < 1) {
    scale_parameters(gradient, factor);
  }
  return norm;
}

/// Describes the first non-finite value: "head.output.weight[3, 17] = nan"; empty if all are finite. The index refers to the
/// shape in a checkpoint.
/// Cost: one pass.
template <class Model>
std::optional<std::string> first_nonfinite(const Model& model) {
  std::optional<std::string> found;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (found) {
          return;
        }
        const auto at = std::find_if(values.begin(), values.end(), [](auto value) { return !std::isfinite(value); });
        if (at == values.end()) {
          return;
        }
        auto rest = static_cast<Index>(at - values.begin());
        std::string index;
        for (std::size_t i = info.shape.rank(); i-- > 0;) {
          index = text(rest % info.shape[i], index.empty() ? "" : ", ", index);
          rest /= info.shape[i];
        }
        found = text(info.path(), "[", index, "] = ", std::isnan(*at) ? "nan" : *at > 0 ? "inf" : "-inf");
      },
      model);
  return found;
}

}  // namespace gated
