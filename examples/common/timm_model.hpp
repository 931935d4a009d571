#pragma once

#include <filesystem>
#include <string>

namespace examples {

/// The configuration for a timm checkpoint that stores none, as set by the options of add_timm_model() (command_line.hpp).
struct TimmModel {
  std::string preset = "gmlp_s16_224";  ///< a timm model name
  std::filesystem::path config;         ///< timm's config.json; empty for the preset
};

}  // namespace examples
