#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>

#include "common/progress.hpp"
#include "history.hpp"
#include "recipe.hpp"

namespace digits {

/// The progress of a training run.
class Status {
 public:
  Status(const Recipe& recipe, gated::Index steps_done, gated::Index steps, gated::Index steps_per_epoch)
      : recipe_(recipe), begun_at_(steps_done), steps_(steps), steps_per_epoch_(steps_per_epoch) {}

  /// The number of epochs per permanent progress line; about sixteen lines are printed in all.
  gated::Index epochs_per_line() const { return std::max<gated::Index>(steps_ / steps_per_epoch_ / 16, 1); }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  /// "  epoch  12  [====>     ]  loss 0.612  right 97.8 %   7900 images/s    6 s left": a line with the mean loss of the last
  /// epoch's steps and the last measured accuracy. Fits a terminal of 80 columns.
  std::string line(gated::Index steps_done, const History& history) const {
    const auto done = static_cast<double>(steps_done), all = static_cast<double>(steps_);
    const double rate = static_cast<double>(steps_done - begun_at_) / std::max(seconds(), 1e-3);  // steps per second
    const auto recent = std::min(std::ssize(history.losses), static_cast<std::ptrdiff_t>(steps_per_epoch_));
    const double loss = std::accumulate(history.losses.end() - recent, history.losses.end(), 0.0) / static_cast<double>(recent);
    char line[128];
    std::snprintf(line, sizeof line, "  epoch %3td  %s  loss %.3f  right %*.*f %%  %5.0f images/s  %3.0f s left",
                  (steps_done + steps_per_epoch_ - 1) / steps_per_epoch_, examples::progress_bar(done / all, 12).c_str(), loss,
                  3 + recipe_.decimals, recipe_.decimals, history.accuracies.empty() ? 0 : 100 * history.accuracies.back(),
                  rate * static_cast<double>(recipe_.batch_size), (all - done) / std::max(rate, 1e-9));
    return line;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
  Recipe recipe_;
  gated::Index begun_at_, steps_, steps_per_epoch_;
};

}  // namespace digits
