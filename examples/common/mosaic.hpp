#pragma once

#include "gated/io/image.hpp"
#include "gated/models/gmlp.hpp"

namespace digits {

/// A picture of the spatial weights W of every block, as in Figure 3 of the gMLP paper (arXiv:2105.08050).
///
/// A block is a panel. In it row i of W is a tile, laid out as the patches are, that shows how much the token at patch i takes
/// from each patch; the tile lies where patch i lies in the image. Red adds, blue subtracts, white is zero; the colours are
/// scaled for each block. Weights of a class token are left out.
gated::Image draw_spatial_weights(const gated::GmlpImageClassifier<float>& model);

}  // namespace digits
