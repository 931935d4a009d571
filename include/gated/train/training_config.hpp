#pragma once

#include <string>

#include "gated/core/random.hpp"
#include "gated/train/adamw.hpp"
#include "gated/train/schedule.hpp"
#include "gated/train/setting_differences.hpp"
#include "gated/train/tape_options.hpp"

/// @file
/// All that says how a model is trained, and how far the training is.

namespace gated {

/// How far a training is.
struct TrainingProgress {
  Index steps = 0;                          ///< done so far
  Random::State random = Random().state();  ///< of the training's generator

  template <class P = TrainingProgress>
  static constexpr auto fields() {
    return std::tuple{setting("steps", &P::steps), setting("random", &P::random)};
  }
};

/// The options of a training, and how far it is.
template <class Model>
struct TrainingConfig {
  typename Model::Config model{};  ///< of the model
  AdamWConfig optimizer{};         ///< its learning_rate is the highest of the schedule
  ScheduleConfig schedule{};       ///< how the learning rate moves
  double clip_norm = 0;            ///< the largest norm of a gradient; 0 does not clip
  double average_decay = 0;        ///< of a moving average of the model; 0 keeps none
  Index micro_batches = 1;         ///< whose gradients step() adds up before it updates
  TapeOptions tape{};              ///< dropout, and what a step keeps in memory: of steps that the training records itself
  TrainingProgress progress{};     ///< how far a training has come, which its file keeps

  template <class C = TrainingConfig>
  static constexpr auto fields() {
    return std::tuple(setting("model", &C::model), setting("optimizer", &C::optimizer), setting("schedule", &C::schedule),
                      setting("clip_norm", &C::clip_norm), setting("average_decay", &C::average_decay),
                      setting("micro_batches", &C::micro_batches), setting("tape", &C::tape),
                      setting("progress", &C::progress));
  }

  /// Raises ArgumentError for settings that make no sense. The optimiser and the model check their own.
  void check() const {
    static_cast<void>(learning_rate(schedule, optimizer.learning_rate, 0));
    tape.check();
    require<ArgumentError>(clip_norm >= 0, "TrainingConfig: clip_norm is ", clip_norm, ", expected 0 (off) or more.");
    require<ArgumentError>(average_decay >= 0 && average_decay < 1, "TrainingConfig: average_decay is ", average_decay,
                           ", expected 0 (off) to below 1.");
    require<ArgumentError>(micro_batches >= 1, "TrainingConfig: micro_batches is ", micro_batches, ", expected at least 1.");
    require<ArgumentError>(progress.steps >= 0, "TrainingConfig: progress.steps is ", progress.steps, ", expected 0 or more.");
    require<ArgumentError>(progress.random != Random::State{},
                           "TrainingConfig: progress.random is all zero, from where a generator never leaves.");
  }
};

/// Raises ArgumentError unless `found`, which a file holds, describes the same training as `wanted`. The message names every
/// setting that differs, with both values: "model.trunk.depth is 4 in the file, expected 6". Progress may differ, and so may
/// schedule.steps, so that a training can be prolonged.
template <class Model>
void expect_same_training(TrainingConfig<Model> found, const TrainingConfig<Model>& wanted) {
  found.progress = wanted.progress;
  found.schedule.steps = wanted.schedule.steps;
  std::string list;
  for (const auto& [name, in_file, expected] : setting_differences(found, wanted)) {
    list += text("\n  ", name, " is ", in_file, " in the file, expected ", expected);
  }
  require<ArgumentError>(list.empty(), "Training: the file holds a training of other settings:", list);
}

}  // namespace gated
