#include "table.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

#include "common/text_file.hpp"
#include "delimited_text.hpp"
#include "gated/io/atomic_file.hpp"
#include "gated/io/json.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/parse_number.hpp"

namespace forecast {

using gated::FileError, gated::Index, gated::require, gated::raise;

namespace {

bool is_gap(std::string field) {
  std::transform(field.begin(), field.end(), field.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view words[] = {"", "na", "n/a", "#n/a", "nan", "null", "none"};
  return std::find(std::begin(words), std::end(words), field) != std::end(words);
}

/// Reads a number within the range of float, with this decimal mark. The other mark may separate thousands: 1.234.567,8.
bool read_number(std::string field, char mark, double& value) {
  const char thousands = mark == '.' ? ',' : '.';
  const std::size_t first = field.find_first_not_of("+-"), end = std::min(field.find(mark), field.size());
  if (field.find(thousands) < end) {
    bool grouped = field[first] != '0' && field[first] != thousands;
    for (std::size_t i = first; i < end; ++i) {
      grouped = grouped && ((end - i) % 4 == 0 ? field[i] == thousands : field[i] >= '0' && field[i] <= '9');
    }
    if (!grouped) {
      return false;
    }
    const auto whole = field.begin() + static_cast<std::ptrdiff_t>(end);
    field.erase(std::remove(field.begin(), whole, thousands), whole);
  }
  std::replace(field.begin(), field.end(), mark, '.');
  return gated::parse_number(field, value) && std::isfinite(static_cast<float>(value));
}

/// The decimal mark with which all numbers can be read, '.' or ','.
/// Errors: FileError if neither mark fits, or both do: "1,234", or "1.234" between ';'.
char decimal_mark(const DelimitedText& text, const std::string& name) {
  std::string point, comma, either;  // the first number that fits the decimal point only, the comma only, and both
  for (std::size_t i = 1; i < text.rows.size(); ++i) {
    for (std::size_t k = 1; k < text.rows[i].fields.size(); ++k) {
      const std::string& field = text.rows[i].fields[k];
      double value = 0;
      const bool fits_point = read_number(field, '.', value), fits_comma = read_number(field, ',', value);
      const std::size_t mark = field.find_first_of(text.separator == ';' ? ".," : ",");
      std::string& first = fits_point == fits_comma ? either : fits_point ? point : comma;
      if (first.empty() && (fits_point != fits_comma || (fits_point && mark != std::string::npos))) {
        first = gated::text("line ", text.rows[i].line, ", column ", k + 1, ": \"", field, "\"");
        if (&first == &either) {
          first += gated::text(" is ambiguous. Write ", std::string(field).erase(mark, 1), " or ", field, "0.");
        }
      }
    }
  }
  require<FileError>(point.empty() || comma.empty(), name, ": ", point, " and ", comma,
                     " have different decimal marks. Write numbers as 1234.5.");
  require<FileError>(either.empty() || !point.empty() || !comma.empty(), name, ": ", either);
  return comma.empty() ? '.' : ',';
}

/// The location of row `i` for messages: "in line 12" or, for a missing row, "at 2014-12-31".
std::string where(const Table& table, Index i) {
  const Index line = table.lines[static_cast<std::size_t>(i)];
  return line > 0 ? gated::text("in line ", line) : gated::text("at ", table.times[static_cast<std::size_t>(i)]);
}

/// True if the first line is a row of data, not a header.
bool is_row(const std::vector<std::string>& header, const Table& table) {
  const bool are_numbers = std::all_of(header.begin() + 1, header.end(), [&](const std::string& field) {
    double value = 0;
    return is_gap(field) || read_number(field, table.decimal_mark, value);
  });
  return are_numbers && (!table.axis.known() || std::any_of(std::begin(time_forms), std::end(time_forms), [&](TimeForm form) {
           return read_time(header[0], form).has_value();
         }));
}

/// Checks `fields`, the header.
/// Errors: FileError if it is a row of numbers, if a name is not UTF-8, or if the name of a series is empty or repeated.
void expect_names(const std::vector<std::string>& fields, const Table& table, const std::string& name) {
  require<FileError>(!is_row(fields, table), name,
                     ": line 1 has numbers, expected names. Put a line before it, such as time,load.");
  for (std::size_t k = 0; k < fields.size(); ++k) {
    require<FileError>(gated::detail::is_utf8(fields[k]), name, ": line 1: the name of column ", k + 1,
                       " is not in UTF-8. Save the file as UTF-8.");
  }
  for (std::size_t k = 1; k < fields.size(); ++k) {
    require<FileError>(!fields[k].empty(), name, ": line 1: column ", k + 1, " has no name. Name it, or leave it out.");
    const auto same = static_cast<std::size_t>(std::find(fields.begin(), fields.end(), fields[k]) - fields.begin());
    require<FileError>(same == k, name, ": line 1: columns ", same + 1, " and ", k + 1, " are both called \"",
                       gated::printable(fields[k]), "\". Rename one of them.");
  }
}

/// Errors: FileError unless there are a header and a row, at least two columns, and equally many in all rows.
void expect_shape(const std::vector<DelimitedText::Row>& rows, const std::string& name) {
  require<FileError>(rows.size() >= 2, name, ": expected a header and rows, got ", rows.size(), " lines.");
  const std::vector<std::string>& header = rows[0].fields;
  require<FileError>(header.size() >= 2, name, ": line 1 names ", header.size(),
                     " columns, expected one column of times and one per series.");
  for (const auto& row : rows) {
    require<FileError>(row.fields.size() == header.size(), name, ": line ", row.line, " has ", row.fields.size(),
                       " columns, the header has ", header.size(), ".");
  }
}

/// Reads the rows below the header into their places on the table's axis. The decimal mark and the names must be set.
/// Errors: FileError for a field that is neither a number nor a gap; those of TimeAxis::at().
void read_rows(const std::vector<DelimitedText::Row>& rows, const std::string& name, Table& table) {
  const std::vector<Index>& places = table.axis.places();
  const auto series = static_cast<Index>(table.names.size()), length = places.back() + 1;
  table.values.setZero(series, length);
  table.observed.assign(static_cast<std::size_t>(series * length), 0);
  table.lines.assign(static_cast<std::size_t>(length), 0);
  table.times.resize(static_cast<std::size_t>(length));
  table.past = length;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Index place = places[i - 1];
    table.times[static_cast<std::size_t>(place)] = rows[i].fields[0];
    table.lines[static_cast<std::size_t>(place)] = rows[i].line;
    for (Index k = 0; k < series; ++k) {
      const std::string& field = rows[i].fields[static_cast<std::size_t>(k) + 1];
      if (is_gap(field)) {
        continue;
      }
      if (!read_number(field, table.decimal_mark, table.values(k, place))) {
        raise<FileError>(name, ": line ", rows[i].line, ", column ", k + 2, ": \"", gated::printable(field),
                         "\" is not a number. Write gaps as empty fields or NA.");
      }
      table.observed[static_cast<std::size_t>(k * length + place)] = 1;
    }
  }
  for (Index i = 0; i < length; ++i) {
    std::string& time = table.times[static_cast<std::size_t>(i)];
    time = table.lines[static_cast<std::size_t>(i)] == 0 ? table.axis.at(i) : time;
  }
}

}  // namespace

Table read_table(const std::filesystem::path& path) {
  const std::string name = path.string();
  const DelimitedText text = split(examples::read_text_file(path), name);
  expect_shape(text.rows, name);
  const std::vector<std::string>& header = text.rows[0].fields;
  Table table;
  table.time_name = header[0];
  table.names.assign(header.begin() + 1, header.end());
  table.separator = text.separator;
  table.decimal_mark = decimal_mark(text, name);
  std::vector<std::string> times;
  std::vector<Index> lines;
  for (std::size_t i = 1; i < text.rows.size(); ++i) {
    times.push_back(text.rows[i].fields[0]);
    lines.push_back(text.rows[i].line);
  }
  table.axis = TimeAxis(times, lines, name + ", column 1, \"" + gated::printable(header[0]) + "\"");
  expect_names(header, table, name);
  read_rows(text.rows, name, table);
  for (Index k = 0; k < table.series(); ++k) {
    const auto begin = table.observed.begin() + k * table.length();
    require<FileError>(std::count(begin, begin + table.length(), 1) > 0, name, ": column ", k + 2, ", \"",
                       gated::printable(table.names[static_cast<std::size_t>(k)]), "\", has no numbers. Leave it out.");
  }
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
  std::vector<Index> from(table.names.size(), -1);  // for each new position, the old column
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
  for (const Index column : known) {
    expect_no_gaps(old, column, table.past, "--known");
  }
}

void expect_no_gaps(const Table& table, Index column, Index rows, const char* option) {
  const auto begin = table.observed.begin() + column * table.length();
  const Index gap = std::find(begin, begin + rows, 0) - begin;
  if (gap < rows) {
    raise<FileError>("the column \"", gated::printable(table.names[static_cast<std::size_t>(column)]), "\" of ", option,
                     " has a gap ", where(table, gap), ". Fill it: this column must not have gaps.");
  }
}

std::string notes(const Table& table) {
  Index gaps = 0, missing = 0, first_gap = 0, first_missing = 0, series = 0;
  for (Index i = table.past - 1; i >= 0; --i) {
    const bool is_missing = table.lines[static_cast<std::size_t>(i)] == 0;
    missing += is_missing ? 1 : 0;
    first_missing = is_missing ? i : first_missing;
    for (Index k = table.series() - 1; k >= 0 && !is_missing; --k) {
      if (table.observed[static_cast<std::size_t>(k * table.length() + i)] == 0) {
        ++gaps;
        first_gap = i;
        series = k;
      }
    }
  }
  std::string out;
  if (!table.axis.known()) {
    out += gated::text("  times         \"", gated::printable(table.times[0]),
                       "\" has no known notation; order and step are not checked\n");
  }
  if (gaps > 0) {
    out += gated::text("  gaps          ", gaps, ", the first in \"",
                       gated::printable(table.names[static_cast<std::size_t>(series)]), "\" ", where(table, first_gap), "\n");
  }
  if (missing > 0) {
    out += gated::text("  missing       ", missing, missing == 1 ? " row, " : " rows, the first ", where(table, first_missing),
                       "; read as gaps\n");
  }
  return out;
}

std::vector<std::string> times_after(const Table& table, Index count) {
  std::vector<std::string> times;
  for (Index i = table.past; i < table.past + count; ++i) {
    times.push_back(i < table.length()   ? table.times[static_cast<std::size_t>(i)]
                    : table.axis.known() ? table.axis.at(i)
                                         : gated::text("+", i - table.past + 1));
  }
  return times;
}

void write_forecast(const std::filesystem::path& path, const Table& table, const std::vector<std::string>& names,
                    const gated::Matrix<double>& values) {
  std::string csv = as_field(table.time_name, table.separator);
  for (const std::string& name : names) {
    csv += table.separator + as_field(name, table.separator);
  }
  const auto times = times_after(table, values.cols());
  for (Index t = 0; t < values.cols(); ++t) {
    csv += '\n' + as_field(times[static_cast<std::size_t>(t)], table.separator);
    for (Index m = 0; m < values.rows(); ++m) {
      char number[32] = "";
      if (!std::isnan(values(m, t))) {
        std::snprintf(number, sizeof number, "%.9g", values(m, t));
      }
      std::string field = number;
      std::replace(field.begin(), field.end(), '.', table.decimal_mark);
      csv += table.separator + as_field(field, table.separator);
    }
  }
  csv += '\n';
  gated::write_file_atomically(path, std::as_bytes(std::span(csv)));
}

}  // namespace forecast
