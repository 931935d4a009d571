#pragma once

#include "gated/ops/dropout.hpp"
