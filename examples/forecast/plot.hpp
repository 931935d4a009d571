#pragma once

#include <string>
#include <vector>

#include "gated/io/image.hpp"

namespace forecast {

/// A line of the drawing: numbers from time `first` on.
struct Line {
  gated::Index first = 0;
  std::vector<double> values;  ///< NaN where there is a gap
};

/// One series: its past, what came after it, what was forecast, and between what it should lie.
struct Panel {
  std::string name;
  Line history, came, forecast;
  Line low = {}, high = {};  ///< both empty, or as long as the forecast
};

/// The panels, one in its full width or several in two columns: the history in grey, what came in black, the forecast in red
/// on its band, above each other; what begins where the forecast does stands right of a thin line.
gated::Image draw_forecasts(const std::vector<Panel>& panels);

}  // namespace forecast
