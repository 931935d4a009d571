// train_digits: trains a gMLP on scanned digits from scratch, and writes it as a checkpoint with timm's names. See README.md.

#include <cstdio>
#include <numeric>

#include "batch_loss.hpp"
#include "common/interrupt.hpp"
#include "common/mosaic.hpp"
#include "common/progress.hpp"
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

/// Reads what save() wrote. Only the number of epochs may be another than `config` says.
Training resume(const std::filesystem::path& path, const Training::Config& config, History& history) {
  auto training = gated::load_model<Training>(path);
  training.expect_same_run(config);
  training.set_schedule(config.schedule);
  const gated::SafetensorsFile file(path);
  const auto text = file.metadata().find("history");
  gated::require<gated::FileError>(text != file.metadata().end(), path.string(), ": was not written by train_digits.");
  history = History::from_text(text->second);
  return training;
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
  const Index per_epoch = data.steps_per_epoch(), steps = options.epochs * per_epoch;
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
    last = epoch == options.epochs || epoch == options.stop_after || examples::stop_signal != 0;
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
  const auto config = digits::recipe(options.epochs * data.steps_per_epoch());
  const Files files{options.out};
  History history;
  auto training = options.resume.empty() ? Training(config, Random(options.seed)) : resume(options.resume, config, history);
  training.threads = gated::Threads{options.threads};

  std::filesystem::create_directories(files.folder);
  std::printf("  model     %td blocks, %td parameters, 8 x 8 pixels\n", config.model.trunk.depth,
              gated::parameter_count(training.model));
  std::printf("  images    %td to learn from, %td held out\n", data.images.count(), data.held_out.count());
  std::printf("  training  %td epochs of %td steps of %td images, %d thread%s\n", options.epochs, data.steps_per_epoch(),
              digits::batch_size, options.threads, options.threads > 1 ? "s" : "");
  if (options.resume.empty()) {
    gated::write_png(files.before, digits::draw_spatial_weights(training.model));
  } else {
    std::printf("  resumed   after epoch %td\n", training.steps_done() / data.steps_per_epoch());
  }
  std::printf("\n");
  train(training, history, data, options, files);

  gated::write_png(files.curve, digits::draw_curve(history));
  if (training.steps_done() < config.schedule.steps) {
    std::printf("  stopped   --resume %s goes on\n", files.training.string().c_str());
    return 130;
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
      "train_digits", digits::usage, [&] { return digits::parse_options(count, arguments); }, run);
}
