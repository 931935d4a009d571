#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "time_axis.hpp"

namespace forecast {

/// The time series of a file: one row per series, one column per time.
struct Table {
  std::string time_name;
  std::vector<std::string> names;  ///< names of the series
  std::vector<std::string> times;
  std::vector<gated::Index> lines;  ///< the line of each time in the file; 0 for missing rows
  TimeAxis axis;
  char separator = ',';
  char decimal_mark = '.';
  gated::Matrix<double> values;        ///< series × times; 0 in gaps
  std::vector<std::uint8_t> observed;  ///< the same shape: 0 in gaps, otherwise 1
  gated::Index past = 0;               ///< number of past times; later times have values in known columns only

  gated::Index series() const { return values.rows(); }
  gated::Index length() const { return values.cols(); }
};

/// Reads a CSV (see split()): a header, then lines with a time and one number per series. Empty fields, NA, N/A, null, none and
/// nan are gaps, and so are rows missing between two times. The decimal mark is '.' or ','; the other may separate thousands.
/// Errors: FileError, with line and column, for a field that is ambiguous or not a number, for lines of different lengths, for
/// missing or duplicate names, for a column without numbers, and for text in UTF-16 or UTF-32 or names not in UTF-8; those of
/// split() and TimeAxis.
Table read_table(const std::filesystem::path& path);

/// The indices of the columns with these names, in this order.
/// Errors: ArgumentError for an unknown or repeated name.
std::vector<gated::Index> columns_named(const Table& table, const std::vector<std::string>& names);

/// Moves column `known[i]` to position `places[i]` (no duplicates in either). The other columns fill the remaining positions in
/// their order. If `known` is not empty, the past ends with the last row in which a column outside `known` has a value.
/// Errors: FileError, with the line, for a gap in the past of a known column.
void arrange(Table& table, const std::vector<gated::Index>& known, const std::vector<gated::Index>& places);

/// Errors: FileError, with the line, for a gap in the first `rows` rows of a column. The message says that `option` names it.
void expect_no_gaps(const Table& table, gated::Index column, gated::Index rows, const char* option);

/// Notes for the user about gaps, missing rows and times in an unknown notation; empty if there are none.
std::string notes(const Table& table);

/// The `count` times after the past. Times beyond the end of the table continue the axis or, if the notation is unknown, are
/// +1, +2, …
std::vector<std::string> times_after(const Table& table, gated::Index count);

/// Writes a CSV: a column of times after the past, then one column per row of `values`, with the headers `names`. Separator and
/// decimal mark are those of the input. NaN becomes an empty field.
void write_forecast(const std::filesystem::path& path, const Table& table, const std::vector<std::string>& names,
                    const gated::Matrix<double>& values);

}  // namespace forecast
