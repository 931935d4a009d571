#pragma once

#include <string>
#include <vector>

#include "common/chart.hpp"
#include "time_axis.hpp"

namespace forecast {

/// Values from row `first` on, NaN for gaps.
struct Line {
  gated::Index first = 0;
  std::vector<double> values;
};

/// A series, and what was forecast of it.
struct Comparison {
  std::string name;
  Line history, came, forecast;
  std::string band = {};     ///< its name; empty for none
  Line low = {}, high = {};  ///< as long as the forecast, or empty
};

/// The history in grey, what came in black, the forecast and its band in red, over the times of the rows. One series has the
/// whole width, several stand in two columns.
examples::Figure figure_of(const std::vector<Comparison>& comparisons, const TimeAxis& axis, const std::string& time_name);

}  // namespace forecast
