#include "gated/gated.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
