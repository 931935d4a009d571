#pragma once

#include <filesystem>
#include <string>

namespace examples {

/// The configuration for a timm checkpoint that stores none, as set by the options of add_timm_model() (command_line.hpp).
struct TimmModel {
  std::string preset = "gmlp_s16_224";  ///< a timm model name
  std::filesystem::path config;         ///< a timm config.json; if empty, the preset is used
};

}  // namespace examples
