#pragma once

#include "gated/io/json.hpp"
#include "gated/io/model_file.hpp"

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

GATED_INLINE void expect_affordable(const SafetensorsFile& file, Count needed) {
  Count held = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    held += static_cast<Index>(tensor.count());
  }
  const Count affordable = 2 * held + (Index{1} << 20);
  require<FileError>(needed.value() <= affordable.value(), file.name(), ": the configuration in the metadata asks for ",
                     needed == Count::most ? "more than " : "", needed.value(), " values, but the file holds ", held.value(),
                     ". Nothing was built.");
}

}  // namespace gated
