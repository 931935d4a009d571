#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/core/unset.hpp"

/// @file
/// A printable table of a model's parameters.

namespace gated {

namespace detail {

template <class T>
bool all_zero(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T value) { return value == T{0}; });
}

/// 5867328 as "5,867,328".
inline std::string grouped(Index count) {
  const std::string digits = text(count);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    out += i > 0 && (digits.size() - i) % 3 == 0 ? "," : "";
    out += digits[i];
  }
  return out;
}

}  // namespace detail

/// A table with one line per parameter (name, shape, count) and the total:
///
///     patch_embedding.weight          [128, 3, 16, 16]        98,304
///     …
///     head.weight                     [1000, 128]            128,000  all zero: outputs only its bias until trained
///     …
///     303 tensors                                          5,867,328
///
/// Notes mark weights that are all zero (such as the head of a new image classifier), weights that were never set, and text
/// models that are not causal. `std::cout << summary(model)` prints the table.
template <class Model>
std::string summary(const Model& model) {
  struct Line {
    std::string name, shape, count;
    const char* note = "";
  };
  std::vector<Line> lines;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        const bool starts_at_zero = info.role == Role::bias || info.role == Role::norm || info.role == Role::constant;
        const char* note = "";
        if (is_unset(values.front())) {
          note = "  never set";
        } else if (!starts_at_zero && detail::all_zero(values)) {
          note = info.role == Role::weight ? "  all zero: outputs only its bias until trained" : "  all zero";
        }
        lines.push_back({info.path(), info.shape.describe(), detail::grouped(static_cast<Index>(values.size())), note});
      },
      model);
  const std::size_t tensors = lines.size();
  lines.push_back({text(tensors, tensors == 1 ? " tensor" : " tensors"), "", detail::grouped(parameter_count(model))});

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
    table += std::string(count_width - line.count.size(), ' ') + line.count + line.note + '\n';
  }
  if constexpr (requires { model.is_causal(), model.config.vocabulary; }) {
    table += model.is_causal()
                 ? ""
                 : "not causal: it can neither learn to predict the next token nor stream. Build it with causal = true.\n";
  }
  return table;
}

}  // namespace gated
