#include "trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "augment.hpp"
#include "common/interrupt.hpp"
#include "common/progress.hpp"
#include "common/shuffled.hpp"
#include "gated/train/training.hpp"

namespace words {

namespace {

constexpr Index shard = 8;            // examples whose activations fit in a core's cache
constexpr Index shards_per_step = 8;  // 64 examples per step

gated::TrainingConfig<Model> training_of(const Options& options, Index classes, Index steps) {
  auto model = keyword_model(classes, options.depth);
  model.trunk.drop_path = 0.05;
  return {.model = model,
          .optimizer = {.learning_rate = options.learning_rate, .weight_decay = 0.1},
          .schedule = {.form = gated::ScheduleForm::cosine, .warmup = std::min<Index>(200, steps / 10), .steps = steps},
          .clip_norm = 1,
          .average_decay = 0.998,
          .micro_batches = shards_per_step};
}

double percent(Index part, Index whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(std::max<Index>(whole, 1));
}

/// log(r) if unknown words are r > 1 times as frequent as the average word, otherwise 0. A trained model's bias of unknown
/// words is lowered by it (logit adjustment, Menon et al., arXiv:2007.07314).
float log_odds_of_unknown(const Recordings& recordings) {
  const Index unknown = std::count(recordings.label_of.begin(), recordings.label_of.end(), recordings.unknown());
  const double of_a_word = static_cast<double>(recordings.count() - unknown) / static_cast<double>(recordings.unknown());
  return static_cast<float>(std::log(std::max(1.0, static_cast<double>(unknown) / of_a_word)));
}

/// The examples of a shard. draw() takes the next recordings of a shuffled pass, and shuffles again after the last one.
struct Shard {
  Matrix<float> images;
  std::vector<Index> labels = std::vector<Index>(static_cast<std::size_t>(shard));
  std::vector<Index> order = {};  // recordings left in this pass, the next one at the back

  void draw(const Recordings& recordings, const Model::Config& config, Random& random) {
    for (Index i = 0; i < shard; ++i) {
      if (order.empty()) {
        order = examples::shuffled(recordings.count(), random);
      }
      const Example example = draw_example(recordings, static_cast<std::size_t>(order.back()), random);
      order.pop_back();
      features_of(example.window, config, images.row(i));
      labels[static_cast<std::size_t>(i)] = example.label;
    }
  }
};

/// Formats the progress line.
class Status {
 public:
  explicit Status(Index steps) : steps_(steps) {}

  std::string line(Index step, double loss) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const double part = static_cast<double>(step) / static_cast<double>(steps_);
    char line[128];
    std::snprintf(line, sizeof line, "  step %5td  %s  loss %.3f  %5.0f words/s  %4.0f s left", step,
                  examples::progress_bar(part, 20).c_str(), loss,
                  static_cast<double>(step * shard * shards_per_step) / std::max(seconds, 1e-3), seconds / part - seconds);
    return line;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  Index steps_;
};

}  // namespace

std::optional<Model> trained(const Recordings& recordings, std::optional<Keywords> start, const Options& options) {
  const Index count = recordings.count(), per_step = shard * shards_per_step;
  const Index steps = std::max<Index>(options.epochs * count / per_step, 2);
  gated::require<gated::ArgumentError>(!start || start->labels == recordings.labels,
                                       "--model: the model's words differ from the folder's. Set --words to the model's.");
  const float log_odds = log_odds_of_unknown(recordings);
  if (start) {  // a saved model favours no class; training expects the odds of these recordings
    start->model.head->bias[recordings.unknown()] += log_odds;
  }
  const auto config = training_of(options, std::ssize(recordings.labels), steps);
  Random random(options.seed);
  gated::Training<Model> training(config, start ? std::move(start->model) : Model(config.model, random), random);
  training.threads = gated::Threads{options.threads};
  std::printf("  model     KW-MLP, %td blocks, %td parameters\n", training.model.config.trunk.depth,
              gated::parameter_count(training.model));
  std::printf("  training  %td recordings of %zu words, %td steps of %td\n\n", count, recordings.labels.size() - 2, steps,
              per_step);
  Shard current{Matrix<float>(shard, training.model.config.image.area())};
  const Status status(steps);
  examples::ProgressLine progress;
  double loss = 0;
  Index step = 0;
  while (step < steps && examples::stop_signal == 0) {
    ++step;
    const double now = training.step([&](auto& run) {
      current.draw(recordings, training.model.config, training.random);
      return cross_entropy(run(training.model, current.images), current.labels, {.label_smoothing = 0.1});
    });
    loss = step == 1 ? now : loss + 0.05 * (now - loss);
    if (step % std::max<Index>(1, steps / 16) == 0 || step == steps) {
      progress.keep(status.line(step, loss));
    } else if (progress.on_terminal()) {
      progress.show(status.line(step, loss));
    }
  }
  if (step == 0) {
    return std::nullopt;
  }
  Model result = training.result();
  result.head->bias[recordings.unknown()] -= log_odds;
  return result;
}

void measure(const Keywords& keywords, const Recordings& recordings, const Options& options) {
  struct Condition {
    const char* name;
    std::span<const examples::Noise> kinds;
    double ratio;
  };
  for (const auto& [name, kinds, ratio] :
       {Condition{"alone", {}, 0}, Condition{"noise, 20 dB", met_noises, 20}, Condition{"noise, 10 dB", met_noises, 10},
        Condition{"noise, 5 dB", met_noises, 5}, Condition{"noise, 0 dB", met_noises, 0},
        Condition{"rain, siren, 10 dB", new_noises, 10}}) {
    Random random(options.seed);
    gated::Workspace<float> workspace(gated::Threads{options.threads});
    Matrix<float> image(1, keywords.model.config.image.area()), logits(1, std::ssize(keywords.labels));
    Index words = 0, right = 0, refused = 0;
    for (Index i = 0; i < recordings.count(); ++i) {
      const Vector<float>& sound = recordings.sounds[static_cast<std::size_t>(i)];
      Vector<float> window = centred(sound);
      if (!kinds.empty()) {
        const Index length = std::min(sound.size(), window.size());
        add_noise(window, (window.size() - length) / 2, length, ratio, kinds, recordings, random);
      }
      features_of(window, keywords.model.config, image);
      keywords.model.forward(image, logits, workspace);
      Index found = 0;
      logits.row(0).maxCoeff(&found);
      const Index label = recordings.label_of[static_cast<std::size_t>(i)];
      words += label < recordings.unknown() ? 1 : 0;
      right += label < recordings.unknown() && found == label ? 1 : 0;
      refused += label >= recordings.unknown() && found >= recordings.unknown() ? 1 : 0;
    }
    const Index others = recordings.count() - words;
    std::printf("  %-20s %5.1f %% of %td words right", name, percent(right, words), words);
    others > 0 ? std::printf(", %5.1f %% of %td others refused\n", percent(refused, others), others) : std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace words
