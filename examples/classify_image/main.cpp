// classify_image: classifies photographs with one of timm's gMLP or Mixer models. See README.md.

#include <cstdio>
#include <sstream>

#include "common/run_main.hpp"
#include "common/stopwatch.hpp"
#include "common/timm_checkpoint.hpp"
#include "gated/gated.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/image_reader.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/top_k.hpp"
#include "options.hpp"

namespace {

using gated::Index, gated::Matrix, gated::Workspace;

/// If the checkpoint is a `Model` written by save_model(), calls `f(model)` and returns true.
template <class Model, class F>
bool offer_saved(const gated::SafetensorsFile& file, const F& f) {
  const auto architecture = file.metadata().find("architecture");
  const bool fits = architecture != file.metadata().end() && architecture->second == Model::architecture;
  if (fits) {
    f(gated::load_model<Model>(file));
  }
  return fits;
}

/// Calls `f(model)` with the model in a checkpoint. The configuration is in the checkpoint's metadata or, for timm's own files,
/// comes from config.json or the preset.
template <class F>
void with_model(const photos::Options& options, const F& f) {
  if (options.random) {
    return examples::with_timm_config(options.timm, "", [&](const auto& config) {
      gated::Random random(1);
      f(gated::ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float>(config, random));
    });
  }
  const gated::SafetensorsFile file(options.model);
  if (offer_saved<gated::MixerImageClassifier<float>>(file, f) || offer_saved<gated::GmixerImageClassifier<float>>(file, f) ||
      offer_saved<gated::ResmlpImageClassifier<float>>(file, f)) {
    return;
  }
  if (file.metadata().count("config") > 0) {
    return f(gated::load_model<gated::GmlpImageClassifier<float>>(file));
  }
  examples::with_timm_checkpoint(file, options.timm, f);
}

/// The class names from `path` or, if `path` is empty, from the model's file; an empty vector if that file has none.
std::vector<std::string> read_labels(const std::filesystem::path& path, const std::filesystem::path& model, Index classes) {
  std::vector<std::string> labels =
      path.empty() && !model.empty() ? gated::labels_of(gated::SafetensorsFile(model)) : std::vector<std::string>();
  gated::require<gated::FileError>(labels.empty() || static_cast<Index>(labels.size()) == classes, model.string(), ": ",
                                   labels.size(), " labels, expected ", classes, ", one per class.");
  if (!path.empty()) {
    std::istringstream file(examples::read_lines(path));
    for (std::string line; std::getline(file, line);) {
      labels.push_back(line);
    }
    gated::require<gated::FileError>(static_cast<Index>(labels.size()) == classes, path.string(), ": ", labels.size(),
                                     " lines, expected ", classes, ", one per class.");
  }
  return labels;
}

void print_top(const Matrix<float>& probabilities, Index top, const std::vector<std::string>& labels) {
  for (const auto& [label, probability] : gated::top_k<float>(probabilities, top)) {
    const std::string name = labels.empty() ? gated::text("class ", label) : labels[static_cast<std::size_t>(label)];
    std::printf("  %6.2f %%  %s\n", 100 * static_cast<double>(probability), name.c_str());
  }
}

/// The number of multiplications and additions in the matrix products for one image. A spatial weight is used once per
/// channel, a weight of the head once, and any other weight once per token.
template <class Model>
double flops_an_image(const Model& model) {
  const auto channels = static_cast<double>(model.trunk.in()), tokens = static_cast<double>(model.tokens_per_image());
  double flops = 2 * channels * static_cast<double>(model.out());
  gated::for_each_parameter(
      [&](const gated::ParameterInfo& info, auto values) {
        const bool spatial = info.role == gated::Role::spatial && info.shape.rank() > 2;
        const bool weight = info.role == gated::Role::weight && info.path() != "head.weight";
        double meets = weight ? tokens : 0;
        if constexpr (std::is_same_v<Model, gated::GmlpImageClassifier<float>>) {
          meets = spatial ? static_cast<double>(model.config.trunk.gating().out()) : meets;
        } else {
          meets = spatial ? channels : meets;
        }
        flops += 2 * meets * static_cast<double>(values.size());
      },
      model);
  return flops;
}

template <class Model>
void show(const photos::Options& options, const Model& model) {
  const auto& config = model.config;
  gated::require<gated::FileError>(config.classes > 0 && config.pooling != gated::Pooling::tokens,
                                   "--model: this model outputs features. Use a model with an image classification head.");
  const auto labels = read_labels(options.labels, options.model, model.out());
  const std::string architecture = options.timm.config.empty() ? options.timm.preset : options.timm.config.filename().string();
  const std::string origin = options.random ? architecture + ", random weights" : options.model.filename().string();
  std::printf("%s: %td blocks, %td parameters, %td x %td pixels, %td classes\n", origin.c_str(), config.trunk.depth,
              gated::parameter_count(model), config.image.height, config.image.width, model.out());

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
    gated::softmax<float>(probabilities, workspace);
    std::printf("\n%s: %td x %td pixels\n", path.filename().string().c_str(), picture.width, picture.height);
    print_top(probabilities, options.top, labels);
  }

  Matrix<float> logits(1, model.out());
  const double ms = examples::median_ms([&] { model.forward(input, logits, workspace); });
  std::printf("\n%.3f ms per image, %.1f GFLOP/s, %d thread%s\n", ms, flops_an_image(model) / ms / 1e6, options.threads,
              options.threads > 1 ? "s" : "");
}

int run(const photos::Options& options) {
  with_model(options, [&](const auto& model) { show(options, model); });
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "classify_image", [&] { return photos::parse_options(count, arguments); }, run);
}
