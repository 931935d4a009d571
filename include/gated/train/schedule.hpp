#pragma once

#include <cmath>
#include <numbers>

#include "gated/core/elementary.hpp"
#include "gated/core/matrix.hpp"
#include "gated/core/settings.hpp"

/// @file
/// Learning-rate schedules.

namespace gated {

/// The curve after the warm-up.
enum class ScheduleForm {
  constant,  ///< the base rate throughout
  linear,    ///< a straight line to the final rate
  cosine,    ///< half a cosine to the final rate (Loshchilov and Hutter, arXiv:1608.03983, without restarts)
};

constexpr auto names_of(ScheduleForm) { return words_for<ScheduleForm>("constant", "linear", "cosine"); }

/// The options of a learning-rate schedule.
struct ScheduleConfig {
  ScheduleForm form = ScheduleForm::constant;  ///< the curve after the warm-up
  Index warmup = 0;                            ///< number of steps before the first step at the base rate
  Index steps = 0;                             ///< total number of steps, warm-up included; unused by `constant`
  double final_fraction = 0;                   ///< the last step's rate, as a fraction of the base rate

  template <class C = ScheduleConfig>
  static constexpr auto fields() {
    return Fields(setting("form", &C::form), setting("warmup", &C::warmup), setting("steps", &C::steps),
                  setting("final_fraction", &C::final_fraction));
  }
};

/// The learning rate of step s = `step`, counted from 0. `base` is the highest rate.
///
///     s < warmup                base · (s + 1) / (warmup + 1)
///     warmup ≤ s < steps        base · (f + (1 - f) · shape(x)),   x = (s - warmup) / (steps - 1 - warmup)
///     s ≥ steps                 base · f
///
/// Here f = final_fraction, and shape(x) = 1 - x (linear) or (1 + cos πx) / 2 (cosine). A constant schedule stays at `base`.
/// The rate of step 0 is base / (warmup + 1), never 0. Step `warmup` is the first with exactly `base`. Step `steps - 1` and all
/// later steps have exactly f · base, but if `steps - 1` equals `warmup`, that step has `base`.
///
/// Errors: ArgumentError for negative arguments, a final_fraction outside [0, 1], and a linear or cosine schedule with steps ≤
/// warmup.
/// Cost: one cosine.
inline double learning_rate(const ScheduleConfig& config, double base, Index step) {
  const auto& [form, warmup, steps, final_fraction] = config;
  require<ArgumentError>(step >= 0, "learning_rate: step is ", step, ", expected 0 or more.");
  require<ArgumentError>(base >= 0 && std::isfinite(base), "learning_rate: base is ", base, ", expected 0 or more.");
  require<ArgumentError>(warmup >= 0, "learning_rate: warmup is ", warmup, ", expected 0 or more.");
  require<ArgumentError>(final_fraction >= 0 && final_fraction <= 1, "learning_rate: final_fraction is ", final_fraction,
                         ", expected a number from 0 to 1.");
  require<ArgumentError>(steps >= 0, "learning_rate: steps is ", steps, ", expected 0 or more.");
  require<ArgumentError>(form == ScheduleForm::constant || steps > warmup, "learning_rate: steps is ", steps,
                         ", expected more than warmup = ", warmup, ".");
  if (step < warmup) {
    return base * static_cast<double>(step + 1) / (static_cast<double>(warmup) + 1);
  }
  if (form == ScheduleForm::constant || (step == warmup && step < steps)) {
    return base;
  }
  if (step >= steps - 1) {
    return base * final_fraction;
  }
  const double x = static_cast<double>(step - warmup) / static_cast<double>(steps - 1 - warmup);
  const double shape = form == ScheduleForm::linear ? 1 - x : (1 + elementary::turn(std::numbers::pi * x).cosine) / 2;
  return base * (final_fraction + rounded((1 - final_fraction) * shape));
}

}  // namespace gated
