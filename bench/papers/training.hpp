#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "gated/train/recording.hpp"
#include "gated/train/training.hpp"
#include "train_text/held_out.hpp"

/// @file
/// Masked-language-model training, reported as lines of CSV: table,form,seed,x,quantity,value.

namespace papers {

using gated::Index;

/// The settings that all trainings of a run share.
struct Setup {
  const text::Corpus* corpus = nullptr;
  bool quick = false;  ///< only checks that everything works
  int threads = 1;
  int seeds = 3;
  Index steps = 1600;
  std::vector<std::string> forms;  ///< the forms to train; all if empty

  bool wants(const std::string& form) const {
    return forms.empty() || std::find(forms.begin(), forms.end(), form) != forms.end();
  }
};

/// A line of CSV without its table and form.
struct Row {
  int seed;
  Index x;
  const char* quantity;
  double value;
};

inline void print_row(const std::string& table, const std::string& form, const Row& row) {
  std::cout << table << ',' << form << ',' << row.seed << ',' << row.x << ',' << row.quantity << ',' << row.value << std::endl;
}

/// A training step over `batch` random sequences of `length` bytes: masks some bytes and predicts them.
template <class Model>
class MaskedStep {
 public:
  MaskedStep(const Setup& setup, Index length, Index batch)
      : corpus_(*setup.corpus), length_(length), batch_(batch), tape_(gated::Threads{setup.threads}) {}

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

template <class Model>
gated::Training<Model> new_training(const typename Model::Config& config, Index steps, int seed) {
  return gated::Training<Model>({.model = config,
                                 .optimizer = {.learning_rate = 4e-3, .beta2 = 0.99, .weight_decay = 0.1},
                                 .schedule = {.form = gated::ScheduleForm::cosine,
                                              .warmup = std::min<Index>(50, steps / 10),
                                              .steps = steps,
                                              .final_fraction = 0.05},
                                 .clip_norm = 1.0},
                                gated::Random(static_cast<std::uint64_t>(seed)));
}

/// Trains `Model` from each seed and prints the perplexity of held-out masked bytes, during training and at the end. `change`
/// may edit the initial parameters. Returns the printed rows; none if the form is not selected.
template <class Model>
std::vector<Row> train(const Setup& setup, const std::string& table, const std::string& form,
                       const typename Model::Config& config, Index length,
                       const std::function<void(Model&, gated::Random&)>& change = {}) {
  const Index batch = setup.quick ? 2 : 2048 / length, looks = setup.quick ? 2 : 20;
  const std::size_t strides = setup.corpus->held_out_bytes() / static_cast<std::size_t>(length / 2);
  const auto every = [&](std::size_t wanted) { return std::max<std::size_t>(strides / (setup.quick ? 8 : wanted), 1); };
  std::vector<Row> rows;
  if (!setup.wants(form)) {
    return rows;
  }
  const auto print = [&](const Row& row) { print_row(table, form, rows.emplace_back(row)); };
  print({0, 0, "parameters", static_cast<double>(gated::parameter_count(Model(config)))});
  for (int seed = 1; seed <= setup.seeds; ++seed) {
    auto training = new_training<Model>(config, setup.steps, seed);
    if (change) {
      gated::Random random(static_cast<std::uint64_t>(seed));
      change(training.model, random);
    }
    gated::Workspace<float> workspace(gated::Threads{setup.threads});
    training.threads = workspace.threads();
    MaskedStep<Model> step(setup, length, batch);
    const auto perplexity = [&](std::size_t part) {
      return std::exp2(text::held_out_bits(training.result(), *setup.corpus, length, true, every(part), workspace));
    };
    double seconds = 0;
    for (Index done = 1; done <= setup.steps; ++done) {
      const auto start = std::chrono::steady_clock::now();
      step(training);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (done % (setup.steps / looks) == 0) {
        print({seed, done, "perplexity on the way", perplexity(128)});
      }
    }
    print({seed, setup.steps, "perplexity", perplexity(1024)});
    print({seed, setup.steps, "seconds", seconds});
  }
  return rows;
}

/// Prints the time of a step of `Model` on sequences of `length` bytes: the fastest of five, after a warm-up.
template <class Model>
void time_steps(const Setup& setup, const std::string& form, const typename Model::Config& config, Index length) {
  if (!setup.wants(form)) {
    return;
  }
  auto training = new_training<Model>(config, 100, 1);
  gated::Workspace<float> workspace(gated::Threads{setup.threads});
  training.threads = workspace.threads();
  MaskedStep<Model> step(setup, length, setup.quick ? 1 : std::max<Index>(8192 / length, 1));
  double least = 0;
  for (int turn = 0; turn < (setup.quick ? 2 : 6); ++turn) {
    const auto start = std::chrono::steady_clock::now();
    step(training);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = turn == 1 || (turn > 1 && seconds < least) ? seconds : least;  // the first allocates memory
  }
  print_row("time", form, {1, length, "ms", 1000 * least});
}

}  // namespace papers
