#pragma once

#include "common/chart.hpp"
#include "gated/models/gmlp.hpp"

/// Spatial weights as pictures, as in Figure 3 of the gMLP paper (arXiv:2105.08050).

namespace examples {

/// The size of a weight that gets the full colour: 99.5 % of those that are not 0 are no larger, so that a few do not pale the
/// rest.
float full_colour(const gated::Matrix<float>& weights);

/// Weights between the patches of `grid`, patches × patches: row p is a tile, laid out as the patches are, in the place of
/// patch p.
HeatMap filters(const gated::Matrix<float>& weights, gated::ImageSize grid);

/// The filters of every block and head, without a class token, in two columns and the same colours.
Figure spatial_weights(const gated::GmlpImageClassifier<float>& model);

}  // namespace examples
