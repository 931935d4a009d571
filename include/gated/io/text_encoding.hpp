#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "gated/core/error.hpp"

/// @file
/// Detects text in UTF-16 and UTF-32.

namespace gated {

namespace detail {

/// True if `text` begins with pairs of an ASCII character and a zero byte, as UTF-16 without a byte order mark does.
inline bool is_unmarked_utf16(std::string_view text) {
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

/// The error message for text in UTF-32 or UTF-16; empty for other text.
inline std::string encoding_problem(std::string_view text) {
  using namespace std::string_view_literals;
  const auto is_marked = [text](std::string_view little, std::string_view big) {
    return text.starts_with(little) || text.starts_with(big);
  };
  const char* const encoding = is_marked("\xFF\xFE\0\0"sv, "\0\0\xFE\xFF"sv)                      ? "UTF-32"
                               : is_marked("\xFF\xFE"sv, "\xFE\xFF"sv) || is_unmarked_utf16(text) ? "UTF-16"
                                                                                                  : "";
  return *encoding == 0 ? ""
                        : gated::text("the text is in ", encoding, ". Save it as UTF-8: iconv -f ", encoding, " -t UTF-8.");
}

}  // namespace detail

/// Raises FileError if `text`, called `name` in messages, is in UTF-16 or UTF-32.
inline void expect_utf8(std::string_view text, std::string_view name) {
  const std::string problem = detail::encoding_problem(text);
  require<FileError>(problem.empty(), name, ": ", problem);
}

}  // namespace gated
