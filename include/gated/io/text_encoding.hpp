#pragma once

#include <algorithm>
#include <string_view>

#include "gated/core/error.hpp"

/// @file
/// Detects text files in UTF-16.

namespace gated {

namespace detail {

/// True if `text` is UTF-16: it begins with a byte order mark, or with pairs of an ASCII character and a zero byte.
inline bool is_utf16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return true;
  }
  const std::string_view start = text.substr(0, std::min<std::size_t>(text.size(), 16) / 2 * 2);
  const auto is_latin = [](char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); };
  const auto all_pairs = [&](std::size_t zero) {
    for (std::size_t i = 0; i < start.size(); i += 2) {
      if (start[i + zero] != '\0' || !is_latin(start[i + 1 - zero])) {
        return false;
      }
    }
    return start.size() >= 4;
  };
  return all_pairs(0) || all_pairs(1);
}

inline constexpr const char* utf16_problem = "the text is in UTF-16. Save it as UTF-8: iconv -f UTF-16 -t UTF-8.";

}  // namespace detail

/// Raises FileError if `text`, called `name` in messages, is UTF-16.
inline void expect_utf8(std::string_view text, std::string_view name) {
  require<FileError>(!detail::is_utf16(text), name, ": ", detail::utf16_problem);
}

}  // namespace gated
