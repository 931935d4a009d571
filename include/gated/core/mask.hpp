#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// Token masks.

namespace gated {

/// One entry per token of the batch, 0 to hide the token; empty if no token is hidden.
///
/// A ragged batch has no padding, so a mask is only needed to hide tokens inside a sequence.
using Mask = std::span<const std::uint8_t>;

/// The entries of the `length` tokens from `offset` on; empty if `mask` is empty.
inline Mask mask_part(Mask mask, Index offset, Index length) {
  return mask.empty() ? mask : mask.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

/// The number of visible tokens among the `length` tokens from `offset` on. `mask` must not be empty.
inline Index unmasked(Mask mask, Index offset, Index length) {
  const Mask part = mask_part(mask, offset, length);
  return static_cast<Index>(part.size()) - std::count(part.begin(), part.end(), std::uint8_t{0});
}

/// A layer's requirements for a mask.
struct MaskDemands {
  bool softmax = false;  ///< each non-empty sequence needs a visible token, else its softmax is undefined
};

/// Raises ShapeError unless each non-empty sequence has a visible token; `visible(offset, length)` counts them.
template <class Visible>
void expect_visible_tokens(Where where, const Sequences& sequences, const Visible& visible) {
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b);
    require<ShapeError>(length == 0 || visible(sequences.offset(b), length) > 0, where,
                        ": the mask leaves no token of sequence ", b,
                        " for the softmax to attend to. Leave the sequence out of the batch.");
  }
}

/// Raises ShapeError unless `mask` is empty, or has one entry per token and satisfies `demands`.
inline void expect_mask(Where where, Mask mask, const Sequences& sequences, const MaskDemands& demands = {}) {
  if (mask.empty()) {
    return;
  }
  require<ShapeError>(static_cast<Index>(mask.size()) == sequences.total(), where, ": the mask has ", mask.size(),
                      " entries, expected ", sequences.total(), ", one per token.");
  if (demands.softmax) {
    expect_visible_tokens(where, sequences, [&](Index offset, Index length) { return unmasked(mask, offset, length); });
  }
}

/// The mask as scalars 0 and 1, allocated from `memory`, such as a workspace; nullptr for an empty mask.
template <class T, class Memory>
const T* mask_values(Mask mask, Memory& memory) {
  if (mask.empty()) {
    return nullptr;
  }
  T* const values = memory.take(static_cast<Index>(mask.size()));
  std::transform(mask.begin(), mask.end(), values, [](std::uint8_t entry) { return entry == 0 ? T{0} : T{1}; });
  return values;
}

}  // namespace gated
