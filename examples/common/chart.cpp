#include "common/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "common/svg.hpp"
#include "common/ticks.hpp"
#include "gated/core/error.hpp"
#include "gated/io/atomic_file.hpp"

namespace examples {

using gated::ArgumentError, gated::Index, gated::require, gated::text;

namespace {

// `row`: the height reserved for a line of text, enough for the larger text on phones.
constexpr double paper = 640, margin = 14, row = 24, key = 20, longest_name = 16 * letter;
constexpr double largest_cell = 12, tallest_map = 600, bar_width = 220;
constexpr int levels = 16;  // shades of each colour of a heat map

/// Maps the values of an axis to 0 … 1 and stores its ticks.
struct Ruler {
  bool logarithmic = false;
  double from = std::numeric_limits<double>::infinity(), to = -from;
  std::vector<Tick> ticks = {};

  void hold(const std::vector<double>& values) {
    for (const double value : values) {
      from = std::isnan(value) ? from : std::min(from, value);
      to = std::isnan(value) ? to : std::max(to, value);
    }
  }
  /// Sets the limits and about `most` ticks. Limits missing from `axis` are those of the values, rounded outward if `outward`.
  void settle(const Axis& axis, double most, bool outward) {
    logarithmic = axis.scale == Scale::logarithmic;
    from = axis.from.value_or(from);
    to = axis.to.value_or(to);
    if (!(from < to)) {  // a single value, or only gaps
      const double middle = std::isfinite(from) ? from : 1;
      from = middle - (middle == 0 ? 1 : std::abs(middle) / 2);
      to = 2 * middle - from;
    }
    if (outward) {
      const double step = round_step(to - from, most);
      const auto down = [&](double value) {
        const double unit = logarithmic ? std::pow(10, std::floor(std::log10(value) + 1e-9)) / 2 : step;
        return std::floor(value / unit + 1e-9) * unit;
      };
      to = axis.to.value_or(logarithmic ? 1 / down(1 / to) : -down(-to));
      from = axis.from.value_or(down(from));
      most = std::max(most, (to - from) / step);
    }
    ticks = logarithmic                 ? log_ticks(from, to)
            : axis.scale == Scale::time ? time_ticks(from, to, most)
                                        : round_ticks(from, to, most);
  }
  double place(double value) const {
    return std::clamp(logarithmic ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from), 0.0, 1.0);
  }
};

void expect_values(const std::string& name, const std::vector<double>& values, bool gaps, Scale scale) {
  for (const double value : values) {
    const bool fits = scale == Scale::linear || (scale == Scale::time ? std::abs(value) < 2.5e11 : value > 0);
    require<ArgumentError>((gaps && std::isnan(value)) || (std::isfinite(value) && fits), "chart: \"", name,
                           "\" has the value ", value, ", expected a ", scale == Scale::logarithmic ? "positive" : "finite",
                           " number", scale == Scale::time ? " of seconds since 1970, before the year 9892." : ".");
  }
}

/// The smallest distance between bars.
double pitch_of(const Series& s) {
  double least = s.x.size() > 1 ? s.x[1] - s.x[0] : 1;
  for (std::size_t i = 2; i < s.x.size(); ++i) {
    least = std::min(least, s.x[i] - s.x[i - 1]);
  }
  return least;
}

/// A panel and its layout.
struct Plot {
  const Panel& panel;
  Ruler x = {}, y = {};
  double edge = 0, room = 0;                        // left edge and width of the titles
  double left = 0, top = 0, width = 0, height = 0;  // plot area

