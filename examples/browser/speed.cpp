// Runs gMLP-S/16 with random weights, for worker.js to time.

#include <optional>

#include "gated/models/prepare.hpp"
#include "gated/models/presets.hpp"
#include "gated/ops/int8_products.hpp"
#include "page.hpp"

namespace {

using Model = gated::GmlpImageClassifier<float>;

std::optional<Model> model;
std::optional<gated::PreparedWeights<float>> weights;
gated::Workspace<float> workspace;
gated::Matrix<float> image;

}  // namespace

/// Builds the model with random weights, and a random image.
PAGE_EXPORT(int, build)() {
  return page::respond([] {
    gated::Random random(1);
    model.emplace(gated::gmlp_s16_224(), random);
    image.resize(1, model->patch_embedding.pixels());
    gated::fill_normal(image, 1.0, random);
  });
}

/// Packs the weights, in int8 or in float.
PAGE_EXPORT(int, pack)(int in_int8) {
  return page::respond([=] {
    weights.emplace(
        gated::prepare(page::expect_open(model), in_int8 != 0 ? gated::WeightFormat::int8_rows : gated::WeightFormat::float32));
    workspace.use(*weights);
    workspace.use(in_int8 != 0 ? gated::int8_products() : nullptr);
  });
}

/// Classifies the image.
PAGE_EXPORT(int, classify)() {
  return page::respond([] { page::expect_open(model).forward(image, workspace); });
}
