#include "common/mosaic.hpp"

#include <algorithm>
#include <vector>

#include "common/canvas.hpp"

namespace digits {

using examples::fill, gated::Index;

constexpr examples::Colour border{173, 181, 189};

gated::Image draw_spatial_weights(const gated::GmlpImageClassifier<float>& model) {
  std::vector<gated::Matrix<float>> panels;
  for (const auto& block : model.trunk.blocks) {
    for (Index head = 0; head < block.gate.proj.config.heads; ++head) {
      panels.push_back(block.gate.proj.effective_weight(head, block.gate.proj.config.length));
    }
  }
  const auto grid = model.patch_embedding.grid();  // of the patches: a class token, which comes first, is not in it
  const Index dot = std::clamp<Index>(32 / std::max(grid.height, grid.width), 1, 8), gap = 3, margin = 24;
  const Index tile_width = grid.width * dot, tile_height = grid.height * dot;
  const Index panel_width = grid.width * (tile_width + gap) - gap, panel_height = grid.height * (tile_height + gap) - gap;
  const Index count = static_cast<Index>(panels.size()), across = std::clamp<Index>(count, 1, 4);
  const Index down = (count + across - 1) / across;

  gated::Image image = examples::blank(across * (panel_width + margin) + margin, down * (panel_height + margin) + margin);
  for (Index p = 0; p < count; ++p) {
    const auto weight = panels[static_cast<std::size_t>(p)].bottomRightCorner(grid.area(), grid.area());
    const double scale = std::max(static_cast<double>(weight.cwiseAbs().maxCoeff()), 1e-30);
    const Index panel_left = margin + p % across * (panel_width + margin);
    const Index panel_top = margin + p / across * (panel_height + margin);
    for (Index i = 0; i < grid.area(); ++i) {
      const Index left = panel_left + i % grid.width * (tile_width + gap);
      const Index top = panel_top + i / grid.width * (tile_height + gap);
      fill(image, {left - 1, top - 1, tile_width + 2, tile_height + 2}, border);
      for (Index j = 0; j < grid.area(); ++j) {
        fill(image, {left + j % grid.width * dot, top + j / grid.width * dot, dot, dot},
             examples::diverging(static_cast<double>(weight(i, j)) / scale));
      }
    }
  }
  return image;
}

}  // namespace digits