  explicit Plot(const Panel& p) : panel(p), height(p.height) {
    require<ArgumentError>(p.heat_map ? p.heat_map->values.size() > 0 : !p.series.empty(), "chart: the panel \"", p.title,
                           "\" has nothing to draw.");
    for (const Series& s : p.series) {
      const std::string& name = s.name.empty() ? p.title : s.name;
      require<ArgumentError>(
          !s.x.empty() && s.y.size() == s.x.size() && s.high.size() == (s.form == Form::band ? s.x.size() : 0), "chart: \"",
          name, "\" has ", s.x.size(), " x, ", s.y.size(), " y and ", s.high.size(),
          " high values. Give at least one x, a y for each x and, for a band, a high for each x.");
      expect_values(name, s.x, false, p.x.scale);
      expect_values(name, s.y, true, p.y.scale);
      expect_values(name, s.high, true, p.y.scale);
      x.hold(s.x);
      y.hold(s.y);
      y.hold(s.high);
      if (s.form == Form::bars) {
        x.hold({s.x.front() - pitch_of(s), s.x.back() + pitch_of(s)});
        y.hold({0});
      }
    }
    if (p.heat_map) {
      const auto& values = p.heat_map->values;
      require<ArgumentError>(values.allFinite(), "chart: the heat map \"", p.title, "\" has a value that is not finite.");
      x.hold({-0.5, static_cast<double>(values.cols()) - 0.5});
      y.hold({-0.5, static_cast<double>(values.rows()) - 0.5});
    }
  }

  /// Sets the ticks of y.
  void settle_y() {
    y.settle(panel.y, panel.heat_map ? std::min(8.0, (y.to - y.from) / 3) : std::max(2.0, height / 45), !panel.heat_map);
    y.ticks.resize(panel.heat_map && panel.y.title.empty() ? 0 : y.ticks.size());
  }
  /// Sets the ticks of x, the width (at most `most_width`) and, for a heat map, the height.
  void settle_x(double most_width) {
    width = most_width;
    if (const auto& map = panel.heat_map) {
      const double columns = static_cast<double>(map->values.cols());
      const double rows = map->stretch * static_cast<double>(map->values.rows());
      const double cell = std::min({largest_cell, width / columns, tallest_map / rows});
      width = cell * columns;
      height = cell * rows;
    }
    const double most = std::max(2.0, width / 68);
    x.settle(panel.x, panel.heat_map ? std::min(most, x.to - x.from) : most, false);
    x.ticks.resize(panel.heat_map && panel.x.title.empty() ? 0 : x.ticks.size());
  }
  double room_left() const {
    double widest = 0;
    for (const Tick& tick : y.ticks) {
      widest = std::max(widest, room_of(tick.label) + 10);
    }
    return widest;
  }
  double room_above() const {
    auto lines = std::count_if(panel.marks.begin(), panel.marks.end(), [](const auto& mark) { return !mark.second.empty(); });
    lines += (panel.title.empty() ? 0 : 1) + (panel.y.title.empty() ? 0 : 1);
    return row * static_cast<double>(lines) + (lines > 0 ? 8 : 0);
  }
  /// Distance from the plot down to the title of x. The two lines of tick labels are 18 and 38 below the plot.
  double title_below() const {
    const bool two = std::any_of(x.ticks.begin(), x.ticks.end(), [](const Tick& tick) { return !tick.below.empty(); });
    return x.ticks.empty() ? 12 : two ? 60 : 40;
  }
  double room_below() const { return title_below() + (panel.x.title.empty() ? -8 : 12); }
  double across(double value) const { return left + width * x.place(value); }
  /// Whether y grows downwards, like the rows of a matrix.
  bool by_rows() const { return panel.heat_map && !panel.y.to; }
  double down(double value) const { return top + height * (by_rows() ? y.place(value) : 1 - y.place(value)); }
};

std::string class_of(const Series& s) {
  return text(s.form == Form::band ? "band c" : s.form == Form::bars ? "bars c" : "line c", static_cast<int>(s.colour));
}
std::string dots_of(const Series& s, const std::string& steps) {
  return s.form == Form::dotted_line ? path(text("dots c", static_cast<int>(s.colour)), steps) : "";
}

std::string drawn(const Plot& plot, const Series& s) {
  std::string steps, back, dots;  // `back`: the upper edge of a band, in reverse
  const double half = 0.4 * (plot.across(s.x[0] + pitch_of(s)) - plot.across(s.x[0]));
  bool follows = false;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const double x = plot.across(s.x[i]), y = plot.down(s.y[i]);
    if (std::isnan(s.y[i]) || (s.form == Form::band && std::isnan(s.high[i]))) {
      steps += back.empty() ? "" : back + "z";
      back.clear();
      follows = false;
    } else if (s.form == Form::bars) {
      steps += box(x - half, y, 2 * half, plot.down(0) - y);
    } else {
      steps += (follows ? "L" : "M") + at(x, y) + (follows || s.form == Form::band ? "" : "h0");  // h0: a visible dot
      back = s.form == Form::band ? "L" + at(x, plot.down(s.high[i])) + back : "";
      dots += "M" + at(x, y) + "h0";
      follows = true;
    }
  }
  return path(class_of(s), steps + (back.empty() ? "" : back + "z")) + dots_of(s, dots);
}

