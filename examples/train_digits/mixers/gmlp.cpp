#include "../train.hpp"

namespace digits {

namespace gmlp {

using Model = gated::GmlpImageClassifier<float>;

int train_gmlp(const Options& options, const Data& data) { return train<Model>(options, data, data.recipe.described()); }

int train_toeplitz(const Options& options, const Data& data) {
  auto config = data.recipe.described();
  config.trunk.spatial = gated::SpatialForm::toeplitz;
  return train<Model>(options, data, widest<Model>(data, config, [](auto& c, Index width) { c.trunk.hidden = 2 * width; }));
}

constexpr Mixer mixers[] = {{"gmlp", "gating with a dense W over the patches: gMLP", train_gmlp},
                            {"toeplitz", "gating with a Toeplitz W over the patches: gMLP", train_toeplitz}};

}  // namespace gmlp

std::span<const Mixer> gmlp_mixers() { return gmlp::mixers; }

}  // namespace digits
