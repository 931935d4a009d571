#include "gated/io/lucidrains.hpp"

#include "../front_ends.hpp"
#include "../inputs.hpp"

namespace parity {

namespace keyword_mlp {

gated::GmlpImageClassifierConfig config_of(const CaseFile& file) {
  const auto& a = file.arguments();
  auto config = gated::kw_mlp(argument<Index>(a, "num_classes", 35));
  config.image_channels = argument<Index>(a, "channels", 1);
  config.image = a.contains("input_res") ? image_size(a, "input_res") : gated::ImageSize{40, 98};
  config.patch = a.contains("patch_res") ? image_size(a, "patch_res") : gated::ImageSize{40, 1};
  config.trunk.channels = argument<Index>(a, "dim", 64);
  config.trunk.hidden = argument<Index>(a, "ff_mult", 4) * config.trunk.channels;
  config.trunk.depth = argument<Index>(a, "depth", 12);
  config.trunk.norm_position = argument(a, "pre_norm", false) ? gated::NormPosition::pre : gated::NormPosition::res_post;
  return config;
}

template <class T>
Result<T> run(const CaseFile& file) {
  gated::GmlpImageClassifier<T> model(config_of(file));
  return run_classifier<T>(file, model, gated::kw_mlp_names());
}

/// Computes logits from one second of sound: MFCCs, then the classifier.
template <class T>
Result<T> run_audio(const CaseFile& file) {
  gated::GmlpImageClassifier<T> model(config_of(file));
  file.load(model, gated::kw_mlp_names());
  const Matrix<T> image = gated::mfcc<T>(sound_of<T>(file), mfcc_of(file)).transpose();  // one column per frame
  gated::Workspace<T> workspace;
  Result<T> result;
  result.output = model.forward(Eigen::Map<const Matrix<T>>(image.data(), 1, image.size()), workspace);
  return result;
}

constexpr Family families[] = {{"kwmlp", "KW_MLP", run<float>, run<double>},
                               {"kwmlp", "audio_to_logits", run_audio<float>, run_audio<double>}};

}  // namespace keyword_mlp

std::span<const Family> keyword_mlp_families() { return keyword_mlp::families; }

}  // namespace parity
