#pragma once

// Declares the names that code fragments in examples/classify_image/README.md use.

#include "gated/gated.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/image_reader.hpp"
#include "gated/io/model_file.hpp"