/// The heat map as one path per colour, made of horizontal strokes; coordinates are in cells.
std::string drawn(const HeatMap& map, double left, double top, double width, double full) {
  const Index rows = map.values.rows(), columns = map.values.cols();
  const double cell = width / static_cast<double>(columns), tall = cell * map.stretch;
  const auto boxes = [&](Index r, Index c, Index high, Index wide) {
    return box(left + cell * static_cast<double>(c), top + tall * static_cast<double>(r), cell * static_cast<double>(wide),
               tall * static_cast<double>(high));
  };
  const auto level = [&](Index r, Index c) {
    return std::lround(std::clamp(static_cast<double>(map.values(r, c)) / full, -1.0, 1.0) * levels) + levels;
  };
  struct Pen {
    std::string steps;
    Index x = 0, y = 0;
  };
  std::array<Pen, 2 * levels + 1> pens;
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0, end = 0; c < columns; c = end) {
      for (end = c + 1; end < columns && level(r, end) == level(r, c); ++end) {
      }
      Pen& pen = pens[static_cast<std::size_t>(level(r, c))];
      pen.steps += text("m", c - pen.x, " ", r - pen.y, "h", end - c);
      pen.x = end;
      pen.y = r;
    }
  }
  std::string out = text("<g class=\"cells\" transform=\"translate(", at(left), ",", at(top + tall / 2), ")scale(", cell, ",",
                         tall, ")\">\n");
  for (int k = -levels; k <= levels; ++k) {
    const std::string kind = text(k < 0 ? "less" : "more", "\" opacity=\"", std::abs(k) / static_cast<double>(levels));
    out += k == 0 ? "" : path(kind, pens[static_cast<std::size_t>(k + levels)].steps);
  }
  std::string gaps, frames;
  for (Index r = map.tile_rows; r > 0 && r < rows; r += map.tile_rows) {
    gaps += boxes(r, 0, 0, columns);
  }
  for (Index c = map.tile_columns; c > 0 && c < columns; c += map.tile_columns) {
    gaps += boxes(0, c, rows, 0);
  }
  for (const auto& [r, c] : map.framed) {
    frames += boxes(r, c, 1, 1);
  }
  return out + "</g>\n" + path("gaps", gaps) + path("grid", boxes(0, 0, rows, columns)) + path("frame", frames);
}

/// The colour bar, with its ticks.
std::string colour_bar(double lowest, double full, double top, const std::string& title) {
  const int count = lowest < 0 ? 2 * levels + 1 : levels + 1;
  const double cell = bar_width / count;
  HeatMap bar{.values = gated::Matrix<float>(1, count), .stretch = 14 / cell};
  for (int i = 0; i < count; ++i) {
    bar.values(0, i) = static_cast<float>(full * (i + levels + 1 - count) / levels);
  }
  std::string out = drawn(bar, margin, top, bar_width, full) + words("soft", margin + bar_width + 12, top + 7, title);
  for (const Tick& tick : round_ticks(lowest < 0 ? -full : 0, full, 4)) {
    out +=
        words("soft middle", margin + cell * (tick.at / full * levels + count - levels - 0.5), top + 14 + row / 2, tick.label);
  }
  return out;
}

