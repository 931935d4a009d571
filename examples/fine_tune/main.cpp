// fine_tune: fine-tunes a published classifier on a folder of pictures. See README.md.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "common/class_folder.hpp"
#include "common/output_file.hpp"
#include "common/run_main.hpp"
#include "gated/gated.hpp"
#include "gated/io/image.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/image_reader.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/top_k.hpp"
#include "gated/train.hpp"
#include "options.hpp"

namespace {

namespace fs = std::filesystem;
using gated::Index, gated::Matrix;
using Model = gated::GmlpImageClassifier<float>;

/// Writes pictures of horizontal and vertical stripes of random width, colour and brightness.
void write_example(const fs::path& folder) {
  gated::Random random(1);
  for (const bool standing : {false, true}) {
    const fs::path into = folder / (standing ? "standing" : "lying");
    fs::create_directories(into);
    for (int i = 0; i < 24; ++i) {
      gated::Image image{40, 36, 3, {}};
      const double width = 3 + 5 * random.uniform(), phase = 6 * random.uniform(), light = 80 + 80 * random.uniform();
      const double tints[] = {random.uniform(), random.uniform(), random.uniform()};
      for (Index p = 0; p < image.width * image.height; ++p) {
        const auto at = static_cast<double>(standing ? p % image.width : p / image.width);
        for (const double tint : tints) {
          const double value = light + (90 * tint + 10) * std::sin(6.28 * at / width + phase) + 8 * random.normal();
          image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
        }
      }
      gated::write_png(into / gated::text(i, ".png"), image);
    }
  }
}

/// All pictures of a folder, prepared for the model, and their classes.
struct Pictures {
  std::vector<std::string> labels;
  Matrix<float> inputs[2];  ///< training pictures, held-out pictures
  std::vector<Index> classes[2];

  Pictures(const fs::path& folder, const Model::Config& config) {
    auto listed = examples::list_classes(folder);
    labels = std::move(listed.labels);
    gated::ImageInput<float> prepare(config);
    for (const bool held_out : {false, true}) {
      std::vector<fs::path> files;
      for (const auto& picture : listed.pictures) {
        if (picture.held_out == held_out) {
          files.push_back(picture.path);
          classes[held_out].push_back(picture.label);
        }
      }
      inputs[held_out].resize(std::ssize(files), config.image_channels * config.image.area());
      for (std::size_t i = 0; i < files.size(); ++i) {
        prepare(gated::read_image(files[i]), inputs[held_out].row(static_cast<Index>(i)));
      }
    }
  }
};

double share_right(const Model& model, const Pictures& pictures, gated::Workspace<float>& workspace) {
  const Matrix<float> logits = model.forward(pictures.inputs[1], workspace);
  Index right = 0;
  for (Index i = 0; i < logits.rows(); ++i) {
    right += gated::top_k<float>(logits.row(i), 1)[0].index == pictures.classes[1][static_cast<std::size_t>(i)] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(logits.rows());
}

/// Trains to the last step. Prints the loss and the held-out accuracy five times.
void train(gated::Training<Model>& training, const Pictures& pictures, Index batch, int threads) {
  const Index steps = training.config().schedule.steps;
  gated::Tape<float> tape(gated::Threads{threads});
  gated::Workspace<float> workspace(gated::Threads{threads});
  std::vector<Index> order(pictures.classes[0].size()), classes(static_cast<std::size_t>(batch));
  std::iota(order.begin(), order.end(), Index{0});
  Matrix<float> inputs(batch, pictures.inputs[0].cols());
  while (training.steps_done() < steps) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {  // the next batch: distinct pictures, drawn at random
      const auto other = i + static_cast<std::size_t>(training.random.uniform() * static_cast<double>(order.size() - i));
      std::swap(order[i], order[other]);
      inputs.row(static_cast<Index>(i)) = pictures.inputs[0].row(order[i]);
      classes[i] = pictures.classes[0][static_cast<std::size_t>(order[i])];
    }
    const double loss = training.step([&](const Model& current, Model& gradient) {
      tape.begin(current, gradient, training.random);
      return tape.backward(cross_entropy(tape, record(tape, current, tape.constant(inputs)), classes));
    });
    if (training.steps_done() % std::max<Index>(steps / 5, 1) == 0) {
      std::printf("step %td of %td: loss %.3f, %.0f %% of the held-out pictures right\n", training.steps_done(), steps, loss,
                  100 * share_right(training.model, pictures, workspace));
    }
  }
}

int run(const tune::Options& options) {
  if (!options.example.empty()) {
    write_example(options.example);
    return 0;
  }
  examples::expect_place_for(options.out);
  gated::Random random(1);
  Model model = gated::load_model<Model>(options.model);
  const Pictures pictures(options.pictures, model.config);

  // A new head for the folder's classes.
  model.config.classes = static_cast<Index>(pictures.labels.size());
  model.head.emplace(model.trunk.out(), model.config.classes);
  model.head->initialize(random);

  const Index count = pictures.inputs[0].rows(), batch = std::min<Index>(count, 16), steps = options.epochs * (count / batch);
  gated::TrainingConfig<Model> config{
      .optimizer = {.learning_rate = options.rate,
                    .groups = {{.path = "head"}, {.path = "", .learning_rate_factor = 0.1, .frozen = !options.whole}}},
      .schedule = {.form = gated::ScheduleForm::cosine, .warmup = std::min<Index>(10, steps / 2), .steps = steps},
      .clip_norm = 1.0};
  gated::Training<Model> training(config, model, random);
  train(training, pictures, batch, options.threads);
  gated::save_model(training.model, options.out, {{"labels", gated::labels_text(pictures.labels)}});
  std::printf("%s: %zu classes, from %s to %s\n", options.out.string().c_str(), pictures.labels.size(),
              pictures.labels.front().c_str(), pictures.labels.back().c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "fine_tune", [&] { return tune::parse_options(count, arguments); }, run);
}
