#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gated/train/recording.hpp"
#include "gated/train/training.hpp"
#include "protocol.hpp"
#include "train_text/held_out.hpp"

/// @file
/// Training of masked language models over bytes.

namespace papers {

/// What all trainings share.
struct Setup {
  bool quick = false;                  ///< only checks that everything works
  std::filesystem::path folder = ".";  ///< for other files than results
  std::shared_ptr<const text::Corpus> corpus{};

  Index steps(Index wanted) const { return quick ? 6 : wanted; }
};

/// The training of a model by a recipe.
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

/// A training step over `batch` random sequences of `length` bytes: masks some bytes and predicts them.
template <class Model>
class MaskedStep {
 public:
  MaskedStep(const text::Corpus& corpus, Index length, Index batch, gated::Threads threads = {})
      : corpus_(corpus), length_(length), batch_(batch), tape_(std::move(threads)) {}

  double operator()(gated::Training<Model>& training) {
    return training.step([&](const Model& model, Model& gradient) {
      std::vector<Index> tokens, lengths;
      for (Index i = 0; i < batch_; ++i) {
        const auto bytes = text::bytes_of(corpus_.draw(length_, training.random).substr(0, static_cast<std::size_t>(length_)));
        tokens.insert(tokens.end(), bytes.begin(), bytes.end());
        lengths.push_back(static_cast<Index>(bytes.size()));
      }
      const auto sequences = gated::Sequences::of_lengths(lengths);
      masked_ = text::masked_bytes(tokens, sequences, training.random);
      tape_.begin(model, gradient);
      const auto logits = record_rows(tape_, model, masked_.tokens, sequences, masked_.rows);
      return tape_.backward(gated::cross_entropy(tape_, logits, masked_.targets));
    });
  }

 private:
  const text::Corpus& corpus_;
  Index length_, batch_;
  gated::Tape<float> tape_;
  gated::MaskedTokens masked_;
};

/// What a form does apart from its configuration.
template <class Model>
struct Changes {
  std::function<void(Model&, gated::Random&)> start{};                       ///< changes the initial parameters
  std::function<void(const Model&, const Run&, Index step, Rows&)> watch{};  ///< measures at each look, also before step 1
};

/// Trains for `run.steps` steps: `step(training)` does one and returns its loss. `measure(model, x, thorough)` returns rows,
/// the first of which is to become small. Looks 20 times on the way. The result of a training that diverges is infinity.
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

/// A form of a masked language model, trained on 2,048 bytes per step in sequences of `length`. Its result is the perplexity of
/// masked bytes.
template <class Model>
Form language_form(const Setup& setup, const std::string& name, const typename Model::Config& config, Index length, Index steps,
                   Changes<Model> changes = {}, std::vector<double> warmups = {0.05}) {
  const auto run_once = [setup, config, length, changes](const Run& run) {
    const text::HeldOutPart part = run.seed == Run::tuning ? text::HeldOutPart{0, 0.5} : text::HeldOutPart{0.5, 1};
    const auto strides = static_cast<Index>(setup.corpus->held_out_bytes()) / length;  // of length / 2, in half of the text
    gated::Workspace<float> workspace;
    return train<Model>(config, run, changes, MaskedStep<Model>(*setup.corpus, length, setup.quick ? 2 : 2048 / length),
                        [&](const Model& model, Index x, bool thorough) {
                          const Index wanted = (setup.quick ? 8 : thorough ? 2048 : 128) * 128 / length;
                          const auto every = static_cast<std::size_t>(std::max<Index>(strides / wanted, 1));
                          const double bits = text::held_out_bits(model, *setup.corpus, length, true, every, workspace, part);
                          return Rows{{x, "perplexity", std::exp2(bits)}};
                        });
  };
  return {name, setup.steps(steps), run_once, std::move(warmups), setup.steps(1000)};
}

}  // namespace papers
