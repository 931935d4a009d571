#include "mosaic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace digits {

namespace {

using gated::Index;

struct Colour {
  double red, green, blue;
};
constexpr Colour border{173, 181, 189};

/// White at 0, dark red at 1, dark blue at -1, through a lighter colour half way.
Colour diverging(double value) {
  constexpr std::array reds{Colour{255, 255, 255}, Colour{240, 132, 96}, Colour{165, 15, 38}};
  constexpr std::array blues{Colour{255, 255, 255}, Colour{96, 165, 214}, Colour{16, 62, 138}};
  const auto& ramp = value < 0 ? blues : reds;
  const double place = 2 * std::min(std::abs(value), 1.0);
  const std::size_t lower = place < 1 ? 0 : 1;
  const double part = place - static_cast<double>(lower);
  const auto mix = [&](double Colour::*c) { return ramp[lower].*c * (1 - part) + ramp[lower + 1].*c * part; };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

void fill(gated::Image& image, Index left, Index top, Index width, Index height, const Colour& colour) {
  for (Index y = top; y < top + height; ++y) {
    for (Index x = left; x < left + width; ++x) {
      auto* const pixel = &image.pixels[static_cast<std::size_t>(3 * (y * image.width + x))];
      pixel[0] = static_cast<std::uint8_t>(std::lround(colour.red));
      pixel[1] = static_cast<std::uint8_t>(std::lround(colour.green));
      pixel[2] = static_cast<std::uint8_t>(std::lround(colour.blue));
    }
  }
}

}  // namespace

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

  gated::Image image{
      .width = across * (panel_width + margin) + margin, .height = down * (panel_height + margin) + margin, .channels = 3};
  image.pixels.assign(static_cast<std::size_t>(image.width * image.height * 3), 255);
  for (Index p = 0; p < count; ++p) {
    const auto weight = panels[static_cast<std::size_t>(p)].bottomRightCorner(grid.area(), grid.area());
    const double scale = std::max(static_cast<double>(weight.cwiseAbs().maxCoeff()), 1e-30);
    const Index panel_left = margin + p % across * (panel_width + margin);
    const Index panel_top = margin + p / across * (panel_height + margin);
    for (Index i = 0; i < grid.area(); ++i) {
      const Index left = panel_left + i % grid.width * (tile_width + gap);
      const Index top = panel_top + i / grid.width * (tile_height + gap);
      fill(image, left - 1, top - 1, tile_width + 2, tile_height + 2, border);
      for (Index j = 0; j < grid.area(); ++j) {
        fill(image, left + j % grid.width * dot, top + j / grid.width * dot, dot, dot,
             diverging(static_cast<double>(weight(i, j)) / scale));
      }
    }
  }
  return image;
}

}  // namespace digits
