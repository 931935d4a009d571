#include "byte_model.hpp"

#include <string>

#include "gated/io/model_file.hpp"

namespace text {

namespace {

using gated::FileError, gated::Random, gated::require;

bool is_causal(const GmlpModel& model) { return model.config.trunk.causal; }
bool is_causal(const FlashModel& model) { return model.config.trunk.layer.causal; }
bool has_logits(const GmlpModel&) { return true; }
bool has_logits(const FlashModel& model) { return model.config.with_head; }

template <class Model>
ByteModel open_as(const std::filesystem::path& checkpoint) {
  auto model = gated::load_model<Model>(checkpoint);
  const std::string name = checkpoint.string();
  require<FileError>(model.config.vocabulary == 256, name, ": the model has a vocabulary of ", model.config.vocabulary,
                     ", expected 256, the bytes.");
  require<FileError>(has_logits(model), name, ": the model has no head, so it predicts nothing; expected with_head = true.");
  require<FileError>(is_causal(model), name,
                     ": the model is not causal, so it cannot continue a text; expected causal = true.");
  return model;
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
  gated::raise<FileError>(file.name(), ": the file ",
                          architecture.empty() ? "does not say in its metadata what it holds"
                                               : "holds a \"" + gated::printable(architecture) + "\"",
                          ", expected \"", GmlpModel::architecture, "\" or \"", FlashModel::architecture,
                          "\", as save_model() writes them.");
}

ByteModel random_model(std::string_view kind) {
  Random random(1);
  if (kind == "gmlp") {
    return GmlpModel({.vocabulary = 256, .trunk = {.length = 512, .channels = 256, .hidden = 1024, .depth = 6, .causal = true}},
                     random);
  }
  return FlashModel({.vocabulary = 256, .trunk = {.depth = 6, .layer = gated::flash_presets::lucidrains(256)}}, random);
}

void save(const ByteModel& model, const std::filesystem::path& path) {
  std::visit([&](const auto& m) { gated::save_model(m, path); }, model);
}

}  // namespace text
