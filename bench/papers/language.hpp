#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gated/train/recording.hpp"
#include "train_text/held_out.hpp"
#include "training.hpp"

/// @file
/// Masked language models over bytes.

namespace papers {

/// A training step over `batch` random sequences of `length` bytes: masks some bytes and predicts them.
template <class Model>
class MaskedStep {
 public:
  MaskedStep(const Setup& setup, Index length, Index batch, gated::Threads threads = {})
      : corpus_(*setup.corpus), length_(length), batch_(batch), tape_(std::move(threads)) {
    tape_.workspace().use(setup.products);
  }

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

/// The `Form` of a masked language model. It trains on 2,048 bytes per step, in sequences of `length` bytes. Its result is the
/// perplexity of the masked bytes.
template <class Model>
Form language_form(const Setup& setup, const std::string& name, const typename Model::Config& config, Index length, Index steps,
                   Changes<Model> changes = {}, std::vector<double> warmups = plain_warmups) {
  const auto run_once = [setup, config, length, changes](const Run& run) {
    const text::HeldOutPart part = run.seed == Run::tuning ? text::HeldOutPart{0, 0.5} : text::HeldOutPart{0.5, 1};
    // How many strides of length/2 bytes fit in half of the held-out text.
    const auto strides = static_cast<Index>(setup.corpus->held_out_bytes()) / length;
    gated::Workspace<float> workspace;
    return train<Model>(config, run, changes, MaskedStep<Model>(setup, length, setup.quick ? 2 : 2048 / length),
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
