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

/// A series and its forecast.
struct Comparison {
  std::string name;
  Line history, came, forecast;
  std::string band = {};     ///< the band's name; empty for no band
  Line low = {}, high = {};  ///< the band's edges, as long as the forecast; empty for no band
};

/// History, actual values and forecast with its band, over time. One series takes the full width, several share two columns.
examples::Figure figure_of(const std::vector<Comparison>& comparisons, const TimeAxis& axis, const std::string& time_name);

}  // namespace forecast
