#include "gated/ops/arithmetic.hpp"
