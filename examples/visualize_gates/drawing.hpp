#pragma once

#include "gated/gated.hpp"
#include "gated/io/image.hpp"

namespace gates {

/// The size of a weight that gets the full colour: 99.5 % of the numbers are no larger, so that a few do not pale the rest.
float full_colour(const gated::Matrix<float>& weights);

/// A picture of weights between the patches of `grid`, patches × patches, as in Figure 3 of the gMLP paper (arXiv:2105.08050).
///
/// Row p is a tile, laid out as the patches are, in the place of patch p; a frame marks p itself. On the right, in the same
/// colours, the mean of all filters by offset. Red adds, blue subtracts, white is zero.
gated::Image draw_filters(const gated::Matrix<float>& weights, gated::ImageSize grid, float full);

/// A picture of weights along a sequence, N × N: the matrix, row i from the top on, and below it the mean of all rows by
/// offset, as bars; the middle bar is the token itself, on its left the tokens before it.
gated::Image draw_matrix(const gated::Matrix<float>& weights, float full);

/// The tiles (a sequence: strips) of some rows, enlarged. Errors: ArgumentError for a row that is not there.
gated::Image draw_rows(const gated::Matrix<float>& weights, gated::ImageSize grid, const std::vector<gated::Index>& rows,
                       float full);

}  // namespace gates
