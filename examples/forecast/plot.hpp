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
  std::string band = {};     ///< its name; empty for none
  Line low = {}, high = {};  ///< as long as the forecast, or empty
};

/// History, actual values and forecast with its band, over time. One series takes the full width, several have two columns.
examples::Figure figure_of(const std::vector<Comparison>& comparisons, const TimeAxis& axis, const std::string& time_name);

}  // namespace forecast
