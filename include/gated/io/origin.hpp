#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"

/// @file
/// Detects which library wrote a checkpoint, and how to open it.

namespace gated {

/// The first tensor whose name is `ending`, or ends with it after a dot; nullptr if there is none.
const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending);
/// Counts blocks: returns the smallest i ≥ 0 for which no tensor name ends with `before`, i and `after`, concatenated.
Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after);

/// A kind of checkpoint, and how to open it.
struct Origin {
  const char* writer;                ///< "timm"
  const char* header;                ///< the header that declares `names`: "gated/io/lucidrains.hpp"
  const char* names;                 ///< the function that returns the name map: "lucidrains_trunk_names"
  const char* model;                 ///< the model to build: "Gmlp"
  std::array<const char*, 2> marks;  ///< endings of tensor names that identify the origin. marks[0] is a full name; in a
                                     ///< file of a larger model, it has a prefix
  NameMap (*map)(const SafetensorsFile& file, std::string_view prefix);  ///< calls `names`
  const char* layout = "";  ///< the function that derives the argument of `names` from a file: "lucidrains_layout"
  bool (*fits)(const SafetensorsFile& file) = nullptr;           ///< a further condition, if two models have the same names
  std::string (*preset)(const SafetensorsFile& file) = nullptr;  ///< implements preset_of() for this origin
};

/// The known origins, the most specific first.
std::span<const Origin> known_origins();

/// The origin of `file` by its tensor names, under any prefix; nullptr if unknown.
const Origin* origin_of(const SafetensorsFile& file);

/// The name map for `file`, whose origin is `origin`. The map's `prefix` is set if the tensors are part of a larger model.
NameMap names_of(const SafetensorsFile& file, const Origin& origin);

/// The C++ call that returns the name map: "lucidrains_trunk_names(lucidrains_layout(file))".
std::string names_call(const Origin& origin, std::string_view prefix = "");

/// The preset of models/presets.hpp or models/pose_head.hpp that has the shapes of `file`, as C++: "gmlp_s16_224()", or
/// "gmlp_s16_224(37)" for 37 classes. Empty if no preset has them.
std::string preset_of(const SafetensorsFile& file);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/origin.inl"
#endif
