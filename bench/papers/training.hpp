#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "gated/train/training.hpp"
#include "protocol.hpp"
#include "train_text/corpus.hpp"

/// @file
/// Trains a model for any task with the learning rate and the warm-up of a Recipe.

namespace papers {

/// Settings that all runs share.
struct Setup {
  bool quick = false;                             ///< only checks that everything works
  std::filesystem::path folder = "build/papers";  ///< for runs.csv, the tables and the pictures
  std::shared_ptr<const text::Corpus> corpus{};
  const gated::ProductEngine<float>* products = nullptr;  ///< for training steps

  Index steps(Index wanted) const { return quick ? 6 : wanted; }
};

/// A new training run, with the learning rate and the warm-up of `recipe`.
template <class Model>
gated::Training<Model> new_training(const typename Model::Config& config, const Recipe& recipe, Index steps, int seed) {
  const auto warmup = static_cast<Index>(recipe.warmup * static_cast<double>(steps));
  return gated::Training<Model>(
      {.model = config,
       .optimizer = {.learning_rate = recipe.rate, .beta2 = 0.99, .weight_decay = 0.1},
       .schedule = {.form = gated::ScheduleForm::cosine, .warmup = warmup, .steps = steps, .final_fraction = 0.05},
       .clip_norm = 1.0},
      gated::Random(static_cast<std::uint64_t>(1000 + seed)));
}

/// Optional callbacks during training.
template <class Model>
struct Changes {
  std::function<void(Model&, gated::Random&)> start{};                       ///< changes the initial parameters
  std::function<void(const Model&, const Run&, Index step, Rows&)> watch{};  ///< called before step 1 and at each measurement
};

/// Trains for `run.steps` steps. `step(training)` runs one step and returns its loss. `measure(model, x, thorough)`, where x is
/// the number of steps done, returns rows; the first row's value is to be minimized. measure() is called about 20 times during
/// the run, and once with `thorough` = true at the end. If training diverges, the row `result` is infinity.
template <class Model, class Step, class Measure>
Rows train(const typename Model::Config& config, const Run& run, const Changes<Model>& changes, Step&& step,
           const Measure& measure) {
  auto training = new_training<Model>(config, run.recipe, run.steps, run.seed);
  if (changes.start) {
    changes.start(training.model, training.random);
  }
  Rows rows{{0, "parameters", static_cast<double>(gated::parameter_count(training.model))}};
  const auto watch = [&](Index done) {
    if (changes.watch) {
      changes.watch(training.model, run, done, rows);
    }
  };
  watch(0);
  const Index every = std::max<Index>(run.steps / 20, 1);
  double loss = 0, norm = 0;
  for (Index done = 1; done <= run.steps; ++done) {
    try {
      loss += step(training) / static_cast<double>(every);
    } catch (const gated::TrainingError&) {
      rows.push_back({done, result, std::numeric_limits<double>::infinity()});
      return rows;
    }
    norm += training.norm() / static_cast<double>(every);
    if (done % every == 0) {
      for (Row& row : measure(training.model, done, false)) {
        rows.push_back(std::move(row));
      }
      rows.push_back({done, "training loss", std::exchange(loss, 0)});
      rows.push_back({done, "gradient norm", std::exchange(norm, 0)});
      watch(done);
    }
  }
  rows.push_back({run.steps, result, measure(training.model, run.steps, true).front().value});
  return rows;
}

}  // namespace papers
