#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "gated/io/mapped_file.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/published_text.hpp"
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
  require<FileError>(!names.empty(), index.string(), ": \"weight_map\" lists no tensors.");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<SafetensorsFile> files;
  for (const std::string& name : names) {
    files.emplace_back(folder / name);
  }
  return SafetensorsFile::join(files, index.string());
}

namespace detail {

/// The JSON file at `path` in `folder`.
inline JsonFile json_in(const std::filesystem::path& folder, const std::string& path) {
  const std::filesystem::path file = folder / path;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return {file.string(), std::nullopt};
  }
  const MappedFile mapped(file);
  return {file.string(), std::string(text_of(mapped))};
}

}  // namespace detail

/// Loads the text transformer in a folder with `config.json` and its weights, as published on Hugging Face.
///
///     const auto model = load_text_transformer<float>("SmolLM2-135M");
///
/// The model's pooled() computes sentence-transformers' embeddings if the folder configures their pooling. The model reads
/// token ids; it has no tokenizer.
/// examples/convert packs such a folder into one file for load_model(), load_mapped() and load_prepared().
/// Errors: FileError for a missing file; those of text_transformer_config(), open_safetensors() and load_parameters().
/// Cost: one pass over the files.
template <class T>
TextTransformer<T> load_text_transformer(const std::filesystem::path& folder) {
  const TextTransformerConfig config =
      detail::published_text_config([&](const std::string& path) { return detail::json_in(folder, path); });
  const SafetensorsFile file = open_safetensors(folder);
  TextTransformer<T> model = [&] {
    const ParameterBudget budget = budget_of(file);
    return TextTransformer<T>(config);
  }();
  load_parameters(model, file, text_names(config));
  return model;
}

}  // namespace gated
