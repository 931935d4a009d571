#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/matrix.hpp"

/// Charts as SVG: lines, bands, bars and heat maps, alone or as small multiples.
///
/// Text is text, the picture scales to any width, and dark mode has its own colours. Series have Okabe and Ito's, which the
/// colour-blind can tell apart.

namespace examples {

enum class Colour { ink, grey, vermilion, blue, green, purple, orange, sky };
/// The colour of the i-th of several curves.
constexpr Colour colour_of(std::size_t i) { return static_cast<Colour>(2 + i % 6); }

enum class Form {
  line,
  dotted_line,  ///< a line with a dot at each point
  band,         ///< from y up to `high`
  bars          ///< from 0 to y; x ascends
};

/// One quantity. NaN in y or `high` is a gap.
struct Series {
  std::string name = {};  ///< in the legend; empty: not there
  Colour colour = Colour::ink;
  Form form = Form::line;
  std::vector<double> x = {}, y = {}, high = {};
};

/// A matrix as coloured cells: red is positive, blue negative, the background zero.
struct HeatMap {
  gated::Matrix<float> values;
  gated::Index tile_rows = 0, tile_columns = 0;                    ///< of tiles with gaps between them; 0 for one tile
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
  std::optional<double> from = {}, to = {};  ///< those of the data unless given; what lies outside is drawn on the border
};

/// A plot of series or of a heat map, whose columns run along x and its rows down along y. A heat map has no ticks on an axis
/// without a title.
struct Panel {
  std::string title = {};
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::optional<HeatMap> heat_map = {};
  std::vector<std::pair<double, std::string>> marks = {};  ///< dashed lines at these x, with a text above
  double height = 220;                                     ///< of the plot, in a picture 640 wide; a heat map has its own
};

/// Panels in rows. The legend is on the right: in one column that of each panel, otherwise that of the first row.
struct Figure {
  std::string title;
  std::vector<Panel> panels;
  std::size_t columns = 1;
  double full_colour = 0;       ///< the value that has the full colour in all heat maps; 0 for the largest
  std::string colours_of = {};  ///< what the heat maps show, at their colour bar
};

/// The text of an SVG file.
/// Errors: ArgumentError, naming the panel or the series, if there is nothing to draw, x and y differ in length, or a value is
/// infinite, NaN and not a gap, or on a logarithmic axis not positive.
std::string svg(const Figure& figure);

/// Writes svg(figure). Errors: those of svg(), and FileError.
void write_svg(const std::filesystem::path& path, const Figure& figure);

}  // namespace examples
