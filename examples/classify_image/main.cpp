// classify_image: says what is on photographs, with one of timm's gMLP models. See README.md.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "common/stopwatch.hpp"
#include "gated/gated.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/image_reader.hpp"
#include "gated/io/model_file.hpp"
#include "options.hpp"

namespace {

using gated::Index, gated::Matrix, gated::Workspace;
using Model = gated::GmlpImageClassifier<float>;

/// The model in a checkpoint: as its metadata describe it, or, where there are none as in timm's own files, as the preset does.
Model open_model(const photos::Options& options) {
  const gated::SafetensorsFile file(options.model);
  if (file.metadata().count("config") > 0) {
    return gated::load_model<Model>(options.model);
  }
  const auto& shape = file.tensor("head.bias").shape;
  gated::require<gated::FileError>(shape.size() == 1, file.name(), ": head.bias has ", shape.size(),
                                   " dimensions, expected 1: a number for each class.");
  const auto classes = gated::text(shape[0]);
  Model model(gated::timm_config("{\"entry\": \"" + options.preset + "\", \"num_classes\": " + classes + "}"));
  gated::load_parameters(model, file, gated::timm_names());
  return model;
}

Model random_model(const std::string& preset) {
  gated::Random random(1);
  return Model(gated::timm_config("{\"entry\": \"" + preset + "\"}"), random);
}

/// The name of each class; empty without a file.
std::vector<std::string> read_labels(const std::filesystem::path& path, Index classes) {
  std::vector<std::string> labels;
  if (!path.empty()) {
    std::ifstream file(path);
    gated::require<gated::FileError>(file.good(), path.string(), ": cannot be opened.");
    for (std::string line; std::getline(file, line);) {
      labels.push_back(line.substr(0, line.find_last_not_of("\r") + 1));
    }
    gated::require<gated::FileError>(static_cast<Index>(labels.size()) == classes, path.string(), ": ", labels.size(),
                                     " lines, expected one for each of the ", classes, " classes.");
  }
  return labels;
}

void print_top(const Matrix<float>& probabilities, Index top, const std::vector<std::string>& labels) {
  std::vector<Index> order(static_cast<std::size_t>(probabilities.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto last = order.begin() + std::min(top, probabilities.cols());
  std::partial_sort(order.begin(), last, order.end(),
                    [&](Index a, Index b) { return probabilities(0, a) > probabilities(0, b); });
  for (const Index label : std::span(order.begin(), last)) {
    const std::string name = labels.empty() ? gated::text("class ", label) : labels[static_cast<std::size_t>(label)];
    std::printf("  %6.2f %%  %s\n", 100 * static_cast<double>(probabilities(0, label)), name.c_str());
  }
}

/// Multiplications and additions that the products of one image take.
double flops_an_image(const Model& model) {
  const auto& trunk = model.config.trunk;
  const double tokens = static_cast<double>(trunk.length), hidden = static_cast<double>(trunk.hidden);
  const double channels = static_cast<double>(trunk.channels), pixels = static_cast<double>(model.patch_embedding.pixels());
  const double block = tokens * (1.5 * hidden * channels + tokens * hidden / 2);
  return 2 * (pixels * channels + static_cast<double>(trunk.depth) * block + channels * static_cast<double>(model.out()));
}

int run(const photos::Options& options) {
  const Model model = options.random ? random_model(options.preset) : open_model(options);
  const auto& config = model.config;
  gated::require<gated::FileError>(config.classes > 0 && config.readout != gated::Readout::tokens,
                                   "--model: this one gives features, not one class an image.");
  const auto labels = read_labels(options.labels, model.out());
  std::printf("%s: %td blocks, %td parameters, %td x %td pixels, %td classes\n",
              options.random ? (options.preset + ", random weights").c_str() : options.model.filename().string().c_str(),
              config.trunk.depth, gated::parameter_count(model), config.image.height, config.image.width, model.out());

  const auto prepared = gated::prepare(model);
  Workspace<float> workspace(gated::Threads{options.threads});
  workspace.use(prepared);
  auto prepared_like = config;
  prepared_like.crop_share = options.crop.value_or(config.crop_share);
  gated::ImageInput<float> prepare(prepared_like);
  Matrix<float> input = Matrix<float>::Zero(1, model.in());
  for (const auto& path : options.pictures) {
    const gated::Image picture = gated::read_image(path);
    prepare(picture, input);
    Matrix<float> probabilities = model.forward(input, workspace);
    gated::softmax<float>(probabilities, false, workspace);
    std::printf("\n%s: %td x %td pixels\n", path.filename().string().c_str(), picture.width, picture.height);
    print_top(probabilities, options.top, labels);
  }

  Matrix<float> logits(1, model.out());
  const double ms = examples::median_ms([&] { model.forward(input, logits, workspace); });
  std::printf("\n%.3f ms an image, %.1f GFLOP/s, %d thread%s\n", ms, flops_an_image(model) / ms / 1e6, options.threads,
              options.threads > 1 ? "s" : "");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "classify_image", photos::usage, [&] { return photos::parse_options(count, arguments); }, run);
}
