#pragma once

#include "common/chart.hpp"
#include "gated/models/gmlp.hpp"

/// Spatial weights as pictures, as in Figure 3 of the gMLP paper (arXiv:2105.08050).

namespace examples {

/// The magnitude drawn in full colour: the 99.5 % quantile of the nonzero weights, so outliers do not fade the rest.
float full_colour(const gated::Matrix<float>& weights);

/// Draws `weights`, a matrix of patches × patches, as tiles. Row p becomes the tile at the position of patch p in `grid`;
/// inside the tile, its weights are laid out like the patches.
HeatMap filters(const gated::Matrix<float>& weights, gated::ImageSize grid);

/// The filters of all blocks and heads, without the class token's weights, on one colour scale.
Figure spatial_weights(const gated::GmlpImageClassifier<float>& model);

}  // namespace examples
