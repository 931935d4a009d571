#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/matrix.hpp"

/// Charts as SVG: lines, bands, bars and heat maps, alone or as small multiples.
///
/// Labels are text, pictures scale to any width and have a dark mode. The colours are Okabe and Ito's, safe for the
/// colour-blind.

namespace examples {

enum class Colour { ink, grey, vermilion, blue, green, purple, orange, sky };
/// The colour of curve i of several.
constexpr Colour colour_of(std::size_t i) { return static_cast<Colour>(2 + i % 6); }

enum class Form {
  line,
  dotted_line,  ///< a line with a dot at each point
  band,         ///< from y up to `high`
  bars          ///< from 0 to y; x ascends
};

/// A data series. NaN in y or `high` is a gap.
struct Series {
  std::string name = {};  ///< in the legend; empty for none
  Colour colour = Colour::ink;
  Form form = Form::line;
  std::vector<double> x = {}, y = {}, high = {};
};

/// A matrix as coloured cells: red is positive, blue negative, the background zero.
struct HeatMap {
  gated::Matrix<float> values;
  gated::Index tile_rows = 0, tile_columns = 0;                    ///< cells per tile; gaps separate tiles; 0 for one tile
  double stretch = 1;                                              ///< a cell's height over its width
  std::vector<std::pair<gated::Index, gated::Index>> framed = {};  ///< cells, by row and column
};

enum class Scale {
  linear,
  logarithmic,
  time  ///< seconds since 1970
};

struct Axis {
  std::string title = {};  ///< with the unit: "load, MW"
  Scale scale = Scale::linear;
  std::optional<double> from = {}, to = {};  ///< limits, by default the data's; values outside are drawn at a limit
};

/// A plot of series or of a heat map. Columns of a heat map run along x and rows down y, with ticks on axes that have a title:
/// indices, or values between the limits of the axis, if it has both. y then grows upwards.
struct Panel {
  std::string title = {};
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::optional<HeatMap> heat_map = {};
  std::vector<std::pair<double, std::string>> marks = {};  ///< dashed lines at x, with a text above
  double height = 220;                                     ///< of a plot of series, in a picture 640 wide
};

/// Panels in a grid. The legend is right of each panel if there is one column, otherwise right of the first row.
struct Figure {
  std::string title;
  std::vector<Panel> panels;
  std::size_t columns = 1;
  double full_colour = 0;         ///< the magnitude with the full colour in heat maps; 0 for the largest
  std::string colour_title = {};  ///< of the colour bar of heat maps
};

/// The figure as an SVG document.
/// Errors: ArgumentError, naming the panel or series, if there is nothing to draw, vectors differ in length, or a value is not
/// finite and not a gap, or not positive on a logarithmic axis.
std::string svg(const Figure& figure);

/// Writes svg(figure). Errors: those of svg(), and FileError.
void write_svg(const std::filesystem::path& path, const Figure& figure);

}  // namespace examples
