#pragma once

#include <string>
#include <string_view>

#include "gated/io/forecaster_names.hpp"
#include "gated/io/hugging_face.hpp"
#include "gated/io/junnyu.hpp"
#include "gated/io/labml.hpp"
#include "gated/io/lucidrains.hpp"
#include "gated/io/lucidrains_flash.hpp"
#include "gated/io/mmpose.hpp"
#include "gated/io/origin.hpp"
#include "gated/io/origin_names.hpp"
#include "gated/io/timm.hpp"

namespace gated {

GATED_INLINE NameMap names_of(const SafetensorsFile& file, const Origin& origin) {
  const std::string_view function(origin.names, std::string_view(origin.names).find('('));
  const std::string_view first = detail::named_ending(file, origin.marks[0]).first;
  const std::string before(first.substr(0, first.size() - std::string_view(origin.marks[0]).size()));
  const auto is = [&](std::string_view name) { return function == name; };
  const auto layout = [&] { return lucidrains_layout(file, before); };
  NameMap names = is("timm_names")                           ? timm_names()
                  : is("timm_mixer_names")                   ? timm_mixer_names()
                  : is("timm_gmixer_names")                  ? timm_gmixer_names()
                  : is("timm_resmlp_names")                  ? timm_resmlp_names()
                  : is("facebook_resmlp_names")              ? facebook_resmlp_names()
                  : is("lucidrains_vision_names")            ? lucidrains_vision_names(layout())
                  : is("lucidrains_language_model_names")    ? lucidrains_language_model_names(layout())
                  : is("lucidrains_trunk_names")             ? lucidrains_trunk_names(layout())
                  : is("lucidrains_flash_transformer_names") ? lucidrains_flash_transformer_names()
                  : is("lucidrains_flash_names")             ? lucidrains_flash_names()
                  : is("lucidrains_gau_names")               ? lucidrains_gau_names()
                  : is("flash_quad_names")                   ? flash_quad_names()
                  : is("junnyu_flash_names")                 ? junnyu_flash_names()
                  : is("gau_alpha_names")                    ? gau_alpha_names()
                  : is("rtmcc_cross_names")                  ? rtmcc_cross_names()
                  : is("rtmcc_names")                        ? rtmcc_names()
                  : is("ttm_names")                          ? ttm_names(forecaster_layout(file, before))
                  : is("patchtsmixer_names")                 ? patchtsmixer_names()
                  : is("fnet_names")                         ? fnet_names()
                  : is("fnet_encoder_names")                 ? fnet_encoder_names()
                                                             : labml_block_names();
  // A body is part of the map's own names.
  const bool in_body = !names.body.empty() && before.ends_with(names.body);
  names.prefix = before.substr(0, before.size() - (in_body ? names.body.size() : 0));
  return names;
}

}  // namespace gated
