#include "drawing.hpp"

#include <algorithm>

#include "common/filters.hpp"

namespace gates {

using examples::Colour, examples::Figure, examples::Form, examples::HeatMap, examples::Panel, examples::Series;
using gated::ImageSize, gated::Index, gated::Matrix;

Figure draw_filters(const Matrix<float>& weights, ImageSize grid) {
  HeatMap all = examples::filters(weights, grid);
  for (Index p = 0; p < grid.area() && grid.area() <= 100; ++p) {  // in a larger grid, frames would hide the tiles
    all.framed.emplace_back(p / grid.width * (grid.height + 1), p % grid.width * (grid.width + 1));
  }
  const Matrix<double> mean = gated::mean_filter<float>(weights, grid, 2 * std::max(grid.height, grid.width) - 1);
  HeatMap by_offset{.values = mean.cast<float>(), .framed = {{mean.rows() / 2, mean.cols() / 2}}};
  return {.title = {},
          .panels = {{.title = "row p of W, at the position of patch p", .heat_map = all},
                     {.title = "mean of all rows, by offset from the patch", .heat_map = by_offset}}};
}

Figure draw_matrix(const Matrix<float>& weights) {
  const Index n = weights.rows();
  const Matrix<double> mean = gated::mean_filter<float>(weights, {1, n}, n - 1 + n % 2);
  Series positive{.colour = Colour::vermilion, .form = Form::bars}, negative{.colour = Colour::blue, .form = Form::bars};
  for (Index i = 0; i < mean.cols(); ++i) {
    const auto offset = static_cast<double>(i - mean.cols() / 2);
    positive.x.push_back(offset);
    negative.x.push_back(offset);
    positive.y.push_back(std::max(mean(0, i), 0.0));
    negative.y.push_back(std::min(mean(0, i), 0.0));
  }
  return {.title = {},
          .panels = {{.x = {.title = "from token"}, .y = {.title = "to token"}, .heat_map = HeatMap{.values = weights}},
                     {.title = "mean of all rows",
                      .x = {.title = "offset in tokens"},
                      .y = {.title = "weight"},
                      .series = {positive, negative},
                      .height = 120}}};
}

Figure draw_rows(const Matrix<float>& weights, ImageSize grid, const std::vector<Index>& rows) {
  const bool text = grid.height == 1;
  const double cell = std::min(12.0, 600 / static_cast<double>(grid.width));
  Figure figure{.title = {}, .panels = {}, .columns = text ? 1 : std::min<std::size_t>(rows.size(), 4)};
  for (const Index p : rows) {
    gated::require<gated::ArgumentError>(p < weights.rows(), "--rows ", p,
                                         text ? ": expected tokens from 0 to " : ": expected patches from 0 to ",
                                         weights.rows() - 1, ".");
    figure.panels.push_back(
        {.title = gated::text(text ? "token " : "patch ", p),
         .heat_map = HeatMap{.values = Eigen::Map<const Matrix<float>>(&weights(p, 0), grid.height, grid.width),
                             .stretch = text ? 24 / cell : 1,
                             .framed = {{p / grid.width, p % grid.width}}}});
  }
  return figure;
}

}  // namespace gates
