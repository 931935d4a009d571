#include "gated/io/timm.hpp"
#include "gated/io/timm_config.hpp"

#include "../inputs.hpp"

namespace parity {

namespace timm {

template <class Config>
Config config_of(const CaseFile& file) {
  // Defaults come from the published model `entry`, if any, otherwise from the class. Explicit arguments override them.
  const bool published = file.explicit_arguments().value("entry", nlohmann::json()).is_string();
  return gated::timm_config<Config>((published ? file.explicit_arguments() : file.arguments()).dump());
}

template <class Config, class T>
Result<T> run(const CaseFile& file) {
  const auto config = config_of<Config>(file);
  gated::ImageClassifierFor<Config, T> model(config);
  const bool features = file.call().value("call", nlohmann::json("logits")) == "features";
  return run_classifier<T>(file, model, gated::timm_names_for(config), features);
}

template <class Config>
constexpr Family family(std::string_view name, std::string_view class_name) {
  return {name, class_name, run<Config, float>, run<Config, double>};
}

constexpr Family families[] = {family<gated::GmlpImageClassifierConfig>("timm_gmlp", "MlpMixer(SpatialGatingBlock, GatedMlp)"),
                               family<gated::MixerImageClassifierConfig>("timm_mixer", "MlpMixer(MixerBlock, Mlp)"),
                               family<gated::GmixerImageClassifierConfig>("timm_mixer", "MlpMixer(MixerBlock, GluMlp)"),
                               family<gated::ResmlpImageClassifierConfig>("timm_mixer", "MlpMixer(ResBlock, Mlp, Affine)")};

}  // namespace timm

std::span<const Family> timm_families() { return timm::families; }

}  // namespace parity
