#pragma once

#include <string>
#include <vector>

#include "gated/io/safetensors.hpp"
#include "gated/io/strict_json.hpp"

/// @file
/// The names of a classifier's classes, in the file of the model.

namespace gated {

/// `labels` as a text for the metadata of a file, from which labels_of() reads them:
///
///     save_model(model, "birds.safetensors", {{"labels", labels_text({"robin", "wren"})}});
///
/// Errors: ArgumentError for a label that is not UTF-8.
inline std::string labels_text(const std::vector<std::string>& labels) {
  return detail::dump_json<ArgumentError>(detail::Json(labels), "labels_text");
}

/// The names of the classes that `file` gives, in their order: its metadata's "labels", or the label_names of a configuration
/// that timm wrote. Empty if it gives none.
/// Errors: FileError for labels that are no list of texts.
inline std::vector<std::string> labels_of(const SafetensorsFile& file) {
  const std::string where = file.name() + ": labels";
  const auto read = [&](const detail::Json& list) {
    require<FileError>(list.is_array(), where, " are no list.");
    std::vector<std::string> labels;
    for (const detail::Json& label : list) {
      require<FileError>(label.is_string(), where, ": class ", labels.size(), " has a label that is no text.");
      labels.push_back(label.get_ref<const std::string&>());
    }
    return labels;
  };
  if (const auto found = file.metadata().find("labels"); found != file.metadata().end()) {
    return read(detail::parse_json<FileError>(found->second, where, 2));
  }
  if (const auto config = file.metadata().find("config"); config != file.metadata().end()) {
    const auto json = detail::parse_json<FileError>(config->second, where, 16);
    if (const auto names = json.is_object() ? json.find("label_names") : json.end(); names != json.end()) {
      return read(*names);
    }
  }
  return {};
}

}  // namespace gated
