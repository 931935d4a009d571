#pragma once

#include <vector>

#include "gated/io/image.hpp"

namespace forecast {

/// A line of the drawing: numbers from time `first` on.
struct Line {
  gated::Index first = 0;
  std::vector<double> values;  ///< NaN where there is a gap
};

/// The history and what came in grey and black, the forecast in red, above each other; what begins where the forecast does
/// stands right of a thin line.
gated::Image draw_forecast(const Line& history, const Line& came, const Line& forecast);

}  // namespace forecast
