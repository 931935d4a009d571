#include "gated/io/timm.hpp"

#include "../inputs.hpp"

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
  const bool features = file.call().value("call", nlohmann::json("logits")) == "features";
  return run_classifier<T>(file, model, gated::timm_names(), features);
}

constexpr Family families[] = {{"timm_gmlp", "MlpMixer(SpatialGatingBlock, GatedMlp)", run<float>, run<double>}};

}  // namespace

std::span<const Family> timm_families() { return families; }

}  // namespace parity
