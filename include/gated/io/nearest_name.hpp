#pragma once

#include "gated/core/compiler.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// Names in error messages: suggestions, and printable forms of names from files.

namespace gated {

/// The Levenshtein distance: the smallest number of bytes to insert, remove or replace to turn `a` into `b`.
/// Cost: |a|·|b|.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// The candidate with the smallest edit distance to `name`, the first one in a tie; empty if there are no candidates.
///
/// Skips names longer than 256 bytes, and all candidates after the first 2,000: they can come from an untrusted file.
template <class Names>
std::string_view nearest_name(std::string_view name, const Names& candidates) {
  constexpr std::size_t longest = 256, most = 2000;
  std::string_view nearest;
  std::size_t least = longest + 1, seen = 0;
  for (const std::string_view candidate : candidates) {
    if (++seen > most || name.size() > longest) {
      break;
    }
    const std::size_t difference = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (candidate.size() > longest || difference >= least) {
      continue;  // the distance is at least the difference of the lengths
    }
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/// `name` as shown in a message: control characters become '?', and everything after 200 bytes is cut off.
inline std::string printable(std::string_view name) {
  std::size_t length = name.size();
  if (length > 200) {
    length = 200;
    while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) {
      --length;  // do not cut a UTF-8 character in two
    }
  }
  std::string out(name.substr(0, length));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return length < name.size() ? out + "…" : out;
}

}  // namespace gated
