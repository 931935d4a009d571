#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/matrix.hpp"

/// Charts as SVG: lines, bands, bars and heat maps, alone or as small multiples.
///
/// Labels are SVG text, not paths; pictures scale to any width and have a dark mode. The colours are Okabe and Ito's, safe for
/// the colour-blind.

namespace examples {

enum class Colour { ink, grey, vermilion, blue, green, purple, orange, sky };
/// The colour of curve i in a panel with several curves.
constexpr Colour colour_of(std::size_t i) { return static_cast<Colour>(2 + i % 6); }

enum class Form {
  line,
  dotted_line,  ///< a line with a dot at each point
  band,         ///< the area from y up to `high`
  bars          ///< from 0 to y; x must be ascending
};

/// A data series. NaN in y or `high` is a gap.
struct Series {
  std::string name = {};  ///< legend label; none if empty
  Colour colour = Colour::ink;
  Form form = Form::line;
  std::vector<double> x = {}, y = {}, high = {};
};

/// A matrix as coloured cells: red is positive, blue negative, the background zero.
struct HeatMap {
  gated::Matrix<float> values;
  gated::Index tile_rows = 0, tile_columns = 0;                    ///< cells per tile, with gaps between tiles; 0: one tile
  double stretch = 1;                                              ///< height / width of a cell
  std::vector<std::pair<gated::Index, gated::Index>> framed = {};  ///< row and column of each framed cell
};

enum class Scale {
  linear,
  logarithmic,
  time  ///< seconds since 1970
};

struct Axis {
  std::string title = {};  ///< with the unit: "load, MW"
  Scale scale = Scale::linear;
  std::optional<double> from = {}, to = {};  ///< limits, by default those of the data; values outside are clamped
};

/// A plot of series or of a heat map, whose columns run along x and whose rows run down y. An axis of a heat map has ticks
/// only if it has a title. The ticks are indices unless the axis sets both limits; if y sets both, y grows upwards.
struct Panel {
  std::string title = {};
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::optional<HeatMap> heat_map = {};
  std::vector<std::pair<double, std::string>> marks = {};  ///< dashed vertical lines: x, and the label above
  double height = 220;                                     ///< height of a plot of series; the figure is 640 wide
};

/// Panels in a grid. The legend is to the right of each panel if there is one column, otherwise to the right of the first row.
struct Figure {
  std::string title;
  std::vector<Panel> panels;
  std::size_t columns = 1;
  double full_colour = 0;         ///< the magnitude drawn in full colour in heat maps; 0: the largest
  std::string colour_title = {};  ///< title of the heat maps' colour bar
};

/// The figure as an SVG document.
/// Errors: ArgumentError, naming the panel or series, if there is nothing to draw, vectors differ in length, a value is not
/// finite (except gaps), a value on a logarithmic axis is ≤ 0, or a time is in the year 9892 or later.
std::string svg(const Figure& figure);

/// Writes svg(figure). Errors: those of svg(); FileError if the file cannot be written.
void write_svg(const std::filesystem::path& path, const Figure& figure);

}  // namespace examples
