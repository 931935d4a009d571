#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "time_axis.hpp"

namespace forecast {

/// Time series as a file has them. A row is a series, a column a time.
struct Table {
  std::string time_name;
  std::vector<std::string> names;  ///< of the series
  std::vector<std::string> times;
  std::vector<gated::Index> lines;  ///< of the times in the file; 0 for rows that are missing there
  TimeAxis axis;
  char separator = ',';
  bool decimal_comma = false;
  gated::Matrix<float> values;         ///< series × times; 0 in gaps
  std::vector<std::uint8_t> observed;  ///< the same shape, 0 in gaps
  gated::Index past = 0;               ///< times that have come; in those after them only some series are known

  gated::Index series() const { return values.rows(); }
  gated::Index length() const { return values.cols(); }
};

/// Reads a CSV as split() splits it: a header, then lines of a time and a number for each series. Empty fields, NA, N/A, null,
/// none and nan are gaps, and so are rows that are missing between two times. Decimal commas are read where they cannot be
/// anything else.
/// Errors: FileError with line and column for what is no number or may be two, for lines of another length, for a first line
/// without names or with one name twice, for a column without numbers, for UTF-16; and those of split() and TimeAxis.
Table read_table(const std::filesystem::path& path);

/// The numbers of the columns of those names, in their order.
/// Errors: ArgumentError for a name that no column has.
std::vector<gated::Index> columns_named(const Table& table, const std::vector<std::string>& names);

/// Puts column `known[i]` to place `places[i]`, both of which are none twice, and all others into the places left, in their
/// order. The past then ends with the last row in which one of those others is observed, unless nothing is known.
/// Errors: FileError with the line for a gap in the past of a column that is known.
void arrange(Table& table, const std::vector<gated::Index>& known, const std::vector<gated::Index>& places);

/// What a user should know of the rows, in lines to print: gaps, missing rows, and times that are not understood; may be empty.
std::string notes(const Table& table);

/// The `count` times after the past: those in the table, then as the axis continues, or +1, +2, … in an unknown notation.
std::vector<std::string> times_after(const Table& table, gated::Index count);

/// Writes the columns of `values` after the header of `table`, with its separator and decimals, NaN as empty fields. `names`
/// are those of the columns.
void write_forecast(const std::filesystem::path& path, const Table& table, const std::vector<std::string>& names,
                    const gated::Matrix<float>& values);

}  // namespace forecast
