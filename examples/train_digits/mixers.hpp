#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "options.hpp"

/// The mixers of tokens that can be trained, each by the same recipe and with as many parameters.

namespace digits {

struct Data;

struct Mixer {
  const char* name;                           ///< on the command line
  const char* what;                           ///< for the help
  int (*train)(const Options&, const Data&);  ///< gives the program's exit code
};

// One list per file of mixers/, so that they are compiled side by side.
std::span<const Mixer> gmlp_mixers();
std::span<const Mixer> token_weight_mixers();
std::span<const Mixer> attention_mixers();

/// Every list.
std::vector<Mixer> all_mixers();

/// The mixer of this name, which must be known.
Mixer mixer_named(std::string_view name);

}  // namespace digits
