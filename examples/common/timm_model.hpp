#pragma once

#include <filesystem>
#include <string>

namespace examples {

/// What a checkpoint without a configuration is, as add_timm_model() of command_line.hpp reads it.
struct TimmModel {
  std::string preset = "gmlp_s16_224";  ///< a name of timm's
  std::filesystem::path config;         ///< timm's config.json; empty for the preset
};

}  // namespace examples
