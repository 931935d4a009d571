#pragma once

#include "common/chart.hpp"
#include "gated/gated.hpp"

namespace gates {

/// Weights between the patches of `grid`, patches × patches: filters(), and the mean of all rows by offset.
examples::Figure draw_filters(const gated::Matrix<float>& weights, gated::ImageSize grid);

/// Weights along a sequence, N × N: the matrix, and the mean of all rows by offset as bars.
examples::Figure draw_matrix(const gated::Matrix<float>& weights);

/// The tiles of some rows; for a sequence, strips. Errors: ArgumentError for a missing row.
examples::Figure draw_rows(const gated::Matrix<float>& weights, gated::ImageSize grid, const std::vector<gated::Index>& rows);

}  // namespace gates
