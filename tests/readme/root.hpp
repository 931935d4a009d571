#pragma once

// Declares the names that code fragments in README.md use.

#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/npy.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "gated/models/generate.hpp"
#include "gated/train.hpp"
