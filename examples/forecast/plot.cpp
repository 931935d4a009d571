#include "plot.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "common/canvas.hpp"
#include "gated/core/error.hpp"

namespace forecast {

using examples::Box, examples::Colour, gated::Index;

namespace {

constexpr Colour red{190, 40, 50};
constexpr Index most_letters = 20;  // of a name

void draw_panel(gated::Image& image, const Box& box, const Panel& panel) {
  const auto& [name, history, came, forecast, low, high] = panel;
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  Index begin = history.first, end = begin;
  for (const Line* const line : {&history, &came, &forecast, &low, &high}) {
    end = std::max(end, line->first + static_cast<Index>(line->values.size()));
    for (const double value : line->values) {
      lowest = std::isnan(value) ? lowest : std::min(lowest, value);
      highest = std::isnan(value) ? highest : std::max(highest, value);
    }
  }
  const double range = highest > lowest ? highest - lowest : 1;
  const auto column = [&](Index time) {
    return box.left + 4 + (time - begin) * (box.width - 8) / std::max<Index>(end - 1 - begin, 1);
  };
  const auto row = [&](double value) {
    return box.top + box.height - 5 -
           static_cast<Index>(std::lround((value - lowest) / range * static_cast<double>(box.height - 10)));
  };
  // Calls at(x, y, whether a piece of the line begins) for each column of a line.
  const auto follow = [&](const Line& line, const auto& at) {
    for (std::size_t i = 1; i < line.values.size(); ++i) {
      const double from = line.values[i - 1], to = line.values[i];
      const Index left = column(line.first + static_cast<Index>(i) - 1), right = column(line.first + static_cast<Index>(i));
      for (Index x = left; x <= right && !std::isnan(from) && !std::isnan(to); ++x) {
        at(x, row(from + (to - from) * static_cast<double>(x - left) / static_cast<double>(std::max<Index>(right - left, 1))),
           x == left);
      }
    }
  };
  const auto draw = [&](const Line& line, const Colour& colour, Index thickness) {
    Index y = 0;
    follow(line, [&](Index x, Index next, bool begins) {
      y = begins ? next : y;
      examples::fill(image, {x, std::min(y, next) - thickness / 2, thickness, std::abs(next - y) + thickness}, colour);
      y = next;
    });
  };
  std::vector<Index> tops;
  std::size_t i = 0;
  follow(high, [&](Index, Index y, bool) { tops.push_back(y); });
  follow(low, [&](Index x, Index y, bool) {
    const Index top = tops[i++];
    examples::fill(image, {x, top, 1, std::max<Index>(y - top, 1)}, examples::pale(red, 0.25));
  });
  for (const double value : {lowest, (lowest + highest) / 2, highest}) {
    const std::string label = gated::text(std::lround(value));
    examples::fill(image, {box.left, row(value), box.width, 1}, examples::pale(examples::grey, 0.4));
    examples::write(image, box.left - 8 - static_cast<Index>(label.size()) * examples::letter_width,
                    row(value) - examples::letter_height / 2, label, examples::black);
  }
  examples::fill(image, {column(forecast.first), box.top, 1, box.height}, examples::grey);
  examples::draw_frame(image, box, examples::grey);
  draw(history, examples::grey, 2);
  draw(came, examples::black, 2);
  draw(forecast, red, 3);
}

}  // namespace

gated::Image draw_forecasts(const std::vector<Panel>& panels) {
  const bool alone = panels.size() == 1;
  const Index columns = alone ? 1 : 2, rows = (static_cast<Index>(panels.size()) + columns - 1) / columns;
  const Index width = alone ? 1000 : 640, height = alone ? 360 : 240;
  constexpr Index legend = 40;
  gated::Image image = examples::blank(columns * width, legend + rows * height);
  examples::write(image, 100, 14, "HISTORY", examples::grey);
  examples::write(image, 250, 14, "WHAT CAME", examples::black);
  examples::write(image, 430, 14, "FORECAST", red);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Index place = static_cast<Index>(i), left = place % columns * width, top = legend + place / columns * height;
    std::string name = panels[i].name.substr(0, alone ? 0 : most_letters);  // one needs none
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    examples::write(image, left + 100, top, name, examples::black);
    const Index title = alone ? 0 : 24;
    draw_panel(image, {left + 100, top + title, width - 140, height - title - (alone ? 60 : 26)}, panels[i]);
  }
  return image;
}

}  // namespace forecast
