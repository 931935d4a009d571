#pragma once

#include "common/chart.hpp"
#include "gated/gated.hpp"

namespace gates {

/// A picture of weights between the patches of `grid`, patches × patches: row p of them is a tile, laid out as the patches are,
/// in the place of patch p. Below, the mean of all rows by offset.
examples::Figure draw_filters(const gated::Matrix<float>& weights, gated::ImageSize grid);

/// A picture of weights along a sequence, N × N: the matrix, and below it the mean of all rows by offset, as bars.
examples::Figure draw_matrix(const gated::Matrix<float>& weights);

/// The tiles of some rows, or of a sequence their strips. Errors: ArgumentError for a row that is not there.
examples::Figure draw_rows(const gated::Matrix<float>& weights, gated::ImageSize grid, const std::vector<gated::Index>& rows);

}  // namespace gates
