#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gated/core/function_ref.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/io/text_config.hpp"

/// @file
/// The JSON files of a published text transformer, in a folder or packed into a safetensors file: `config.json`, and how
/// sentence-transformers pools.

namespace gated {

namespace detail {

/// A JSON file of a published model: its name in error messages, and its text unless the file is missing.
struct JsonFile {
  std::string where;
  std::optional<std::string> json;

  /// The text of a required file.
  const std::string& text() const {
    require<FileError>(json.has_value(), where, ": there is no such file.");
    return *json;
  }
};

/// Finds a JSON file of a published model by its path in the model's folder, such as "1_Pooling/config.json".
using JsonFiles = FunctionRef<JsonFile(const std::string& path)>;

/// The pooling in the configuration of sentence-transformers' Pooling module: `pooling_mode` or, in older files, a flag per
/// mode; the mean if the file states none, as in sentence-transformers.
/// Errors: ArgumentError, naming the field, unless it is the first token or the mean.
inline TextPooling pooling_in(const JsonFile& file) {
  const char* const why = "but only the first token and the mean are supported.";
  const ConfigFields f(file.text(), file.where);
  if (const Json* mode = f.find_set("pooling_mode")) {
    if (mode->is_array() && mode->elements().size() == 1) {
      mode = &mode->elements().front();
    }
    require<ArgumentError>(mode->is("cls") || mode->is("mean"), file.where, ": pooling_mode = ", shown_json(*mode), ", ", why);
    return mode->is("mean") ? TextPooling::mean : TextPooling::first;
  }
  for (const char* const other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                  "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
    f.expect(other, {false, nullptr}, why);
  }
  const bool first = f.get("pooling_mode_cls_token", false), mean = f.get("pooling_mode_mean_tokens", true);
  require<ArgumentError>(first != mean, file.where, ": pooling_mode_cls_token and pooling_mode_mean_tokens are both ",
                         first ? "true" : "false", ", expected one of them to be true.");
  return mean ? TextPooling::mean : TextPooling::first;
}

/// The path of the configuration of a `module` in modules.json.
/// Errors: ArgumentError for a path that leaves the model's folder.
inline std::string config_of_module(const std::string& where, const Json& module) {
  const Json* const stated = module.find("path");
  const std::string folder = stated == nullptr || !stated->is_string() ? "1_Pooling" : stated->text();
  const std::filesystem::path path = (std::filesystem::path(folder) / "config.json").lexically_normal();
  require<ArgumentError>(path.is_relative() && *path.begin() != "..", where, ": path = \"", printable(folder),
                         "\", expected a folder of the model.");
  return path.generic_string();
}

/// Reads how a sentence-transformers model pools its tokens into an embedding, from the files beside its `config.json`. A
/// classifier keeps its own pooling.
/// Errors: ArgumentError for a module other than Transformer, Pooling and Normalize; those of pooling_in().
inline void read_pooling(const JsonFiles& files, TextTransformerConfig& config) {
  if (config.classes > 0) {
    return;
  }
  const JsonFile modules = files("modules.json");
  if (!modules.json) {
    const JsonFile pooling = files("1_Pooling/config.json");
    config.pooling = pooling.json ? pooling_in(pooling) : config.pooling;
    return;
  }
  const Json list = parse_json<ArgumentError>(*modules.json, modules.where, 16);
  require<ArgumentError>(list.is_array(), modules.where, ": expected a JSON array.");
  for (const Json& module : list.elements()) {
    const Json* const type = module.is_object() ? module.find("type") : nullptr;
    require<ArgumentError>(type != nullptr && type->is_string(), modules.where, ": a module has no type.");
    const std::string name = type->text().substr(type->text().rfind('.') + 1);  // its package differs between versions
    require<ArgumentError>(name == "Transformer" || name == "Pooling" || name == "Normalize", modules.where,
                           ": type = ", shown_json(*type), ", but only Transformer, Pooling and Normalize are supported.");
    if (name == "Pooling") {
      config.pooling = pooling_in(files(config_of_module(modules.where, module)));
    }
    config.unit_length = config.unit_length || name == "Normalize";
  }
}

/// The configuration in the JSON files of a published model.
/// Errors: FileError for a missing file; those of text_transformer_config() and read_pooling().
inline TextTransformerConfig published_text_config(const JsonFiles& files) {
  const JsonFile file = files("config.json");
  TextTransformerConfig config = text_transformer_config(file.text(), file.where);
  read_pooling(files, config);
  return config;
}

/// The JSON files that examples/convert packs into the metadata of a safetensors file, by their paths.
inline JsonFile packed_json(const SafetensorsFile& file, const std::string& path) {
  const auto found = file.metadata().find(path);
  return {gated::text(file.name(), ": ", printable(path)),
          found == file.metadata().end() ? std::nullopt : std::optional(found->second)};
}

}  // namespace detail

}  // namespace gated
