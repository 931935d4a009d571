#pragma once

#include <vector>

#include "flops.hpp"
#include "gated/train/gmlp_language_model.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/training.hpp"

/// @file
/// Steps of a language model's training on one batch, as often as a benchmark wants.

namespace bench {

struct TrainingStep {
  using Model = gated::GmlpLanguageModel<float>;

  gated::Training<Model> training;
  gated::Tape<float> tape;
  std::vector<Index> tokens, targets;
  gated::Sequences sequences;

  TrainingStep(const gated::TrainingConfig<Model>& config, Model start, gated::Sequences s, Threads threads,
               const gated::TapeOptions& options = {})
      : training(config, std::move(start), gated::Random(1)), tape(threads, options), sequences(s) {
    training.threads = threads;
  }

  /// Forward, back, update. Returns the loss.
  double operator()() {
    return training.step([&](const Model& model, Model& gradient) {
      tape.begin(model, gradient);
      return tape.backward(cross_entropy(tape, record(tape, model, tokens, sequences), targets));
    });
  }

  /// Thrice the forward pass: each product has two of its size on the way back.
  double flops() const {
    const auto& config = training.model.config;
    const double logits = 2.0 * static_cast<double>(sequences.total() * config.trunk.channels * config.vocabulary);
    return 3 * (flops_of(config.trunk, sequences.count(), sequences.length(0)) + logits);
  }
};

}  // namespace bench
