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

  gated::Index series() const { return values.rows(); }
  gated::Index length() const { return values.cols(); }
};

/// Reads a CSV: a header, then lines of a time and a number for each series; an empty field or "nan" is a gap.
/// Errors: FileError with line and column for fields that are no numbers, and for lines of another length.
Table read_table(const std::filesystem::path& path);

/// The `count` times that follow: days after days written as 2014-12-31, otherwise +1, +2, …
std::vector<std::string> times_after(const Table& table, gated::Index count);

/// Writes the columns of `values` as lines after the header of `table`.
void write_forecast(const std::filesystem::path& path, const Table& table, const gated::Matrix<float>& values);

}  // namespace forecast
