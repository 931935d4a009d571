#pragma once

#include "gated/io/json_writer.hpp"
#include "gated/io/labels.hpp"

namespace gated {

GATED_INLINE std::string labels_text(const std::vector<std::string>& labels) {
  detail::JsonWriter json;
  json.begin_array();
  for (const std::string& label : labels) {
    json.string(label);
  }
  json.end_array();
  return json.finish<ArgumentError>("labels_text");
}

GATED_INLINE std::vector<std::string> labels_of(const SafetensorsFile& file) {
  const std::string where = file.name() + ": labels";
  const auto read = [&](const detail::Json& list) {
    require<FileError>(list.is_array(), where, " are not a list.");
    std::vector<std::string> labels;
    for (const detail::Json& label : list.elements()) {
      require<FileError>(label.is_string(), where, ": class ", labels.size(), " has a label that is not a string.");
      labels.push_back(label.text());
    }
    return labels;
  };
  if (const auto found = file.metadata().find("labels"); found != file.metadata().end()) {
    return read(detail::parse_json<FileError>(found->second, where, 2));
  }
  if (const auto config = file.metadata().find("config"); config != file.metadata().end()) {
    const auto json = detail::parse_json<FileError>(config->second, where, 16);
    if (const detail::Json* const names = json.find("label_names")) {
      return read(*names);
    }
  }
  return {};
}

}  // namespace gated
