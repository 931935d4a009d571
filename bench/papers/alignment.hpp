#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/shuffled.hpp"
#include "gated/train/recording.hpp"
#include "training.hpp"

/// @file
/// A synthetic task: which key-value pairs of the second segment also occur in the first?

namespace papers {

/// `pair pair … <separator> pair pair …`, where each `pair` is one token for a key and its value. The second segment has the
/// keys of the first segment in a different order; each keeps its value with probability 1/2. The target of each pair in the
/// second segment is `yes` if the pair also occurs in the first segment, otherwise `no`.
struct AlignmentBatch {
  static constexpr Index keys = 32, values = 4, separator = keys * values, no = separator + 1, yes = no + 1,
                         vocabulary = yes + 1;

  std::vector<Index> tokens, rows, targets, lengths;

  /// `count` sequences of at most `length` tokens.
  AlignmentBatch(Index length, Index count, gated::Random& random) {
    const auto below = [&](Index n) { return static_cast<Index>(random.uniform() * static_cast<double>(n)); };
    const Index pairs = std::min((length - 1) / 2, keys);
    for (Index i = 0; i < count; ++i) {
      const auto key = examples::shuffled(keys, random);
      std::vector<Index> value;
      for (std::size_t j = 0; j < static_cast<std::size_t>(pairs); ++j) {
        value.push_back(below(values));
        tokens.push_back(key[j] * values + value[j]);
      }
      tokens.push_back(separator);
      for (const Index shuffled : examples::shuffled(pairs, random)) {
        const auto j = static_cast<std::size_t>(shuffled);
        const bool same = below(2) == 0;
        const Index offset = same ? 0 : 1 + below(values - 1);
        rows.push_back(static_cast<Index>(tokens.size()));
        targets.push_back(same ? yes : no);
        tokens.push_back(key[j] * values + (value[j] + offset) % values);
      }
      lengths.push_back(2 * pairs + 1);
    }
  }
};

/// Returns a Form that trains a Model on this task, with about 2,048 tokens per step and warm-up in the first fifth of the
/// steps. The form's result is the cross-entropy on new sequences; it also reports the share of wrong answers. Learning rates
/// are chosen in full-length runs, because a model may learn nothing for a thousand steps.
template <class Model>
Form alignment_form(const Setup& setup, const std::string& name, const typename Model::Config& config, Index length,
                    Index steps) {
  const auto run_once = [setup, config, length](const Run& run) {
    gated::Tape<float> tape;
    tape.workspace().use(setup.products);
    gated::Workspace<float> workspace;
    const auto step = [&](gated::Training<Model>& training) {
      return training.step([&](const Model& model, Model& gradient) {
        const AlignmentBatch batch(length, setup.quick ? 2 : 2048 / length, training.random);
        tape.begin(model, gradient);
        const auto logits = record_rows(tape, model, batch.tokens, gated::Sequences::of_lengths(batch.lengths), batch.rows);
        return tape.backward(gated::cross_entropy(tape, logits, batch.targets));
      });
    };
    const auto measure = [&](const Model& model, Index x, bool thorough) {
      gated::Random random(run.seed == Run::tuning ? 7 : 8);
      const Index batches = setup.quick ? 1 : thorough ? 64 : 8;
      double loss = 0, wrong = 0;
      for (Index i = 0; i < batches; ++i) {
        const AlignmentBatch batch(length, 64, random);
        const auto sequences = gated::Sequences::of_lengths(batch.lengths);
        const auto logits = model.forward(batch.tokens, sequences, workspace);
        std::vector<Index> targets(batch.tokens.size(), gated::CrossEntropyOptions{}.ignored);
        double mistakes = 0;
        for (std::size_t s = 0; s < batch.rows.size(); ++s) {
          const auto row = logits.row(batch.rows[s]);
          targets[static_cast<std::size_t>(batch.rows[s])] = batch.targets[s];
          mistakes += (row[AlignmentBatch::yes] > row[AlignmentBatch::no]) != (batch.targets[s] == AlignmentBatch::yes);
        }
        loss += gated::cross_entropy(logits, targets).mean / static_cast<double>(batches);
        wrong += mistakes / static_cast<double>(batch.rows.size()) / static_cast<double>(batches);
      }
      return Rows{{x, "cross-entropy", loss}, {x, "wrong answers", wrong}};
    };
    return train<Model>(config, run, Changes<Model>{}, step, measure);
  };
  return {name, setup.steps(steps), run_once, {0.2}, setup.steps(steps)};
}

}  // namespace papers
