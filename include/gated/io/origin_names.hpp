#pragma once

#include <string_view>

#include "gated/io/junnyu.hpp"
#include "gated/io/labml.hpp"
#include "gated/io/lucidrains.hpp"
#include "gated/io/lucidrains_flash.hpp"
#include "gated/io/mmpose.hpp"
#include "gated/io/origin.hpp"
#include "gated/io/timm.hpp"

/// @file
/// The name maps of all writers of checkpoints that are known.

namespace gated {

/// The map of the names in `file`, which `origin` wrote.
inline NameMap names_of(const SafetensorsFile& file, const Origin& origin) {
  const std::string_view names = origin.names;
  const auto is = [&](std::string_view function) { return names.substr(0, names.find('(')) == function; };
  return is("timm_names")                           ? timm_names()
         : is("lucidrains_vision_names")            ? lucidrains_vision_names(lucidrains_layout(file))
         : is("lucidrains_language_model_names")    ? lucidrains_language_model_names(lucidrains_layout(file))
         : is("lucidrains_trunk_names")             ? lucidrains_trunk_names(lucidrains_layout(file))
         : is("lucidrains_flash_transformer_names") ? lucidrains_flash_transformer_names()
         : is("lucidrains_flash_names")             ? lucidrains_flash_names()
         : is("lucidrains_gau_names")               ? lucidrains_gau_names()
         : is("flash_quad_names")                   ? flash_quad_names()
         : is("junnyu_flash_names")                 ? junnyu_flash_names()
         : is("gau_alpha_names")                    ? gau_alpha_names()
         : is("rtmcc_cross_names")                  ? rtmcc_cross_names()
         : is("rtmcc_names")                        ? rtmcc_names()
                                                    : labml_block_names();
}

}  // namespace gated
