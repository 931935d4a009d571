#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numbers>
#include <string>

#include "common/bf16.hpp"
#include "common/interrupt.hpp"
#include "common/metrics_file.hpp"
#include "common/progress.hpp"
#include "common/safe_text.hpp"
#include "common/text_context.hpp"
#include "corpus.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/sampling.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/training.hpp"
#include "held_out.hpp"
#include "options.hpp"
#include "recipe.hpp"

namespace text {

/// The schedule of a run of `steps` steps in all: warm-up, then a cosine; if `steps` is 0 (unknown), only warm-up.
inline gated::ScheduleConfig schedule_for(gated::Index steps) {
  constexpr gated::Index warmup = 50;
  if (steps == 0) {
    return {.warmup = warmup};
  }
  return {.form = gated::ScheduleForm::cosine, .warmup = std::min(warmup, steps / 10), .steps = steps, .final_fraction = 0.05};
}

/// Trains a model on a corpus and prints the progress.
template <class Model>
class Trainer {
 public:
  Trainer(gated::Training<Model> training, const Recipe& recipe, const Corpus& corpus, const Options& options)
      : training_(std::move(training)),
        schedule_(training_.config().schedule),
        recipe_(recipe),
        corpus_(corpus),
        options_(options),
        tape_(gated::Threads{options.threads}),
        workspace_(tape_.workspace().threads()),
        metrics_(options.metrics, training_.steps_done()) {
    training_.threads = workspace_.threads();
    tape_.workspace().use(examples::products(options.bf16));
    if (options.steps > 0 || options.minutes > 0) {
      plan(options.steps);
    }
  }

  /// Trains to the end, or until asked to stop, and saves. Returns the exit code: 0, or exit_code_of_stop().
  int run() {
    examples::stop_when_asked();
    bool stopped = false;
    while (!finished() && !stopped) {
      const auto start = Clock::now();
      const double rate = training_.rate(), loss = step();
      count(loss, std::chrono::duration<double>(Clock::now() - start).count());
      metrics_.add(training_.steps_done(), loss, training_.norm(), rate);
      if (!planned() && steps_ >= 5 && seconds_ >= std::min(10.0, 6 * options_.minutes)) {
        plan(training_.steps_done() + std::max<Index>(static_cast<Index>(seconds_left() / seconds_per_step()), 0));
      }
      stopped = examples::stop_signal != 0 || training_.steps_done() == options_.stop_after;
      report(steps_ == 1 || finished() || stopped);
      if (!finished() && !stopped && seconds_ - looked_ >= options_.sample_every) {
        save();
        look();
      }
    }
    save();
    if (!finished()) {
      std::printf("  stopped   after step %td; continue with the same texts and --resume %s\n", training_.steps_done(),
                  training_file(options_.out).string().c_str());
      return examples::exit_code_of_stop();
    }
    examples::stop_at_once();
    look();
    std::printf("  time      %.1f s of training, %td steps, %d thread%s\n", seconds_, steps_, options_.threads,
                options_.threads > 1 ? "s" : "");
    std::printf("  saved     %s, and the whole training run as %s\n", options_.out.string().c_str(),
                training_file(options_.out).string().c_str());
    return 0;
  }

 private:
  using Index = gated::Index;
  using Clock = std::chrono::steady_clock;

  /// A training step: draw a batch, record the model on the tape, run the backward pass, update.
  double step() {
    return training_.step([&](const Model& model, Model& gradient) {
      draw_batch();
      tape_.begin(model, gradient);
      const auto sequences = gated::Sequences::of_lengths(lengths_);
      if (recipe_.mlm) {
        masked_ = masked_bytes(tokens_, sequences, training_.random);
        const gated::Variable logits = record_rows(tape_, model, masked_.tokens, sequences, masked_.rows);
        return tape_.backward(gated::cross_entropy(tape_, logits, masked_.targets));
      }
      const gated::Variable logits = record(tape_, model, gated::Tokens(tokens_), sequences);
      return tape_.backward(gated::cross_entropy(tape_, logits, targets_));
    });
  }

  void draw_batch() {
    tokens_.clear();
    targets_.clear();
    lengths_.clear();
    for (Index i = 0; i < recipe_.batch; ++i) {
      const std::string_view bytes = corpus_.draw(recipe_.length, training_.random);
      for (std::size_t at = 1; at < bytes.size(); ++at) {
        tokens_.push_back(static_cast<unsigned char>(bytes[at - 1]));
        targets_.push_back(static_cast<unsigned char>(bytes[at]));
      }
      lengths_.push_back(static_cast<Index>(bytes.size()) - 1);
    }
  }

