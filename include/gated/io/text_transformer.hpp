#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "gated/io/mapped_file.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/text_config.hpp"
#include "gated/io/text_names.hpp"

/// @file
/// Opens published text transformers.

namespace gated {

/// The tensors of a published model, from `folder`/model.safetensors or, if there is a model.safetensors.index.json, from all
/// files that it lists.
/// Errors: FileError for a file that is missing or malformed, and for an index that lists a file outside of the folder.
inline SafetensorsFile open_safetensors(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  std::error_code error;
  if (!std::filesystem::exists(index, error)) {
    return SafetensorsFile(folder / "model.safetensors");
  }
  const MappedFile text_file(index);
  const auto json = detail::parse_json<FileError>(text_of(text_file), index.string(), 16);
  const detail::Json* const map = json.is_object() ? json.find("weight_map") : nullptr;
  require<FileError>(map != nullptr && map->is_object(), index.string(), ": there is no object \"weight_map\".");
  std::vector<std::string> names;
  for (const auto& [tensor, file] : map->entries()) {
    require<FileError>(file.is_string() && std::filesystem::path(file.text()).filename() == file.text(), index.string(), ": ",
                       printable(tensor), " is not in a file of this folder.");
    names.push_back(file.text());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<SafetensorsFile> files;
  for (const std::string& name : names) {
    files.emplace_back(folder / name);
  }
  return SafetensorsFile::join(files, index.string());
}

namespace detail {

/// The pooling in the configuration of sentence-transformers' Pooling module: `pooling_mode` or, in older files, a flag per
/// mode; the mean if the file states none, as in sentence-transformers.
/// Errors: ArgumentError, naming the field, unless it is the first token or the mean.
inline TextPooling pooling_in(const std::filesystem::path& path) {
  const char* const why = "but only the first token and the mean are supported.";
  const MappedFile text_file(path);
  const ConfigFields f(text_of(text_file), path.string());
  if (const Json* mode = f.find_set("pooling_mode")) {
    if (mode->is_array() && mode->elements().size() == 1) {
      mode = &mode->elements().front();
    }
    require<ArgumentError>(mode->is("cls") || mode->is("mean"), path.string(), ": pooling_mode = ", shown_json(*mode), ", ",
                           why);
    return mode->is("mean") ? TextPooling::mean : TextPooling::first;
  }
  for (const char* const other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                  "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
    f.expect(other, {false, nullptr}, why);
  }
  const bool first = f.get("pooling_mode_cls_token", false), mean = f.get("pooling_mode_mean_tokens", !first);
  require<ArgumentError>(first != mean, path.string(), ": pooling_mode_cls_token and pooling_mode_mean_tokens are both ",
                         first ? "true" : "false", ", expected one of them to be true.");
  return mean ? TextPooling::mean : TextPooling::first;
}

/// Reads how a sentence-transformers model pools its tokens into an embedding, from the files beside its `config.json`.
/// Errors: ArgumentError for a module other than Transformer, Pooling and Normalize; those of pooling_in().
inline void read_pooling(const std::filesystem::path& folder, TextTransformerConfig& config) {
  const std::filesystem::path pooling = folder / "1_Pooling" / "config.json", modules = folder / "modules.json";
  std::error_code error;
  if (!std::filesystem::exists(modules, error)) {
    if (std::filesystem::exists(pooling, error)) {
      config.pooling = pooling_in(pooling);
    }
    return;
  }
  const MappedFile text_file(modules);
  const Json list = parse_json<ArgumentError>(text_of(text_file), modules.string(), 16);
  require<ArgumentError>(list.is_array(), modules.string(), ": expected a JSON array.");
  for (const Json& module : list.elements()) {
    const Json* const type = module.is_object() ? module.find("type") : nullptr;
    require<ArgumentError>(type != nullptr && type->is_string(), modules.string(), ": a module has no type.");
    const std::string name = type->text().substr(type->text().rfind('.') + 1);  // its package differs between versions
    require<ArgumentError>(name == "Transformer" || name == "Pooling" || name == "Normalize", modules.string(),
                           ": type = ", shown_json(*type), ", but only Transformer, Pooling and Normalize are supported.");
    if (name == "Pooling") {
      const Json* const path = module.find("path");
      config.pooling = pooling_in(path != nullptr && path->is_string() ? folder / path->text() / "config.json" : pooling);
    }
    config.unit_length = config.unit_length || name == "Normalize";
  }
}

}  // namespace detail

/// Loads the text transformer in a folder with `config.json` and its weights, as published on Hugging Face.
///
///     const auto model = load_text_transformer<float>("SmolLM2-135M");
///
/// The model's pooled() computes sentence-transformers' embeddings if the folder configures their pooling. The model reads
/// token ids; it has no tokenizer.
/// Errors: those of text_transformer_config(), open_safetensors() and load_parameters(). Cost: one pass over the files.
template <class T>
TextTransformer<T> load_text_transformer(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  const MappedFile text_file(path);
  TextTransformerConfig config = text_transformer_config(text_of(text_file), path.string());
  detail::read_pooling(folder, config);
  const SafetensorsFile file = open_safetensors(folder);
  TextTransformer<T> model = [&] {
    const ParameterBudget budget = budget_of(file);
    return TextTransformer<T>(config);
  }();
  const bool is_encoder = !config.trunk.block.token_mixer.causal;
  load_parameters(model, file, is_encoder ? modernbert_names() : llama_names(config));
  return model;
}

}  // namespace gated
