#include "train.hpp"

#include <algorithm>
#include <cstdio>

#include "common/interrupt.hpp"
#include "common/output_file.hpp"
#include "common/progress.hpp"
#include "gated/io/model_file.hpp"
#include "gated/train.hpp"
#include "mixtures.hpp"

namespace denoise {
namespace {

/// A batch of noisy speech: the inputs of the loss. With S and X the spectra of speech and mixture, the best real mask is
///
///     m = Re(S X*) / |X|², from 0 to 1 (the phase-sensitive mask, Erdogan et al. 2015)
///
/// and the loss is the mean of (w mask - w m)², with w = |X|^0.85 divided by its mean over the piece. (w = |X| would give the
/// error of the spectrum, which loud vowels dominate.)
struct Batch {
  Matrix<float> features, weights, target;
  gated::Sequences pieces;
};

Batch batch_of(std::span<const std::vector<Samples>> speech, const gated::SpectrumOptions& spectrum, Index pieces,
               Random& random) {
  const Index samples = 3 * speech_rate, frames = spectrum.frames(samples);
  Batch batch{Matrix<float>(pieces * frames, spectrum.bins()), Matrix<float>(pieces * frames, spectrum.bins()),
              Matrix<float>(pieces * frames, spectrum.bins()), gated::Sequences::uniform(pieces, frames)};
  for (Index i = 0; i < pieces; ++i) {
    const Mixture mixture = random_mixture(speech, samples, random);
    const auto s = gated::stft<float>(mixture.clean, spectrum), x = gated::stft<float>(mixture.noisy, spectrum);
    const auto rows = Eigen::seqN(i * frames, frames);
    batch.features(rows, Eigen::all) = gated::speech_features<float>(mixture.noisy, spectrum);
    auto weights = batch.weights(rows, Eigen::all);
    weights = x.cwiseAbs2().array().pow(0.425f).matrix();
    weights /= std::max(weights.mean(), 1e-12f);
    const auto best = s.cwiseProduct(x.conjugate()).real().array() / (x.cwiseAbs2().array() + 1e-12f);
    batch.target(rows, Eigen::all) = (weights.array() * best.cwiseMax(0.0f).cwiseMin(1.0f)).matrix();
  }
  return batch;
}

/// The mean of (w mask - w m)², recorded on the tape.
gated::Recorded<float> loss_of(gated::TrainingRun<float>& run, const Model& model, const Batch& batch) {
  gated::Tape<float>& tape = run.tape();
  gated::Recording<float> recording(tape, batch.pieces);
  const gated::Variable mask = run(model, batch.features, batch.pieces).variable;
  const gated::Recorded<float> masked{&tape, gated::multiply(recording, mask, tape.constant(batch.weights))};
  return gated::regression_loss(masked, batch.target);
}

gated::TrainingConfig<Model> configuration(const Options& options) {
  return {.model = {.rate = speech_rate,
                    .blocks = {.depth = options.depth,
                               .block = {.channels = options.channels, .inner = 3 * options.channels / 4, .causal = true}}},
          .optimizer = {.learning_rate = options.rate, .weight_decay = 0.01},
          .schedule = {.form = gated::ScheduleForm::cosine, .warmup = options.steps / 20, .steps = options.steps},
          .clip_norm = 1,
          .average_decay = options.steps > 500 ? 0.995 : 0};
}

}  // namespace

Model train(const Options& options) {
  examples::expect_place_for(options.in);
  const std::vector<std::vector<Samples>> speech = read_groups(options.train);
  gated::Training<Model> training(configuration(options), Random(options.seed));
  training.threads = gated::Threads(options.threads);
  const gated::SpectrumOptions spectrum = training.model.config.spectrum();
  std::size_t files = 0;
  for (const auto& group : speech) {
    files += group.size();
  }
  std::printf("  %zu files of speech, %td parameters\n", files, gated::parameter_count(training.model));
  examples::ProgressLine progress;
  double sum = 0;
  for (Index done = 0; done < options.steps && examples::stop_signal == 0;) {
    const Batch batch = batch_of(speech, spectrum, options.batch, training.random);
    sum += training.step([&](auto& run) { return loss_of(run, training.model, batch); });
    ++done;
    progress.show(gated::text("  ", examples::progress_bar(static_cast<double>(done) / static_cast<double>(options.steps), 30),
                              " step ", done, " of ", options.steps));
    if (done % 100 == 0 || done == options.steps || examples::stop_signal != 0) {
      const Index since = (done - 1) % 100 + 1;
      char line[96];
      std::snprintf(line, sizeof line, "  step %td of %td   loss %.4f", done, options.steps, sum / static_cast<double>(since));
      progress.keep(line);
      gated::save_model(training.result(), options.in, gated::WeightFormat::int8);
      sum = 0;
    }
  }
  return training.result();
}

}  // namespace denoise
