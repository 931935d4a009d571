#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"

/// @file
/// Who wrote a checkpoint, told by the names in it, and how it is opened here.

namespace gated {

/// The first tensor whose name is `ending`, or ends with it after a dot; nullptr without one.
const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending);
/// How many tensors there are whose names end with `before`, i and `after`, for i = 0, 1, … without a gap.
Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after);

/// A writer of checkpoints, and how its files are opened here.
struct Origin {
  const char* writer;                ///< "timm"
  const char* header;                ///< where `names` is: "gated/io/lucidrains.hpp"
  const char* names;                 ///< the function that makes the name map: "lucidrains_trunk_names"
  const char* model;                 ///< the model to build: "Gmlp"
  std::array<const char*, 2> marks;  ///< how names of tensors end that only such files have; the first has nothing before it
                                     ///< but what a larger model put there
  NameMap (*map)(const SafetensorsFile& file, std::string_view prefix);  ///< calls `names`
  const char* layout = "";                              ///< the function that makes its argument of a file: "lucidrains_layout"
  bool (*fits)(const SafetensorsFile& file) = nullptr;  ///< what else must hold, where two models have the same names
  std::string (*preset)(const SafetensorsFile& file) = nullptr;  ///< preset_of(), where the writer published models
};

/// The known writers, those whose marks say most first.
std::span<const Origin> known_origins();

/// The writer of `file`, by the names of its tensors, whatever stands before them; nullptr for an unknown one.
const Origin* origin_of(const SafetensorsFile& file);

/// The map of the names in `file`, which `origin` wrote: all of its own, or what a larger model keeps under a `prefix`.
NameMap names_of(const SafetensorsFile& file, const Origin& origin);

/// The call that makes the map, as C++: "lucidrains_trunk_names(lucidrains_layout(file))".
std::string names_call(const Origin& origin, std::string_view prefix = "");

/// The preset of models/presets.hpp that has the shapes of a checkpoint, as C++: "gmlp_s16_224()", or "gmlp_s16_224(37)" with
/// another number of classes; empty for other shapes.
std::string preset_of(const SafetensorsFile& file);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/origin.inl"
#endif
