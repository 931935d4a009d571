#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

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

namespace detail {

/// What makes the map of one origin. `before` stands before the names in the file.
using NamesOfFile = NameMap (*)(const SafetensorsFile& file, std::string_view before);

template <NameMap (*names)()>
NameMap names_in(const SafetensorsFile&, std::string_view) {
  return names();
}
template <NameMap (*names)(const LucidrainsLayout&)>
NameMap names_in(const SafetensorsFile& file, std::string_view before) {
  return names(lucidrains_layout(file, before));
}
template <NameMap (*names)(const ForecasterLayout&)>
NameMap names_in(const SafetensorsFile& file, std::string_view before) {
  return names(forecaster_layout(file, before));
}

/// What makes a map, by the function that an Origin names.
inline constexpr auto names_by_function = std::to_array<std::pair<std::string_view, NamesOfFile>>({
    {"timm_names", names_in<timm_names>},
    {"timm_mixer_names", names_in<timm_mixer_names>},
    {"timm_gmixer_names", names_in<timm_gmixer_names>},
    {"timm_resmlp_names", names_in<timm_resmlp_names>},
    {"facebook_resmlp_names", names_in<facebook_resmlp_names>},
    {"lucidrains_vision_names", names_in<lucidrains_vision_names>},
    {"lucidrains_language_model_names", names_in<lucidrains_language_model_names>},
    {"lucidrains_trunk_names", names_in<lucidrains_trunk_names>},
    {"lucidrains_flash_transformer_names", names_in<lucidrains_flash_transformer_names>},
    {"lucidrains_flash_names", names_in<lucidrains_flash_names>},
    {"lucidrains_gau_names", names_in<lucidrains_gau_names>},
    {"flash_quad_names", names_in<flash_quad_names>},
    {"junnyu_flash_names", names_in<junnyu_flash_names>},
    {"gau_alpha_names", names_in<gau_alpha_names>},
    {"rtmcc_cross_names", names_in<rtmcc_cross_names>},
    {"rtmcc_names", names_in<rtmcc_names>},
    {"labml_block_names", names_in<labml_block_names>},
    {"ttm_names", names_in<ttm_names>},
    {"patchtsmixer_names", names_in<patchtsmixer_names>},
    {"fnet_names", names_in<fnet_names>},
    {"fnet_encoder_names", names_in<fnet_encoder_names>},
});

}  // namespace detail

GATED_INLINE NameMap names_of(const SafetensorsFile& file, const Origin& origin) {
  const std::string_view function(origin.names, std::string_view(origin.names).find('('));
  const std::string_view first = detail::named_ending(file, origin.marks[0]).first;
  const std::string before(first.substr(0, first.size() - std::string_view(origin.marks[0]).size()));
  const auto& known = detail::names_by_function;
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& named) { return named.first == function; });
  NameMap names = found->second(file, before);
  // A body is part of the map's own names.
  const bool in_body = !names.body.empty() && before.ends_with(names.body);
  names.prefix = before.substr(0, before.size() - (in_body ? names.body.size() : 0));
  return names;
}

}  // namespace gated
