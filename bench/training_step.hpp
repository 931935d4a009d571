#pragma once

#include <vector>

#include "flops.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/training.hpp"
#include "measure.hpp"

/// @file
/// Steps of a language model's training on one batch, as often as a benchmark wants.

namespace bench {

/// Of any language model.
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

  /// Thrice the forward pass: each product has two of its size in the backward pass.
  double flops() const { return 3 * flops_of(training.model, sequences.count(), sequences.length(0)); }
};

}  // namespace bench
