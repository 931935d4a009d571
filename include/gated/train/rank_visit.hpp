#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gated/core/error.hpp"

/// @file
/// The handshake between ranks before each collective operation.

namespace gated::detail {

/// The operation a rank is about to enter. Trivially copyable: it is sent as bytes.
struct RankVisit {
  enum Kind : std::uint64_t { reduces, compares, leaves } kind;
  std::array<std::uint64_t, 2> numbers;  ///< step and parameter count (reduces), fingerprint (compares), or steps done (leaves)

  std::string describe() const {
    return kind == reduces    ? text("is at step ", numbers[0], " with ", numbers[1], " parameters")
           : kind == compares ? "is in expect_same()"
                              : text("left after step ", numbers[0]);
  }

  /// True if both ranks enter the same operation.
  bool meets(const RankVisit& other) const { return kind == other.kind && (kind != reduces || numbers == other.numbers); }
};

/// Describes all ranks if they are out of step: "rank 0 is at step 11 with 100 parameters, rank 1 left after step 10".
/// Otherwise empty.
inline std::string parted_ranks(const std::vector<RankVisit>& visits) {
  std::string list;
  if (!std::all_of(visits.begin(), visits.end(), [&](const RankVisit& visit) { return visit.meets(visits.front()); })) {
    for (std::size_t rank = 0; rank < visits.size(); ++rank) {
      list += text(list.empty() ? "" : ", ", "rank ", rank, " ", visits[rank].describe());
    }
  }
  return list;
}

}  // namespace gated::detail
