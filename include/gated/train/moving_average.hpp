#pragma once

#include <algorithm>

#include "gated/core/parallel.hpp"
#include "gated/core/parameters.hpp"
#include "gated/ops/kernels.hpp"

/// @file
/// A moving average of a model's parameters during training. The average often predicts better than the model itself.

namespace gated {

/// Exponential moving average of parameters: average ← d·average + (1 - d)·model. Sources: Polyak and Juditsky, 1992; for the
/// exponential form, arXiv:1412.6980, §7.2, and timm.
///
///     Model average = model;                       // after each update:
///     update_average(average, model, 0.999);
///
/// Computed as average + (1 - d)·(model - average): if the average equals the model, rounding does not change it. Constants
/// are copied from the model. Bit-equal for any thread count.
/// Errors: ArgumentError unless 0 ≤ d ≤ 1, and for models of different structure.
/// Cost: one pass over the parameters.
template <class Model>
void update_average(Model& average, const Model& model, double decay, const Threads& threads = {}) {
  require<ArgumentError>(decay >= 0 && decay <= 1, "update_average: the decay is ", decay, ", expected a number from 0 to 1.");
  for_each_parameter([](const ParameterInfo&, auto, auto) {}, average, model);  // raises before any change is made
  constexpr Index piece = 1 << 15;
  for_each_parameter(
      [&](const ParameterInfo& info, auto mean, auto values) {
        using T = typename decltype(mean)::value_type;
        if (info.role == Role::constant) {
          std::copy(values.begin(), values.end(), mean.begin());
          return;
        }
        const auto share = number(static_cast<T>(1 - decay));
        const auto count = static_cast<Index>(mean.size());
        parallel_for(threads, (count + piece - 1) / piece, [&](Index task, Index) {
          T* const a = mean.data() + task * piece;
          const T* const p = values.data() + task * piece;
          const auto old = per_channel<T>(a), now = per_channel<T>(p);
          auto next = old + share * (now - old);
          kernels<AssignKernels<T, decltype(next)>>().assign_rows(next, 0, 1, std::min(piece, count - task * piece), a, 0,
                                                                  false);
        });
      },
      average, model);
}

}  // namespace gated