  // --- Progress ---

  /// Sets the run's length in steps; 0 if --minutes will determine it.
  void plan(Index steps) {
    schedule_ = schedule_for(steps);
    training_.set_schedule(schedule_);
  }

  bool planned() const { return schedule_.form != gated::ScheduleForm::constant; }
  bool finished() const { return planned() && training_.steps_done() >= schedule_.steps; }

  double seconds_per_step() const { return steps_ > 1 ? (seconds_ - first_) / static_cast<double>(steps_ - 1) : seconds_; }
  double seconds_left() const {
    return planned() ? static_cast<double>(schedule_.steps - training_.steps_done()) * seconds_per_step()
                     : 60 * options_.minutes - seconds_;
  }

  void count(double loss, double seconds) {
    ++steps_;
    seconds_ += seconds;
    first_ = steps_ == 1 ? seconds : first_;
    recent_.loss += loss;
    recent_.seconds += seconds;
    recent_.bytes += tokens_.size();
    ++recent_.steps;
  }

  /// Updates the progress line on a terminal. Every ten seconds, or if `now`, prints a permanent line.
  void report(bool now) {
    if (now || recent_.seconds >= 10 || progress_.on_terminal()) {
      char line[160];
      const auto left = static_cast<int>(seconds_left());
      std::snprintf(line, sizeof(line), "  step      %6td%s  %6.3f %s  %6.1f kB/s  %3d:%02d left", training_.steps_done(),
                    planned() ? gated::text(" of ", schedule_.steps).c_str() : "",
                    recent_.loss / static_cast<double>(recent_.steps) / std::numbers::ln2, unit(),
                    static_cast<double>(recent_.bytes) / recent_.seconds / 1000, left / 60, left % 60);
      if (now || recent_.seconds >= 10) {
        progress_.keep(line);
        recent_ = {};
      } else {
        progress_.show(line);
      }
    }
  }

  // --- Evaluation ---

  /// Measures the model on held-out text (a part of it during training, all of it at the end) and shows a sample.
  void look() {
    looked_ = seconds_;
    const auto strides = corpus_.held_out_bytes() / static_cast<std::size_t>(std::max<Index>(recipe_.length / 2, 1));
    const std::size_t every = finished() ? 1 : std::max<std::size_t>(strides / 64, 1);
    const double bits = held_out_bits(training_.result(), corpus_, recipe_.length, recipe_.mlm, every, workspace_);
    progress_.keep(gated::text("  held out  ", three_digits(bits), " ", unit(), every > 1 ? ", measured on a part" : ""));
    if (options_.sample > 0) {
      progress_.keep(indented(recipe_.mlm ? filled_in() : sample()));
    }
  }

  const char* unit() const { return recipe_.mlm ? "bits/masked byte" : "bits/byte"; }

  /// The next file to sample from, in turn.
  const Document& next_document() {
    return corpus_.documents()[static_cast<std::size_t>(samples_++) % corpus_.documents().size()];
  }

  /// The beginning of the next file's held-out text, with masked bytes that the model filled in.
  std::string filled_in() {
    const Document& document = next_document();
    const auto room = static_cast<std::size_t>(std::min(recipe_.length, options_.sample));
    const std::vector<Index> tokens = bytes_of(std::string_view(document.bytes).substr(document.held_out, room));
    if (tokens.empty()) {
      return "";
    }
    const auto sequence = gated::Sequences::single(static_cast<Index>(tokens.size()));
    gated::Random random(recipe_.corpus);
    gated::MaskedTokens masked = masked_bytes(tokens, sequence, random);
    const auto logits = training_.result().forward(masked.tokens, sequence, workspace_);
    for (const Index row : masked.rows) {
      logits.row(row).head(256).maxCoeff(&masked.tokens[static_cast<std::size_t>(row)]);
    }
    SafeText safe;
    std::string shown;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool asked = std::binary_search(masked.rows.begin(), masked.rows.end(), static_cast<Index>(i));
      shown += safe.add(static_cast<unsigned char>(asked ? masked.tokens[i] : tokens[i]));
    }
    return shown + safe.finish();
  }

