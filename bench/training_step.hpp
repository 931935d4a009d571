#pragma once

#include <vector>

#include "flops.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/training.hpp"
#include "measure.hpp"

/// @file
/// Repeatable training steps of a language model on one batch.

namespace bench {

/// A training step of any language model. For an engine, call `tape.workspace().use(engine)`.
template <class Model>
struct TrainingStep {
  gated::Training<Model> training;
  gated::Tape<float> tape;
  std::vector<Index> tokens, targets;
  gated::Sequences sequences;

  TrainingStep(const gated::TrainingConfig<Model>& config, Model start, gated::Sequences s, Threads threads,
               const gated::TapeOptions& options = {})
      : training(config, std::move(start), gated::Random(1)), tape(threads, options), sequences(s) {
    training.threads = threads;
  }

  /// Forward pass, backward pass, update. Returns the loss.
  double operator()() {
    return training.step([&](const Model& model, Model& gradient) {
      tape.begin(model, gradient);
      return tape.backward(cross_entropy(tape, record(tape, model, tokens, sequences), targets));
    });
  }

  /// Three times the flops of the forward pass: for each matmul there, the backward pass has two of the same size.
  double flops() const { return 3 * flops_of(training.model, sequences.count(), sequences.length(0)); }
};

}  // namespace bench
