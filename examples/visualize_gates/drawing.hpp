#pragma once

#include "common/chart.hpp"
#include "gated/gated.hpp"

namespace gates {

/// Draws weights between the patches of `grid`: each row of the matrix as a tile, and the mean of all rows by offset.
examples::Figure draw_filters(const gated::Matrix<float>& weights, gated::ImageSize grid);

/// Draws weights between tokens: the N × N matrix, and the mean of all rows by offset, as bars.
examples::Figure draw_matrix(const gated::Matrix<float>& weights);

/// Draws the given rows as tiles, or as strips for a sequence. Errors: ArgumentError for a row that does not exist.
examples::Figure draw_rows(const gated::Matrix<float>& weights, gated::ImageSize grid, const std::vector<gated::Index>& rows);

}  // namespace gates
