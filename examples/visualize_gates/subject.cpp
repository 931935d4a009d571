#include "subject.hpp"

#include <cmath>

#include "common/timm_checkpoint.hpp"
#include "gated/io/csv.hpp"
#include "gated/io/model_file.hpp"

namespace gates {

namespace {

using gated::Index, gated::Matrix;
using Classifier = gated::GmlpImageClassifier<float>;
using LanguageModel = gated::GmlpLanguageModel<float>;

template <class Model>
void run(const Model& model, const std::string& source, gated::Workspace<float>& workspace) {
  gated::Random random(1);
  const auto given = source == "random" ? Matrix<float>() : gated::read_csv<float>(source);
  if constexpr (std::same_as<Model, Classifier>) {
    Matrix<float> image(1, model.patch_embedding.pixels());
    if (given.size() == 0) {
      gated::fill_normal(image, 1.0, random);
    } else {
      image = given.row(0);
      gated::scale_pixels<float>(image, model.config);
    }
    model.forward(image, workspace);
  } else {
    const Index length = given.size() == 0 ? model.config.trunk.length : given.cols();
    const auto vocabulary = static_cast<double>(model.config.vocabulary);
    std::vector<Index> tokens;
    for (Index i = 0; i < length; ++i) {
      const double id = given.size() == 0 ? std::floor(random.uniform() * vocabulary) : static_cast<double>(given(0, i));
      gated::require<gated::ArgumentError>(id >= 0 && id < vocabulary && id == std::floor(id), source, ": ", id,
                                           " is not a token id, expected 0 to ", model.config.vocabulary - 1, ".");
      tokens.push_back(static_cast<Index>(id));
    }
    model.forward(tokens, gated::Sequences::single(length), workspace);
  }
}

template <class Model>
Subject look_at(const Model& model, gated::ImageSize grid, const char* kind, const std::optional<std::string>& attention) {
  const gated::GmlpConfig& config = model.config.trunk;
  Subject subject;
  subject.grid = grid;
  const auto size =
      subject.is_text() ? gated::text(grid.width, " tokens") : gated::text(grid.height, " x ", grid.width, " patches");
  subject.description =
      gated::text(config.attention_width > 0 ? "aMLP " : "gMLP ", kind, ", ", config.depth,
                  config.depth == 1 ? " block, " : " blocks, ", size, ", spatial weights ", name_of(config.spatial),
                  config.causal ? ", causal" : "", config.heads > 1 ? gated::text(", ", config.heads, " heads") : "");
  for (const auto& block : model.trunk.blocks) {
    subject.projections.push_back(block.gate.proj);
  }
  if (attention) {
    gated::require<gated::ArgumentError>(config.attention_width > 0,
                                         "--attention: this model has no attention; it is a gMLP. Leave the option out.");
    // The hook sees every layer's output under its path: "trunk.blocks.3.attention.weights.0" is input 0's attention map.
    gated::Workspace<float> workspace;
    workspace.set_hook([&](const std::string& path, gated::ConstView<float> output) {
      if (path.ends_with(".attention.weights.0")) {
        const Index patches = std::min(output.rows(), grid.area());  // skips a class token, which comes first
        subject.attention.push_back(output.bottomRightCorner(patches, patches));
      }
    });
    run(model, *attention, workspace);
  }
  return subject;
}

}  // namespace

Subject open_subject(const Options& options) {
  const gated::SafetensorsFile file(options.checkpoint);
  if (gated::architecture_of(file) == LanguageModel::architecture) {
    const auto model = gated::load_model<LanguageModel>(file);
    return look_at(model, {1, model.config.trunk.length}, "language model", options.attention);
  }
  Subject subject;
  const auto look_at_classifier = [&]<class Model>(const Model& model) {
    if constexpr (std::same_as<Model, Classifier>) {
      subject = look_at(model, model.patch_embedding.grid(), "image classifier", options.attention);
    } else {
      gated::raise<gated::ArgumentError>(file.name(), ": a ", Model::architecture,
                                         " has no gates, expected a gMLP or aMLP. Name one with --preset.");
    }
  };
  if (file.metadata().count("config") > 0) {
    look_at_classifier(gated::load_model<Classifier>(file));
  } else {
    examples::with_timm_checkpoint(file, options.timm, look_at_classifier);
  }
  return subject;
}

}  // namespace gates
