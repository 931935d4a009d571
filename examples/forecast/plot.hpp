#pragma once

#include <string>
#include <vector>

#include "common/chart.hpp"
#include "time_axis.hpp"

namespace forecast {

/// The values of consecutive rows, beginning with row `first`; NaN for gaps.
struct Line {
  gated::Index first = 0;
  std::vector<double> values;
};

/// A series and its forecast.
struct Comparison {
  std::string name;
  std::string label;  ///< the name of the forecast
  Line history, came, forecast;
  std::string band = {};     ///< the band's name; empty for no band
  Line low = {}, high = {};  ///< the band's edges, as long as the forecast; empty for no band
};

/// Plots the history, the actual values, and the forecast with its band over time. A single series spans the full width;
/// several are arranged in two columns.
examples::Figure figure_of(const std::vector<Comparison>& comparisons, const TimeAxis& axis, const std::string& time_name);

}  // namespace forecast
