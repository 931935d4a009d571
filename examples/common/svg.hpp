#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gated/core/error.hpp"

/// The parts of an SVG document: style sheet, paths and lines of text.

namespace examples {

/// CSS classes for text, shapes and each Colour (c0, c1, …); `end` and `middle` set the text anchor. Text is larger on phones,
/// where the picture is small.
inline constexpr const char* style = R"(<style>
svg{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Helvetica,Arial,sans-serif}
text{fill:#1f2328}.soft{fill:#59636e}.title{font-size:1.15em;font-weight:600}.head{font-weight:600}
.end{text-anchor:end}.middle{text-anchor:middle}
.paper{fill:#fff}.grid{fill:none;stroke:#d8dee4}.axis{fill:none;stroke:#818b98}.frame{fill:none;stroke:#1f2328}
.mark{fill:none;stroke:#59636e;stroke-dasharray:4 3}
.line,.dots{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.dots{stroke-width:7}
.band{fill:currentColor;opacity:.22}.bars{fill:currentColor}
.cells{fill:none;shape-rendering:crispEdges}.more{stroke:#a50f26}.less{stroke:#0f4c9a}
.gaps{fill:none;stroke:#fff;stroke-width:1.5}
.c0{color:#1f2328}.c1{color:#8c959f}.c2{color:#d55e00}.c3{color:#0072b2}
.c4{color:#009e73}.c5{color:#b8609a}.c6{color:#e69f00}.c7{color:#56b4e9}
@media(max-width:520px){svg{font-size:17px}}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}
.paper{fill:#0d1117}.grid{stroke:#2f3742}.axis{stroke:#656c76}.frame{stroke:#e6edf3}.mark{stroke:#9198a1}
.more{stroke:#ff7b5c}.less{stroke:#5cabff}.gaps{stroke:#0d1117}
.c0{color:#e6edf3}.c1{color:#7d8590}.c2{color:#ff8b45}.c3{color:#4c9fe6}
.c4{color:#2fc79a}.c5{color:#e39ac8}.c6{color:#f0b43c}.c7{color:#a5dcff}}
</style>
)";

/// Escapes text for XML. Control characters become spaces.
inline std::string escaped(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    const bool control = static_cast<unsigned char>(c) < 0x20;
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, control ? ' ' : c);
  }
  return out;
}

/// A coordinate, rounded to a tenth.
inline std::string at(double value) { return gated::text(std::round(10 * value) / 10); }
inline std::string at(double x, double y) { return at(x) + " " + at(y); }
inline std::string box(double x, double y, double w, double h) {
  return gated::text("M", at(x, y), "h", at(w), "v", at(h), "h", at(-w), "z");
}
inline std::string path(const std::string& kind, const std::string& steps) {
  return steps.empty() ? "" : gated::text("<path class=\"", kind, "\" d=\"", steps, "\"/>\n");
}
/// A line of text, vertically centred at y.
inline std::string words(const std::string& kind, double x, double y, const std::string& plain) {
  return plain.empty() ? ""
                       : gated::text("<text class=\"", kind, "\" x=\"", at(x), "\" y=\"", at(y), "\" dy=\".35em\">",
                                     escaped(plain), "</text>\n");
}

inline constexpr double letter = 10;  // the width reserved for a letter, enough for the larger text on phones

/// The width reserved for a UTF-8 string.
inline double room_of(const std::string& utf8) {
  return letter * static_cast<double>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
/// The string, truncated with "…" if it is wider than `most`.
inline std::string fitted(std::string utf8, double most) {
  if (room_of(utf8) <= most) {
    return utf8;
  }
  while (!utf8.empty() && room_of(utf8) > most - letter) {
    utf8.pop_back();
  }
  return utf8 + "…";
}
/// The string, wrapped into lines no wider than `most`.
inline std::vector<std::string> lines_of(const std::string& whole, double most) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; begin < whole.size(); begin = end + 1) {
    end = std::min(whole.find(' ', begin), whole.size());
    const std::string word = whole.substr(begin, end - begin);
    if (lines.empty() || room_of(lines.back() + " " + word) > most) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
  }
  for (std::string& line : lines) {
    line = fitted(line, most);
  }
  return lines;
}

}  // namespace examples
