// draw_lines FILE.svg < DESCRIPTION: draws curves, for draw.py in tables/ and papers/.
//
// Each line of the description is a keyword and its values, separated by tabs:
//
//     title   TEXT
//     x       TITLE linear|log
//     y       TITLE linear|log
//     mark    X  TEXT         a dashed vertical line
//     curve   NAME            starts a curve of the points that follow
//     point   X  Y [LOW HIGH] LOW and HIGH draw a band around the curve

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "common/chart.hpp"
#include "gated/core/error.hpp"

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  Words words;
  for (std::size_t begin = 0, end = 0; begin <= line.size(); begin = end + 1) {
    end = std::min(line.find('\t', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
  }
  return words;
}

void add(examples::Figure& figure, const Words& words) {
  examples::Panel& panel = figure.panels[0];
  const auto is = [&](const char* word, std::size_t least, std::size_t most) {
    return words[0] == word && words.size() > least && words.size() <= most + 1;
  };
  if (is("title", 1, 1)) {
    figure.title = words[1];
  } else if (is("x", 2, 2) || is("y", 2, 2)) {
    examples::Axis& axis = words[0] == "x" ? panel.x : panel.y;
    axis.title = words[1];
    axis.scale = words[2] == "log" ? examples::Scale::logarithmic : examples::Scale::linear;
  } else if (is("mark", 2, 2)) {
    panel.marks.emplace_back(std::stod(words[1]), words[2]);
  } else if (is("curve", 1, 1)) {
    const auto colour = examples::colour_of(panel.series.size() / 2);
    panel.series.push_back({.colour = colour, .form = examples::Form::band});
    panel.series.push_back({.name = words[1], .colour = colour});
  } else if ((is("point", 2, 2) || is("point", 4, 4)) && !panel.series.empty()) {
    examples::Series& curve = panel.series.back();
    examples::Series& band = panel.series.end()[-2];
    curve.x.push_back(std::stod(words[1]));
    curve.y.push_back(std::stod(words[2]));
    if (words.size() > 3) {
      band.x.push_back(curve.x.back());
      band.y.push_back(std::stod(words[3]));
      band.high.push_back(std::stod(words[4]));
    }
  } else {
    gated::raise<gated::ArgumentError>("cannot read \"", words[0], "\" with ", words.size() - 1, " values.");
  }
}

int run(const char* path) {
  examples::Figure figure{.title = "", .panels = {{.height = 300}}};
  for (std::string line; std::getline(std::cin, line);) {
    add(figure, words_of(line));
  }
  constexpr std::size_t few = 12;  // curves with at most this many points have a dot per point
  std::erase_if(figure.panels[0].series, [](const examples::Series& s) { return s.name.empty() && s.x.empty(); });
  for (examples::Series& s : figure.panels[0].series) {
    s.form = s.form == examples::Form::line && s.x.size() <= few ? examples::Form::dotted_line : s.form;
  }
  examples::write_svg(path, figure);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    gated::require<gated::ArgumentError>(count == 2,
                                         "expected one argument, the file to write. Pass the description on standard input.");
    return run(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "draw_lines: %s\n", error.what());
    return 1;
  }
}
