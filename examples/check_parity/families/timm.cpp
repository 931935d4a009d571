#include "gated/io/timm.hpp"
#include "../families.hpp"
#include "../gradients.hpp"
#include "gated/gated.hpp"
#include "gated/train/gmlp_image_classifier.hpp"

namespace parity {

namespace {

gated::GmlpImageClassifierConfig config_of(const CaseFile& file) {
  // `entry` names a published model; its arguments stand above the class's defaults and below what the case states itself.
  const bool published = file.explicit_arguments().value("entry", nlohmann::json()).is_string();
  return gated::timm_config((published ? file.explicit_arguments() : file.arguments()).dump());
}

template <class T>
Result<T> run(const CaseFile& file) {
  gated::GmlpImageClassifier<T> model(config_of(file));
  const auto names = gated::timm_names();
  file.load(model, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.observe(result.keep("trunk.blocks.0"));
  const auto images = file.matrix<T>("input", 1);
  const bool features = file.call().value("call", nlohmann::json("logits")) == "features";
  result.output = features ? model.features(images, workspace) : model.forward(images, workspace);
  add_gradients<T>(result, file, model, names, [&](auto& tape, auto& input) {
    const gated::Variable pixels = input("input", images);
    return features ? record_features(tape, model, pixels) : record(tape, model, pixels);
  });
  return result;
}

constexpr Family families[] = {{"timm_gmlp", "MlpMixer(SpatialGatingBlock, GatedMlp)", run<float>, run<double>}};

}  // namespace

std::span<const Family> timm_families() { return families; }

}  // namespace parity
