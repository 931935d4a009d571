#pragma once

#include <cmath>
#include <string>

#include "gated/core/random.hpp"
#include "gated/train/adamw.hpp"
#include "gated/train/schedule.hpp"
#include "gated/train/setting_differences.hpp"
#include "gated/train/tape_options.hpp"

/// @file
/// The options and the progress of a training run.

namespace gated {

/// The progress of a training run.
struct TrainingProgress {
  Index steps = 0;                          ///< steps done so far
  Random::State random = Random().state();  ///< state of Training::random

  template <class P = TrainingProgress>
  static constexpr auto fields() {
    return Fields(setting("steps", &P::steps), setting("random", &P::random));
  }
};

/// The options of a training run, and its progress.
template <class Model>
struct TrainingConfig {
  typename Model::Config model{};  ///< configuration of the model
  AdamWConfig optimizer{};         ///< optimizer.learning_rate is the highest rate of the schedule
  ScheduleConfig schedule{};       ///< learning-rate schedule
  double clip_norm = 0;            ///< upper limit of the gradient norm; 0 disables clipping
  double average_decay = 0;        ///< decay of the model's moving average; 0 disables the average
  Index micro_batches = 1;         ///< micro-batches per update; step() sums their gradients
  TapeOptions tape{};              ///< dropout and recomputation, for a loss function of the form `f(run)`
  TrainingProgress progress{};     ///< progress so far, stored in the saved file

  template <class C = TrainingConfig>
  static constexpr auto fields() {
    return Fields(setting("model", &C::model), setting("optimizer", &C::optimizer), setting("schedule", &C::schedule),
                  setting("clip_norm", &C::clip_norm), setting("average_decay", &C::average_decay),
                  setting("micro_batches", &C::micro_batches), setting("tape", &C::tape), setting("progress", &C::progress));
  }

  /// Raises ArgumentError for invalid settings. The optimizer and the model check their own settings.
  void check() const {
    static_cast<void>(learning_rate(schedule, optimizer.learning_rate, 0));
    tape.check();
    require<ArgumentError>(clip_norm >= 0 && std::isfinite(clip_norm), "TrainingConfig: clip_norm is ", clip_norm,
                           ", expected 0 (off) or a finite positive number.");
    require<ArgumentError>(average_decay >= 0 && average_decay < 1, "TrainingConfig: average_decay is ", average_decay,
                           ", expected 0 ≤ average_decay < 1.");
    require<ArgumentError>(micro_batches >= 1, "TrainingConfig: micro_batches is ", micro_batches, ", expected at least 1.");
    require<ArgumentError>(progress.steps >= 0, "TrainingConfig: progress.steps is ", progress.steps, ", expected 0 or more.");
    require<ArgumentError>(progress.random != Random::State{},
                           "TrainingConfig: progress.random is all zero, a fixed point of the generator.");
  }
};

/// Raises ArgumentError unless `found`, read from a file, describes the same training run as `wanted`. The message lists every
/// setting that differs, with both values: "model.trunk.depth is 4 in the file, expected 6". `progress` may differ, and so may
/// `schedule.steps`: Training::set_schedule() extends a run.
template <class Model>
void expect_same_training(TrainingConfig<Model> found, const TrainingConfig<Model>& wanted) {
  found.progress = wanted.progress;
  found.schedule.steps = wanted.schedule.steps;
  std::string list;
  for (const auto& [name, in_file, expected] : setting_differences(found, wanted)) {
    list += text("\n  ", name, " is ", in_file, " in the file, expected ", expected);
  }
  require<ArgumentError>(list.empty(), "Training: the training run in the file has different settings:", list,
                         "\nPass the file's settings, or start a new run.");
}

}  // namespace gated
