#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// Which tokens count.

namespace gated {

/// A 0 or 1 per token, all sequences one after the other; empty where every token counts.
///
/// A ragged batch needs no mask for padding, because it has none. Masks are for tokens in the middle that should not be seen.
using Mask = std::span<const std::uint8_t>;

/// The entries of `length` tokens from `offset` on; empty where every token counts.
inline Mask mask_part(Mask mask, Index offset, Index length) {
  return mask.empty() ? mask : mask.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

/// The number of tokens that count among `length` from `offset` on.
inline Index unmasked(Mask mask, Index offset, Index length) {
  const Mask part = mask_part(mask, offset, length);
  return static_cast<Index>(part.size()) - std::count(part.begin(), part.end(), std::uint8_t{0});
}

/// What a layer asks of a mask.
struct MaskDemands {
  bool softmax = false;  ///< each sequence must have a token that counts: a softmax is not defined over nothing
};

/// Raises ShapeError unless `mask` is empty, or holds an entry per token and is what the layer asks for.
inline void expect_mask(Where where, Mask mask, const Sequences& sequences, const MaskDemands& demands = {}) {
  if (mask.empty()) {
    return;
  }
  require<ShapeError>(static_cast<Index>(mask.size()) == sequences.total(), where, ": the mask has ", mask.size(),
                      " entries, expected ", sequences.total(), ", one per token.");
  for (Index b = 0; demands.softmax && b < sequences.count(); ++b) {
    const Index length = sequences.length(b);
    require<ShapeError>(length == 0 || unmasked(mask, sequences.offset(b), length) > 0, where,
                        ": the mask leaves no token of sequence ", b,
                        " for the softmax to attend to. Leave the sequence out of the batch.");
  }
}

/// The mask as numbers, in memory that `memory.take()` gives, such as a workspace's; nullptr for an empty one.
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
