#include "plot.hpp"

#include "gated/core/error.hpp"

namespace forecast {

using examples::Colour, examples::Form, examples::Series, gated::Index;

examples::Figure figure_of(const std::vector<Comparison>& comparisons, const TimeAxis& axis, const std::string& time_name) {
  const bool alone = comparisons.size() == 1;
  const Line& forecast = comparisons.at(0).forecast;
  examples::Figure figure{.title = gated::text("The last ", forecast.values.size(), " rows, forecast from earlier rows"),
                          .panels = {},
                          .columns = alone ? 1U : 2U};
  const auto series = [&](const char* name, Colour colour, const Line& line) {
    Series s{.name = name, .colour = colour, .y = line.values};
    for (Index row = line.first; row < line.first + static_cast<Index>(line.values.size()); ++row) {
      s.x.push_back(axis.value_at(row));
    }
    return s;
  };
  for (const Comparison& one : comparisons) {
    examples::Panel panel{.title = alone ? "" : one.name,
                          .x = {.title = axis.has_dates() ? ""
                                         : axis.known()   ? time_name
                                                          : "row",
                                .scale = axis.has_dates() ? examples::Scale::time : examples::Scale::linear},
                          .y = {.title = alone ? one.name : ""},
                          .height = alone ? 240.0 : 130.0};
    if (!one.band.empty()) {
      Series band = series(one.band.c_str(), Colour::vermilion, one.low);
      band.form = Form::band;
      band.high = one.high.values;
      panel.series.push_back(band);
    }
    panel.series.push_back(series("history", Colour::grey, one.history));
    panel.series.push_back(series("what came", Colour::ink, one.came));
    panel.series.push_back(series(one.label.c_str(), Colour::vermilion, one.forecast));
    panel.marks = {{axis.value_at(forecast.first), alone && axis.known() ? "forecast from " + axis.at(forecast.first) : ""}};
    figure.panels.push_back(panel);
  }
  return figure;
}

}  // namespace forecast
