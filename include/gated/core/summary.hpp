#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "gated/core/parameters.hpp"

/// @file
/// A printable table of a model's parameters.

namespace gated {

/// A table with one line per parameter (name, shape, count) and the total:
///
///     patch_embedding.weight          [128, 3, 16, 16]        98,304
///     …
///     303 tensors                                          5,867,328
///
/// `std::cout << summary(model)` prints it.
template <class Model>
std::string summary(const Model& model) {
  struct Line {
    std::string name, shape, count;
  };
  const auto grouped = [](Index count) {  // 5867328 → "5,867,328"
    const std::string digits = text(count);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      out += i > 0 && (digits.size() - i) % 3 == 0 ? "," : "";
      out += digits[i];
    }
    return out;
  };

  std::vector<Line> lines;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        lines.push_back({info.path(), info.shape.describe(), grouped(static_cast<Index>(values.size()))});
      },
      model);
  const std::size_t tensors = lines.size();
  lines.push_back({text(tensors, tensors == 1 ? " tensor" : " tensors"), "", grouped(parameter_count(model))});

  std::size_t name_width = 0, shape_width = 0, count_width = 0;
  for (const Line& line : lines) {
    name_width = std::max(name_width, line.name.size());
    shape_width = std::max(shape_width, line.shape.size());
    count_width = std::max(count_width, line.count.size());
  }
  std::string table;
  for (const Line& line : lines) {
    table += line.name + std::string(name_width - line.name.size() + 2, ' ');
    table += line.shape + std::string(shape_width - line.shape.size() + 2, ' ');
    table += std::string(count_width - line.count.size(), ' ') + line.count + '\n';
  }
  return table;
}

}  // namespace gated