  /// The model's continuation of the next file, from the beginning of its held-out text.
  std::string sample() {
    const Document& document = next_document();
    const auto before = std::min(document.held_out, static_cast<std::size_t>(recipe_.length) / 2);
    const std::vector<Index> prompt = bytes_of(std::string_view(document.bytes).substr(document.held_out - before, before));
    const auto weights = gated::prepare(training_.result());
    Context context(training_.result(), weights, 1);
    context.add(prompt);
    gated::Sampler<float> sampler(256, {.temperature = 0.8, .top_p = 0.95}, gated::Random(recipe_.corpus));
    SafeText safe;
    std::string shown;
    for (Index i = 0; i < options_.sample && examples::stop_signal == 0; ++i) {
      const Index token = sampler(context.logits());
      shown += safe.add(static_cast<unsigned char>(token));
      context.add(gated::Tokens(&token, 1));
    }
    return shown + safe.finish();
  }

  static std::string indented(const std::string& lines) {
    std::string out = margin;
    for (const char c : lines) {
      out += c;
      out += c == '\n' ? margin : "";
    }
    return out;
  }
  static constexpr const char* margin = "            | ";

  static std::string three_digits(double value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.3f", value);
    return digits;
  }

  void save() const {
    gated::save_model(training_, training_file(options_.out), {{Recipe::key, gated::to_json(recipe_)}});
    gated::save_model(training_.result(), options_.out);
  }

  gated::Training<Model> training_;
  gated::ScheduleConfig schedule_;
  Recipe recipe_;
  const Corpus& corpus_;
  const Options& options_;
  gated::Tape<float> tape_;
  gated::Workspace<float> workspace_;
  examples::MetricsFile metrics_;
  std::vector<Index> tokens_, targets_, lengths_;  // of a batch
  gated::MaskedTokens masked_;                     // the masked batch, with --mlm

  Index steps_ = 0;     // steps done by this process
  double seconds_ = 0;  // time spent in the steps of this process
  double first_ = 0;    // seconds of the first step, which is slower since it allocates
  double looked_ = 0;   // seconds_ when look() was last called
  Index samples_ = 0;   // samples shown so far
  struct {
    double loss = 0, seconds = 0;
    std::size_t bytes = 0, steps = 0;
  } recent_;  // totals since the last permanent progress line
  examples::ProgressLine progress_;
};

/// Trains a new model of configuration `config()`, or resumes the run saved in `options.resume`. Returns the exit code.
template <class Model, class ConfigOf>
int train_model(const Options& options, const Corpus& corpus, const ConfigOf& config) {
  using Training = gated::Training<Model>;
  if (options.resume.empty()) {
    const auto file = training_file(options.out);
    gated::require<gated::FileError>(
        !std::filesystem::exists(file), file.string(),
        ": there is a training run already. Resume it with --resume, remove it, or use another --out.");
    Training training({.model = config(),
                       .optimizer = {.learning_rate = options.rate, .beta2 = 0.99, .weight_decay = 0.1},
                       .schedule = schedule_for(options.steps),
                       .clip_norm = 1.0},
                      gated::Random(options.seed));
    std::printf("  model     %s: %td parameters\n", options.model.c_str(), gated::parameter_count(training.model));
    return Trainer<Model>(std::move(training), {options.length, options.batch, corpus.fingerprint(), options.mlm}, corpus,
                          options)
        .run();
  }

  auto training = gated::load_model<Training>(options.resume);
  const std::string name = options.resume.string();
  const gated::SafetensorsFile file(options.resume);
  const auto saved = file.metadata().find(Recipe::key);
  gated::require<gated::FileError>(saved != file.metadata().end(), name, ": this training run was not written by train_text.");
  const auto recipe = gated::from_json<Recipe>(saved->second);
  gated::require<gated::FileError>(recipe.corpus == corpus.fingerprint(), name,
                                   ": the texts differ from those that the run began with. Give the same texts, unchanged.");
  const bool endless = training.config().schedule.form == gated::ScheduleForm::constant;
  gated::require<gated::ArgumentError>(!endless || options.steps > 0 || options.minutes > 0, name,
                                       ": this run was stopped before --minutes had determined its number of steps. Give "
                                       "--steps or --minutes.");
  std::printf("  model     %s: %td parameters, step %td\n", options.resume.filename().string().c_str(),
              gated::parameter_count(training.model), training.steps_done());
  return Trainer<Model>(std::move(training), recipe, corpus, options).run();
}

}  // namespace text