/// The width to reserve for the legends.
double legend_width(const Figure& figure) {
  double width = 0;
  for (const Panel& panel : figure.panels) {
    for (const Series& s : panel.series) {
      for (const std::string& line : lines_of(s.name, longest_name)) {
        width = std::max(width, 12 + key + 6 + room_of(line));
      }
    }
  }
  return width;
}

/// The names of the series, each at the height where its curve ends, if there is room.
std::string legend(const Plot& plot, double x) {
  struct Entry {
    const Series* series;
    std::vector<std::string> lines;
    double y, half;
  };
  constexpr double line = 0.8 * row;
  std::vector<Entry> entries;
  for (const Series& s : plot.panel.series) {
    double end = plot.top;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      const double y = s.form == Form::band ? (s.y[i] + s.high[i]) / 2 : s.y[i];
      end = std::isnan(y) ? end : plot.down(y);
    }
    const auto lines = lines_of(s.name, longest_name);
    if (!lines.empty()) {
      entries.push_back({&s, lines, end, line / 2 * static_cast<double>(lines.size()) + 2});
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.y < b.y; });
  const auto push = [](auto begin, auto end, double side, double limit) {  // moves overlapping entries down, or up if side = -1
    for (auto entry = begin; entry != end; ++entry) {
      entry->y = side * std::max(side * entry->y, side * limit + entry->half);
      limit = entry->y + side * entry->half;
    }
  };
  push(entries.begin(), entries.end(), 1, -paper);
  push(entries.rbegin(), entries.rend(), -1, plot.top + plot.height + row / 2);
  std::string out;
  for (const auto& [s, lines, y, half] : entries) {
    const bool filled = s->form == Form::band || s->form == Form::bars;
    out += path(class_of(*s), filled ? box(x, y - 6, key, 12) : text("M", at(x, y), "h", key));
    out += dots_of(*s, text("M", at(x + key / 2, y), "h0"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out += words("", x + key + 6, y - half + 2 + line * (static_cast<double>(i) + 0.5), lines[i]);
    }
  }
  return out;
}

/// A panel without its legend.
std::string drawn(const Plot& plot, double full) {
  const Panel& panel = plot.panel;
  const double right = plot.left + plot.width, bottom = plot.top + plot.height;
  std::string out, grid, axis, marks;
  double y = plot.top - row / 2 - 8;  // centre of the next line of text above the plot
  for (const auto& [value, title] : panel.marks) {
    const double x = plot.across(value);
    marks += text("M", at(x, title.empty() ? plot.top : y + 8), "V", at(bottom));
    out += x + room_of(title) > paper - margin ? words("soft end", x + 4, y, title) : words("soft", x - 4, y, title);
    y -= title.empty() ? 0 : row;
  }
  out += words("soft", plot.edge, y, fitted(panel.y.title, plot.room));
  out += words("head", plot.edge, panel.y.title.empty() ? y : y - row, fitted(panel.title, plot.room));
  for (const Tick& tick : plot.y.ticks) {
    grid += text("M", at(plot.left, plot.down(tick.at)), "h", panel.heat_map ? "-5" : at(plot.width));
    out += words("soft end", plot.left - 10, plot.down(tick.at), tick.label);
  }
  double taken = -paper, taken_below = -paper;  // right end of the last label in each of the two lines
  const auto below = [&](double middle, double down, const std::string& label, double& until) {
    const double x = std::min(middle, paper - 0.4 * room_of(label));
    if (x - room_of(label) / 2 > until && !label.empty()) {
      out += words("soft middle", x, bottom + down, label);
      until = x + room_of(label) / 2 + letter / 2;
    }
  };
  for (const Tick& tick : plot.x.ticks) {
    axis += text("M", at(plot.across(tick.at), bottom), "v5");
    below(plot.across(tick.at), 18, tick.label, taken);
    below(plot.across(tick.at), 38, tick.below, taken_below);
  }
  out += words("soft middle", (plot.left + right) / 2, bottom + plot.title_below(), panel.x.title);
  out += path("grid", grid);
  if (panel.heat_map) {
    out += drawn(*panel.heat_map, plot.left, plot.top, plot.width, full);
  } else {
    axis += text("M", at(plot.left, bottom), "h", at(plot.width));
  }
  for (const Series& s : panel.series) {
    out += drawn(plot, s);
  }
  return out + path("axis", axis) + path("mark", marks);
}

