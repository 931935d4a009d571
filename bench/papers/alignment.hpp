#pragma once

#include <numeric>

#include "language.hpp"

/// @file
/// A task across two segments: which pairs of key and value in the second segment repeat a pair of the first?

namespace papers {

/// `pair pair … <separator> pair pair …`, where a token is a pair of a key and a value. The second segment has the first one's
/// keys in another order, each with the same value or, with a probability of a half, another one. Each of its tokens asks: is
/// this pair in the first segment?
struct AlignmentBatch {
  static constexpr Index keys = 32, values = 4, separator = keys * values, no = separator + 1, yes = no + 1,
                         vocabulary = yes + 1;

  std::vector<Index> tokens, rows, targets, lengths;

  /// `count` sequences of at most `length` tokens.
  AlignmentBatch(Index length, Index count, gated::Random& random) {
    const auto below = [&](Index n) { return static_cast<Index>(random.uniform() * static_cast<double>(n)); };
    const auto shuffle = [&](std::vector<Index>& list) {
      for (std::size_t i = list.size(); i > 1; --i) {
        std::swap(list[i - 1], list[static_cast<std::size_t>(below(static_cast<Index>(i)))]);
      }
    };
    const Index pairs = std::min((length - 1) / 2, keys);
    for (Index i = 0; i < count; ++i) {
      std::vector<Index> order(static_cast<std::size_t>(keys)), value;
      std::iota(order.begin(), order.end(), Index{0});
      std::generate_n(std::back_inserter(value), keys, [&] { return below(values); });
      shuffle(order);
      order.resize(static_cast<std::size_t>(pairs));
      for (const Index key : order) {
        tokens.push_back(key * values + value[static_cast<std::size_t>(key)]);
      }
      tokens.push_back(separator);
      shuffle(order);
      for (const Index key : order) {
        const bool same = below(2) == 0;
        const Index offset = same ? 0 : 1 + below(values - 1);
        rows.push_back(static_cast<Index>(tokens.size()));
        targets.push_back(same ? yes : no);
        tokens.push_back(key * values + (value[static_cast<std::size_t>(key)] + offset) % values);
      }
      lengths.push_back(2 * pairs + 1);
    }
  }
};

/// A form trained on the task, 2,048 tokens per step. Its result is the cross-entropy on new sequences; it also reports the
/// share of wrong answers. Recipes are chosen in whole trainings, because a form may learn nothing for a thousand steps.
template <class Model>
Form alignment_form(const Setup& setup, const std::string& name, const typename Model::Config& config, Index length,
                    Index steps) {
  const auto run_once = [setup, config, length](const Run& run) {
    gated::Tape<float> tape;
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
