#pragma once

#include <algorithm>

#include "gated/io/json.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/text_names.hpp"

namespace gated {

GATED_INLINE std::string architecture_of(const SafetensorsFile& file) {
  if (const auto stated = file.metadata().find("architecture"); stated != file.metadata().end()) {
    return stated->second;
  }
  const auto config = file.metadata().find("config");
  if (config == file.metadata().end()) {
    return {};
  }
  const auto json = detail::parse_json<FileError>(config->second, file.name() + ": configuration", 16);
  const detail::Json* const named = json.find("architecture");
  return named != nullptr && named->is_string() ? named->text() : "";
}

namespace detail {

GATED_INLINE void refuse_architecture(const SafetensorsFile& file, std::string_view found, std::string_view expected) {
  const auto training_of = [](std::string_view model) { return text("gated.Training<", model, ">"); };
  const char* hint = "";
  if (found == training_of(expected)) {
    hint =
        " It is a training run of that model: load_model<Training<Model>>() opens it, and save_model(training.result(), path) "
        "writes the model alone.";
  } else if (expected == training_of(found)) {
    hint = " It is the model alone: start a training run from it with Training(config, load_model<Model>(path), random).";
  }
  raise<FileError>(file.name(), ": the file ",
                   found.empty() ? "names no architecture in its metadata" : text("holds a \"", printable(found), "\""),
                   ", expected the architecture \"", expected, "\". save_model() writes it to the metadata.", hint);
}

GATED_INLINE NameMap text_names_in(const SafetensorsFile& file, const TextTransformerConfig& config) {
  const Origin* const origin = origin_of(file);
  if (origin == nullptr) {
    return {};
  }
  if (const SelfAttentionConfig& c = config.trunk.block.token_mixer; c.gate != AttentionGate::none) {
    // The map lists the rows of each head, whose number is untrusted.
    const TensorEntry* const keys = tensor_ending(file, "k_proj.weight");
    const Index rows =
        keys == nullptr || keys->shape.empty() ? 0 : std::min(keys->shape[0], static_cast<Index>(keys->count()));
    require<ArgumentError>(c.key_heads() <= rows, file.name(), ": the configuration has ", c.key_heads(),
                           " key heads, but the keys in the file have ", rows, " rows.");
  }
  NameMap names = text_names(config);
  names.prefix = names_of(file, *origin).prefix;
  return names;
}

GATED_INLINE bool is_packed(const SafetensorsFile& file) {
  return !file.metadata().contains("config") && file.metadata().contains("config.json");
}

}  // namespace detail

GATED_INLINE ParameterBudget budget_of(const SafetensorsFile& file) {
  Count held = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    held += static_cast<Index>(tensor.count());
  }
  return {2 * held + (Index{1} << 20), text(file.name(), ": the configuration needs far more values than the ",
                                            held.value(), " in the file. The model was not built.")};
}

}  // namespace gated