/// Sets the ticks and sizes of panels that are `column` apart. Returns the width to reserve for ticks of y.
double settle(std::span<Plot> plots, double column) {
  double before = 0;
  for (Plot& plot : plots) {
    plot.settle_y();
    before = std::max(before, plot.room_left());
  }
  for (Plot& plot : plots) {
    plot.settle_x(column - margin - before);
  }
  return before;
}

/// Places a row of panels below `y`, `column` apart, with the width `before` for ticks of y. Returns the y below the row.
double place_row(std::span<Plot> plots, double y, double column, double before) {
  double edge = margin, above = 0, height = 0, below = 0;
  for (const Plot& plot : plots) {
    above = std::max(above, plot.room_above());
    height = std::max(height, plot.height);
    below = std::max(below, plot.room_below());
  }
  for (Plot& plot : plots) {
    plot.edge = edge;
    plot.room = column - margin;
    plot.left = edge + before;
    plot.top = y + above;
    edge += column;
  }
  return y + (above + height + below + margin);
}

}  // namespace

std::string svg(const Figure& figure) {
  require<ArgumentError>(!figure.panels.empty() && figure.columns > 0, "chart: \"", figure.title, "\" has no panels.");
  std::vector<Plot> plots(figure.panels.begin(), figure.panels.end());
  double lowest = 0, full = 0;
  bool has_map = false;
  for (const Panel& panel : figure.panels) {
    if (panel.heat_map) {
      has_map = true;
      lowest = std::min(lowest, static_cast<double>(panel.heat_map->values.minCoeff()));
      full = std::max(full, static_cast<double>(panel.heat_map->values.cwiseAbs().maxCoeff()));
    }
  }
  full = figure.full_colour > 0 ? figure.full_colour : full > 0 ? full : 1;
  const double column = (paper - margin - legend_width(figure)) / static_cast<double>(figure.columns);
  const double before = settle(plots, column);

  std::string out;
  double y = margin;
  for (const std::string& line : lines_of(figure.title, paper / 1.15 - 2 * margin)) {
    out += words("title", margin, y + row / 2, line);
    y += row;
  }
  if (has_map) {
    out += colour_bar(lowest, full, y + 6, figure.colour_title);
    y += 2 * row;
  }
  for (std::size_t first = 0; first < plots.size(); first += figure.columns) {
    const auto row_of = std::span(plots).subspan(first, std::min(figure.columns, plots.size() - first));
    y = place_row(row_of, y, column, before);
    for (const Plot& plot : row_of) {
      out += drawn(plot, full);
    }
    if (figure.columns == 1 || first == 0) {
      out += legend(row_of.back(), row_of.back().edge + column - margin + 12);
    }
  }
  return text("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", paper, " ", at(y), "\" role=\"img\">\n<title>",
              escaped(figure.title), "</title>\n", style, path("paper", box(0, 0, paper, y)), out, "</svg>\n");
}

void write_svg(const std::filesystem::path& path, const Figure& figure) {
  const std::string all = svg(figure);
  gated::write_file_atomically(path, std::as_bytes(std::span(all)));
}

}  // namespace examples
