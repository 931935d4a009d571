#include "byte_model.hpp"

#include <string>

namespace text {

namespace {

using gated::FileError, gated::Random, gated::require;

template <class Model>
ByteModel open_as(const std::filesystem::path& checkpoint) {
  auto opened = gated::load_prepared<Model>(checkpoint);
  const Model& model = opened.model;
  const std::string name = checkpoint.string();
  require<FileError>(model.is_causal(), name,
                     ": the model is not causal, so it cannot continue a text; expected causal = true.");
  require<FileError>(model.config.vocabulary == 256, name, ": the model has a vocabulary of ", model.config.vocabulary,
                     ", expected 256, one token per byte.");
  require<FileError>(model.head.has_value(), name,
                     ": the model has no head, so it predicts nothing; expected head.form = tied "
                     "or untied.");
  return opened;
}

template <class Model>
ByteModel prepared(Model model) {
  auto weights = gated::prepare(model);
  return gated::PreparedModel<Model>{std::move(model), std::move(weights)};
}

}  // namespace

ByteModel open_model(const std::filesystem::path& checkpoint) {
  const gated::SafetensorsFile file(checkpoint);
  const auto found = file.metadata().find("architecture");
  const std::string architecture = found != file.metadata().end() ? found->second : "";
  if (architecture == GmlpModel::architecture) {
    return open_as<GmlpModel>(checkpoint);
  }
  if (architecture == FlashModel::architecture) {
    return open_as<FlashModel>(checkpoint);
  }
  if (architecture == GauModel::architecture) {
    return open_as<GauModel>(checkpoint);
  }
  if (architecture == TransformerModel::architecture) {
    return open_as<TransformerModel>(checkpoint);
  }
  gated::raise<FileError>(
      file.name(), ": the file ",
      architecture.empty() ? "has no architecture in its metadata" : "holds a \"" + gated::printable(architecture) + "\"",
      ", expected \"", GmlpModel::architecture, "\", \"", FlashModel::architecture, "\", \"", GauModel::architecture,
      "\" or \"", TransformerModel::architecture, "\", as written by save_model().");
}

ByteModel random_model(std::string_view kind) {
  Random random(1);
  if (kind == "gmlp") {
    return prepared(GmlpModel(
        {.vocabulary = 256, .trunk = {.length = 512, .channels = 256, .hidden = 1024, .depth = 6, .causal = true}}, random));
  }
  if (kind == "toeplitz") {
    return prepared(GmlpModel({.vocabulary = 256,
                               .trunk = {.length = 65'536 + 1,
                                         .channels = 128,
                                         .hidden = 512,
                                         .depth = 4,
                                         .spatial = gated::SpatialForm::toeplitz,
                                         .causal = true}},
                              random));
  }
  return prepared(FlashModel({.vocabulary = 256,
                              .position = gated::PositionForm::sinusoid,
                              .trunk = {.depth = 6, .block = gated::flash_presets::lucidrains({.channels = 256})}},
                             random));
}

void save(const ByteModel& model, const std::filesystem::path& path) {
  std::visit([&](const auto& m) { gated::save_model(m.model, path); }, model);
}

}  // namespace text
