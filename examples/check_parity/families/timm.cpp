#include "gated/io/timm.hpp"
#include "../families.hpp"
#include "gated/gated.hpp"

namespace parity {

namespace {

using gated::Matrix;

/// What a run leaves: the output, and what left the first block.
template <class T>
struct Result {
  Matrix<T> output, block0_output;
};

gated::GmlpImageClassifierConfig config_of(const CaseFile& file) {
  // `entry` names a published model; its arguments stand above the class's defaults and below what the case states itself.
  const bool published = file.explicit_arguments().value("entry", nlohmann::json()).is_string();
  return gated::timm_config((published ? file.explicit_arguments() : file.arguments()).dump());
}

template <class T>
Result<T> run(const CaseFile& file) {
  gated::GmlpImageClassifier<T> model(config_of(file));
  file.load(model, gated::timm_names());

  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.observe([&](const std::string& path, gated::ConstView<T> output) {
    if (path == "trunk.blocks.0") {
      result.block0_output = output;
    }
  });
  const Matrix<T> images = file.matrix<T>("input", 1);
  const bool features = file.call().value("call", nlohmann::json("logits")) == "features";
  result.output = features ? model.features(images, workspace) : model.forward(images, workspace);
  return result;
}

}  // namespace

std::vector<Outcome> run_timm_gmlp(const CaseFile& file) {
  auto in_float = run<float>(file);
  auto in_double = run<double>(file);
  std::vector<Outcome> outcomes{{"output", std::move(in_float.output), std::move(in_double.output)}};
  if (file.has("block0_output")) {
    outcomes.push_back({"block0_output", std::move(in_float.block0_output), std::move(in_double.block0_output)});
  }
  return outcomes;
}

}  // namespace parity
