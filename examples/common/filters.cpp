#include "common/filters.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gated/models/inspect.hpp"

namespace examples {

using gated::Index, gated::Matrix;

float full_colour(const Matrix<float>& weights) {
  std::vector<float> sizes;
  for (const float w : weights.reshaped()) {
    if (w != 0 && std::isfinite(w)) {
      sizes.push_back(std::abs(w));
    }
  }
  if (sizes.empty()) {
    return 1;
  }
  const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(0.995 * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), place, sizes.end());
  return *place;
}

HeatMap filters(const Matrix<float>& weights, gated::ImageSize grid) {
  const auto [height, width] = grid;
  HeatMap map{.values = Matrix<float>(height * height, width * width), .tile_rows = height, .tile_columns = width};
  for (Index p = 0; p < grid.area(); ++p) {
    map.values.block(p / width * height, p % width * width, height, width) =
        Eigen::Map<const Matrix<float>>(&weights(p, 0), height, width);
  }
  return map;
}

Figure spatial_weights(const gated::GmlpImageClassifier<float>& model) {
  Figure figure{
      .title = "Spatial weights of each block", .panels = {}, .columns = 2, .colour_title = "weight: red adds, blue subtracts"};
  const auto grid = model.patch_embedding.grid();
  Matrix<float> all(0, grid.area());
  for (std::size_t block = 0; block < model.trunk.blocks.size(); ++block) {
    const auto& projection = model.trunk.blocks[block].gate.proj;
    for (Index head = 0; head < projection.config.heads; ++head) {
      const Matrix<float> weights = gated::patch_weight(projection, head, grid);
      all.conservativeResize(all.rows() + grid.area(), Eigen::NoChange);
      all.bottomRows(grid.area()) = weights;
      figure.panels.push_back(
          {.title = gated::text("block ", block, projection.config.heads > 1 ? gated::text(", head ", head) : ""),
           .heat_map = filters(weights, grid)});
    }
  }
  figure.full_colour = static_cast<double>(full_colour(all));
  return figure;
}

}  // namespace examples
