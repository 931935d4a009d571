#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "gated/io/csv.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/parse_number.hpp"
#include "gated/io/text_encoding.hpp"

namespace gated {

namespace detail {

/// The remedy in the error message for a field that is not a number; empty if the field contains no other common separator.
inline std::string remedy_for(std::string_view field, char separator) {
  for (const char other : {';', '\t', '|', ','}) {
    if (other == separator || field.find(other) == std::string_view::npos) {
      continue;
    }
    const std::string shown = other == '\t' ? "a tab" : text("'", std::string_view(&other, 1), "'");
    return text(" If ", shown, " separates the fields, set separator to it.",
                other == ',' ? " If it is a decimal comma, write a point instead." : "");
  }
  return {};
}

}  // namespace detail

template <std::floating_point T>
Matrix<T> parse_csv(std::string_view csv, std::string_view name, const CsvOptions& options) {
  expect_utf8(csv, name);
  if (csv.starts_with("\xEF\xBB\xBF")) {
    csv.remove_prefix(3);  // a byte order mark, which spreadsheets write
  }
  std::vector<T> values;
  Index rows = 0, columns = 0;
  for (Index line_number = 1; !csv.empty(); ++line_number) {
    const std::size_t newline = csv.find('\n');
    std::string_view line = csv.substr(0, newline);
    csv.remove_prefix(newline == std::string_view::npos ? csv.size() : newline + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    // A CR in a header line is harmless, unless the header is the whole file: then all lines probably end in CR alone.
    require<FileError>(line.find('\r') == std::string_view::npos || (line_number <= options.header_lines && !csv.empty()), name,
                       ": line ", line_number,
                       " has a CR in it. If lines end in CR alone, as on old Macs, convert them to LF: ", "tr '\\r' '\\n'.");
    if (line_number <= options.header_lines) {
      continue;
    }
    require<FileError>(!line.empty(), name, ": line ", line_number, " is empty.");
    Index column = 0;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(options.separator, begin), line.size());
      const std::string_view field = line.substr(begin, end - begin);
      begin = end + 1;
      ++column;
      T value{};
      if (!parse_number(field, value)) {
        raise<FileError>(name, ": line ", line_number, ", column ", column, ": \"", printable(field), "\" is not a number",
                         rows == 0 && options.header_lines == 0 ? " (is this a header? Then set header_lines)." : ".",
                         detail::remedy_for(field, options.separator));
      }
      values.push_back(value);
    }
    require<FileError>(rows == 0 || column == columns, name, ": line ", line_number, " has ", column,
                       " columns, but the lines before it have ", columns, ".");
    columns = column;
    ++rows;
  }
  require<FileError>(rows > 0, name, ": there are no numbers.");
  return Eigen::Map<const Matrix<T>>(values.data(), rows, columns);
}

template <std::floating_point T>
Matrix<T> read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return parse_csv<T>({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(), options);
}

}  // namespace gated
