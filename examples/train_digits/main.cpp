// train_digits: trains a gMLP on scanned digits from scratch, and writes it as a checkpoint with timm's names. See README.md.

#include <cstdio>
#include <numeric>
#include <optional>
#include <string>

#include "batch_loss.hpp"
#include "common/interrupt.hpp"
#include "common/mosaic.hpp"
#include "common/progress.hpp"
#include "common/run_main.hpp"
#include "curve.hpp"
#include "evaluation.hpp"
#include "gated/io/model_file.hpp"
#include "options.hpp"
#include "status.hpp"

namespace {

using digits::History, digits::Model;
using gated::Index, gated::Random;
using Training = gated::Training<Model>;

/// What is written, all in one folder.
struct Files {
  std::filesystem::path folder;
  std::filesystem::path model = folder / "digits_gmlp.safetensors";
  std::filesystem::path training = folder / "digits_training.safetensors";
  std::filesystem::path curve = folder / "loss_curve.png";
  std::filesystem::path before = folder / "spatial_weights_before.png";
  std::filesystem::path after = folder / "spatial_weights_after.png";
};

struct Data {
  digits::LabelledImages images, held_out;
  gated::Matrix<float> held_out_inputs;

  explicit Data(const gated::GmlpImageClassifierConfig& model)
      : images(digits::read_images(DIGITS_FOLDER "digits.csv", model, 16, digits::Part::training)),
        held_out(digits::read_images(DIGITS_FOLDER "digits.csv", model, 16, digits::Part::held_out)),
        held_out_inputs(digits::inputs_from(held_out.pixels, model)) {}

  /// Of whole batches: the few images that are left over are others in each epoch.
  Index steps_per_epoch() const { return images.count() / digits::batch_size; }

  Index count_right(const Training& training) const {
    return digits::count_right(training.result(), held_out, held_out_inputs, training.threads);
  }
};

/// Writes all that the training needs to go on.
void save(const Training& training, const History& history, const std::filesystem::path& path) {
  gated::save_model(training, path, {{"history", history.text()}});
}

/// Reads what save() wrote. The training goes on along its own schedule, unless `steps` says how long it is to be now.
Training resume(const std::filesystem::path& path, std::optional<Index> steps, History& history) {
  auto training = gated::load_model<Training>(path);
  const auto expected = digits::recipe(steps.value_or(training.config().schedule.steps));
  training.expect_same_run(expected);
  training.set_schedule(expected.schedule);
  const gated::SafetensorsFile file(path);
  const auto text = file.metadata().find("history");
  gated::require<gated::FileError>(text != file.metadata().end(), path.string(), ": was not written by train_digits.");
  history = History::from_text(text->second);
  return training;
}

Training begin_or_resume(const digits::Options& options, const Data& data, History& history) {
  const auto steps_of = [&](Index epochs) { return epochs * data.steps_per_epoch(); };
  if (options.resume.empty()) {
    return Training(digits::recipe(steps_of(options.epochs.value_or(digits::epochs))), Random(options.seed));
  }
  const auto steps = options.epochs ? std::optional(steps_of(*options.epochs)) : std::nullopt;
  return resume(options.resume, steps, history);
}

/// The numbers from 0 to count - 1 in random order.
std::vector<Index> shuffled(Index count, Random& random) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
  }
  return order;
}

/// Trains up to the last step, or until it is to stop, always whole epochs: from there on a training can be resumed, since the
/// order of the next epoch is not drawn yet.
void train(Training& training, History& history, const Data& data, const digits::Options& options, const Files& files) {
  const Index per_epoch = data.steps_per_epoch(), steps = training.config().schedule.steps;
  const digits::Status status(training.steps_done(), steps, per_epoch);
  digits::BatchLoss loss(training.model, data.images, training.threads);
  examples::ProgressLine progress;
  double saved = 0;
  for (bool last = training.steps_done() >= steps; !last;) {
    const auto order = shuffled(data.images.count(), training.random);
    for (Index i = 0; i < per_epoch; ++i) {
      const auto batch = std::span(order).subspan(static_cast<std::size_t>(i * digits::batch_size), digits::batch_size);
      history.losses.push_back(
          training.step([&](const Model& model, Model& gradient) { return loss(model, gradient, batch, training.random); }));
      if (progress.on_terminal() && i % 8 == 0) {
        progress.show(status.line(training.steps_done(), history));
      }
    }
    history.accuracies.push_back(static_cast<double>(data.count_right(training)) / static_cast<double>(data.held_out.count()));

    const Index epoch = training.steps_done() / per_epoch;
    last = training.steps_done() >= steps || epoch == options.stop_after || examples::stop_signal != 0;
    if (epoch % 5 == 0 || last) {
      progress.keep(status.line(training.steps_done(), history));
    }
    if (last || status.seconds() > saved + 5) {
      save(training, history, files.training);
      saved = status.seconds();
    }
  }
  std::printf("\n  time      %.1f s\n", status.seconds());
}

int run(const digits::Options& options) {
  examples::stop_when_asked();
  const Data data(gated::timm_config(digits::description));
  const Files files{options.out};
  History history;
  auto training = begin_or_resume(options, data, history);
  const Index steps = training.config().schedule.steps;
  training.threads = gated::Threads{options.threads};

  std::filesystem::create_directories(files.folder);
  std::printf("  model     %td blocks, %td parameters, 8 x 8 pixels\n", training.model.config.trunk.depth,
              gated::parameter_count(training.model));
  std::printf("  images    %td to learn from, %td held out\n", data.images.count(), data.held_out.count());
  std::printf("  training  %td epochs of %td steps of %td images, %d thread%s\n", steps / data.steps_per_epoch(),
              data.steps_per_epoch(), digits::batch_size, options.threads, options.threads > 1 ? "s" : "");
  if (options.resume.empty()) {
    gated::write_png(files.before, digits::draw_spatial_weights(training.model));
  } else {
    std::printf("  resumed   after epoch %td\n", training.steps_done() / data.steps_per_epoch());
  }
  std::printf("\n");
  train(training, history, data, options, files);

  gated::write_png(files.curve, digits::draw_curve(history));
  if (training.steps_done() < steps) {
    const std::string into = options.out == "." ? "" : " --out " + options.out.string();
    std::printf("  stopped   after epoch %td; go on with --resume %s%s\n", training.steps_done() / data.steps_per_epoch(),
                files.training.string().c_str(), into.c_str());
    return examples::exit_code_of_stop();
  }
  gated::write_png(files.after, digits::draw_spatial_weights(training.result()));
  gated::save_parameters(training.result(), files.model, {{"config", digits::description}}, gated::timm_names());
  const Index right = data.count_right(training);
  std::printf("  right     %.1f %%, %td of %td held out\n",
              100 * static_cast<double>(right) / static_cast<double>(data.held_out.count()), right, data.held_out.count());
  std::printf("  model     %s, with timm's names\n", files.model.string().c_str());
  std::printf("  training  %s: all that --resume needs\n", files.training.string().c_str());
  std::printf("  pictures  %s, %s, %s\n", files.curve.string().c_str(), files.before.string().c_str(),
              files.after.string().c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "train_digits", [&] { return digits::parse_options(count, arguments); }, run);
}
