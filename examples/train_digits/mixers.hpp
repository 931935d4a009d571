#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "options.hpp"

/// The token mixers, all trained by the same recipe and with about the same number of parameters.

namespace digits {

struct Data;

struct Mixer {
  const char* name;                           ///< its name on the command line
  const char* what;                           ///< its description in --help
  int (*train)(const Options&, const Data&);  ///< returns the program's exit code
};

// One list per file in mixers/, so that the files compile in parallel.
std::span<const Mixer> gmlp_mixers();
std::span<const Mixer> token_weight_mixers();
std::span<const Mixer> convolution_mixers();
std::span<const Mixer> attention_mixers();

/// The mixers of all files in mixers/.
std::vector<Mixer> all_mixers();

/// The mixer called `name`, which must exist.
Mixer mixer_named(std::string_view name);

}  // namespace digits
