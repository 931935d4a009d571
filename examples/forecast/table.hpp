#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"

namespace forecast {

/// Time series as a file has them. A row is a series, a column a time.
struct Table {
  std::string time_name;
  std::vector<std::string> names;  ///< of the series
  std::vector<std::string> times;
  gated::Matrix<float> values;         ///< series × times; 0 in gaps
  std::vector<std::uint8_t> observed;  ///< the same shape, 0 in gaps
  gated::Index past = 0;               ///< times that have come; in those after them only some series are known

  gated::Index series() const { return values.rows(); }
  gated::Index length() const { return values.cols(); }
};

/// Reads a CSV: a header, then lines of a time and a number for each series; an empty field or "nan" is a gap.
/// Errors: FileError with line and column for fields that are no numbers, and for lines of another length.
Table read_table(const std::filesystem::path& path);

/// The numbers of the columns of those names, in their order.
/// Errors: ArgumentError for a name that no column has.
std::vector<gated::Index> columns_named(const Table& table, const std::vector<std::string>& names);

/// Puts column `known[i]` to place `places[i]`, both of which are none twice, and all others into the places left, in their
/// order. The past then ends with the last row in which one of those others is observed, unless nothing is known.
void arrange(Table& table, const std::vector<gated::Index>& known, const std::vector<gated::Index>& places);

/// The `count` times after the past: those in the table, after them days after days written as 2014-12-31, otherwise +1, +2, …
std::vector<std::string> times_after(const Table& table, gated::Index count);

/// Writes the columns of `values` as lines after the header of `table`, NaN as empty fields.
void write_forecast(const std::filesystem::path& path, const Table& table, const gated::Matrix<float>& values);

}  // namespace forecast
