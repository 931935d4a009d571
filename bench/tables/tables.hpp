#pragma once

#include <cmath>
#include <iostream>
#include <string_view>

#include "flops.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/presets.hpp"
#include "measure.hpp"

/// @file
/// The tables that reviewers of these papers asked for, as lines of CSV: table,series,x,quantity,value.

namespace bench {

struct TableOptions {
  Threads threads{most_threads()};
  bool quick = false;  ///< only to see that everything works

  int runs() const { return quick ? 1 : 7; }
};

inline void print_row(std::string_view table, std::string_view series, Index x, std::string_view quantity, double value) {
  std::cout << table << ',' << series << ',' << x << ',' << quantity << ',' << value << std::endl;
}

/// The median milliseconds of a call of `f`.
template <class F>
double milliseconds(const TableOptions& options, F&& f) {
  return 1e3 * median(time_runs(options.runs(), f));
}

template <class Model>
double megabytes(const Model& model) {
  return 1e-6 * sizeof(float) * static_cast<double>(gated::parameter_count(model));
}

inline double megabytes(std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); }

/// gMLP-base by length, with the share of its spatial part.
void table_of_lengths(const TableOptions&);

/// A Transformer block, two gated attention units and two FLASH layers, by length.
void table_of_blocks(const TableOptions&);

/// Tokens per second of streaming, by position.
void table_of_streaming(const TableOptions&);

/// Whole models by threads.
void table_of_threads(const TableOptions&);

/// The forms of a spatial projection, by length.
void table_of_spatial_forms(const TableOptions&);

}  // namespace bench
