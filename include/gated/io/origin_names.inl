#pragma once

#include <algorithm>
#include <iterator>
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

/// A function that makes a map, as an Origin names it: one of three kinds.
struct NamesFunction {
  std::string_view name;
  NameMap (*plain)() = nullptr;
  NameMap (*of_lucidrains)(const LucidrainsLayout&) = nullptr;
  NameMap (*of_forecaster)(const ForecasterLayout&) = nullptr;
};

inline constexpr NamesFunction names_by_function[] = {
    {.name = "timm_names", .plain = timm_names},
    {.name = "timm_mixer_names", .plain = timm_mixer_names},
    {.name = "timm_gmixer_names", .plain = timm_gmixer_names},
    {.name = "timm_resmlp_names", .plain = timm_resmlp_names},
    {.name = "facebook_resmlp_names", .plain = facebook_resmlp_names},
    {.name = "lucidrains_vision_names", .of_lucidrains = lucidrains_vision_names},
    {.name = "lucidrains_language_model_names", .of_lucidrains = lucidrains_language_model_names},
    {.name = "lucidrains_trunk_names", .of_lucidrains = lucidrains_trunk_names},
    {.name = "lucidrains_flash_transformer_names", .plain = lucidrains_flash_transformer_names},
    {.name = "lucidrains_flash_names", .plain = lucidrains_flash_names},
    {.name = "lucidrains_gau_names", .plain = lucidrains_gau_names},
    {.name = "flash_quad_names", .plain = flash_quad_names},
    {.name = "junnyu_flash_names", .plain = junnyu_flash_names},
    {.name = "gau_alpha_names", .plain = gau_alpha_names},
    {.name = "rtmcc_cross_names", .plain = rtmcc_cross_names},
    {.name = "rtmcc_names", .plain = rtmcc_names},
    {.name = "labml_block_names", .plain = labml_block_names},
    {.name = "ttm_names", .of_forecaster = ttm_names},
    {.name = "patchtsmixer_names", .plain = patchtsmixer_names},
    {.name = "fnet_names", .plain = fnet_names},
    {.name = "fnet_encoder_names", .plain = fnet_encoder_names},
};

}  // namespace detail

GATED_INLINE NameMap names_of(const SafetensorsFile& file, const Origin& origin) {
  const std::string_view function(origin.names, std::string_view(origin.names).find('('));
  const std::string_view first = detail::named_ending(file, origin.marks[0]).first;
  const std::string before(first.substr(0, first.size() - std::string_view(origin.marks[0]).size()));
  const auto& known = detail::names_by_function;
  const auto found =
      std::find_if(std::begin(known), std::end(known), [&](const auto& named) { return named.name == function; });
  NameMap names = found->plain != nullptr           ? found->plain()
                  : found->of_lucidrains != nullptr ? found->of_lucidrains(lucidrains_layout(file, before))
                                                    : found->of_forecaster(forecaster_layout(file, before));
  // A body is part of the map's own names.
  const bool in_body = !names.body.empty() && before.ends_with(names.body);
  names.prefix = before.substr(0, before.size() - (in_body ? names.body.size() : 0));
  return names;
}

}  // namespace gated
