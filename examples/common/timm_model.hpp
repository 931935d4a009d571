#pragma once

#include <filesystem>
#include <string>

namespace examples {

/// The model in a checkpoint without a configuration; the options of add_timm_model() in command_line.hpp.
struct TimmModel {
  std::string preset = "gmlp_s16_224";  ///< a timm model name
  std::filesystem::path config;         ///< timm's config.json; empty for the preset
};

}  // namespace examples
