#include "table.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "gated/io/atomic_file.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/parse_number.hpp"

namespace forecast {

using gated::FileError, gated::Index, gated::require, gated::raise;

namespace {

/// The fields of the first line of `text`, which is taken away.
std::vector<std::string_view> take_line(std::string_view& text) {
  const std::size_t newline = text.find('\n');
  std::string_view line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

/// Days since 1970 of "2014-12-31".
std::optional<std::chrono::sys_days> day_of(const std::string& text) {
  int year = 0, end = 0;
  unsigned month = 0, day = 0;
  if (text.size() != 10 || std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &end) != 3 || end != 10) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

}  // namespace

Table read_table(const std::filesystem::path& path) {
  const gated::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const std::string name = path.string();
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);  // the byte order mark that spreadsheets write
  }
  Table table;
  const auto header = take_line(text);
  require<FileError>(header.size() >= 2, name, ": line 1 names ", header.size(),
                     " columns, expected one of times and one for each series.");
  table.time_name = header.front();
  table.names.assign(header.begin() + 1, header.end());
  std::vector<float> numbers;  // time by time
  for (Index line = 2; !text.empty(); ++line) {
    const auto fields = take_line(text);
    require<FileError>(fields.size() == header.size(), name, ": line ", line, " has ", fields.size(),
                       " columns, the header has ", header.size(), ".");
    table.times.emplace_back(fields.front());
    for (std::size_t k = 1; k < fields.size(); ++k) {
      float value = std::nanf("");
      const bool gap = fields[k].find_first_not_of(" \t") == std::string_view::npos;
      if (!gap && (!gated::parse_number(fields[k], value) || std::isinf(value))) {
        raise<FileError>(name, ": line ", line, ", column ", k + 1, ": \"", gated::printable(fields[k]), "\" is not a number.");
      }
      numbers.push_back(value);
    }
  }
  const auto series = static_cast<Index>(table.names.size()), length = static_cast<Index>(table.times.size());
  table.values = Eigen::Map<const gated::Matrix<float>>(numbers.data(), length, series).transpose();
  for (float& value : table.values.reshaped<Eigen::RowMajor>()) {
    table.observed.push_back(std::isnan(value) ? 0 : 1);
    value = std::isnan(value) ? 0 : value;
  }
  table.past = length;
  return table;
}

std::vector<Index> columns_named(const Table& table, const std::vector<std::string>& names) {
  std::vector<Index> columns;
  for (const std::string& name : names) {
    const auto found = std::find(table.names.begin(), table.names.end(), name);
    require<gated::ArgumentError>(found != table.names.end(), "no column is called \"", gated::printable(name),
                                  "\"; the nearest is \"", gated::nearest_name(name, table.names), "\".");
    columns.push_back(found - table.names.begin());
    require<gated::ArgumentError>(std::count(columns.begin(), columns.end(), columns.back()) == 1, "the column \"", name,
                                  "\" is named twice.");
  }
  return columns;
}

void arrange(Table& table, const std::vector<Index>& known, const std::vector<Index>& places) {
  std::vector<Index> from(table.names.size(), -1);  // the column for each place
  for (std::size_t i = 0; i < known.size(); ++i) {
    from[static_cast<std::size_t>(places[i])] = known[i];
  }
  Index next = 0;
  for (Index& column : from) {
    while (column < 0 && std::count(known.begin(), known.end(), next) > 0) {
      ++next;
    }
    column = column < 0 ? next++ : column;
  }
  const Table old = table;
  Index past = 0;
  for (Index m = 0; m < old.series(); ++m) {
    const auto place = static_cast<std::size_t>(m), column = static_cast<std::size_t>(from[place]);
    table.names[place] = old.names[column];
    table.values.row(m) = old.values.row(from[place]);
    for (Index i = 0; i < old.length(); ++i) {
      const auto at = [&](std::size_t series) {
        return series * static_cast<std::size_t>(old.length()) + static_cast<std::size_t>(i);
      };
      table.observed[at(place)] = old.observed[at(column)];
      if (old.observed[at(column)] != 0 && std::count(known.begin(), known.end(), from[place]) == 0) {
        past = std::max(past, i + 1);
      }
    }
  }
  table.past = known.empty() ? old.length() : past;
}

std::vector<std::string> times_after(const Table& table, Index count) {
  const std::size_t length = table.times.size();
  std::vector<std::string> times(table.times.begin() + table.past, table.times.end());
  times.resize(static_cast<std::size_t>(std::min<Index>(count, table.length() - table.past)));
  const auto last = length > 1 ? day_of(table.times[length - 1]) : std::nullopt;
  const auto before = length > 1 ? day_of(table.times[length - 2]) : std::nullopt;
  for (Index i = 1; static_cast<Index>(times.size()) < count; ++i) {
    if (last && before) {
      const std::chrono::year_month_day date = *last + i * (*last - *before);
      char text[64];
      std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                    static_cast<unsigned>(date.day()));
      times.emplace_back(text);
    } else {
      times.push_back(gated::text("+", static_cast<Index>(times.size()) + 1));
    }
  }
  return times;
}

void write_forecast(const std::filesystem::path& path, const Table& table, const gated::Matrix<float>& values) {
  std::FILE* const file = std::fopen(path.string().c_str(), "wb");
  require<FileError>(file != nullptr, path.string(), ": cannot be written.");
  const auto times = times_after(table, values.cols());
  std::fprintf(file, "%s", table.time_name.c_str());
  for (const std::string& name : table.names) {
    std::fprintf(file, ",%s", name.c_str());
  }
  for (Index t = 0; t < values.cols(); ++t) {
    std::fprintf(file, "\n%s", times[static_cast<std::size_t>(t)].c_str());
    for (Index m = 0; m < values.rows(); ++m) {
      const auto value = static_cast<double>(values(m, t));
      std::fprintf(file, std::isnan(value) ? "," : ",%.6g", value);
    }
  }
  std::fputs("\n", file);
  require<FileError>(std::fclose(file) == 0, path.string(), ": cannot be written.");
}

}  // namespace forecast
