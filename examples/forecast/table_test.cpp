// Tables: valid input, and the error messages for refused input.

#include "table.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "gated/core/error.hpp"
#include "tests/io/files.hpp"

namespace forecast {
namespace {

using gated::Index;
using Names = std::vector<std::string>;
using Values = std::vector<double>;

Table table_of(const std::string& text) {
  const auto path = gated::test::temporary("table.csv");
  std::ofstream(path, std::ios::binary) << text;
  return read_table(path);
}

Values values_of(const Table& table, Index series) {
  const auto row = table.values.row(series);
  return {row.begin(), row.end()};
}

/// read_table()'s error message, without the leading file name.
std::string message_of(const std::string& text) {
  try {
    table_of(text);
  } catch (const gated::FileError& error) {
    const std::string what = error.what(), end = "table.csv";
    return what.substr(what.find(end) + end.size());
  }
  return "no error";
}

TEST(Table, ReadsEverySeparatorAndLineEnding) {
  for (const std::string separator : {",", ";", "\t"}) {
    for (const std::string end : {"\n", "\r\n", "\r"}) {
      std::string text = "\xEF\xBB\xBFtime,\"a \"\"b\"\"\", c \n1,\"2.5\", 3\n2,4,\"5\"\n\n";
      for (std::size_t at = 0; (at = text.find_first_of(",\n", at)) != std::string::npos;) {
        const std::string& by = text[at] == ',' ? separator : end;
        text.replace(at, 1, by);
        at += by.size();
      }
      const Table table = table_of(text);
      EXPECT_EQ(table.time_name, "time");
      EXPECT_EQ(table.names, (Names{"a \"b\"", "c"}));
      EXPECT_EQ(values_of(table, 0), (Values{2.5, 4}));
      EXPECT_EQ(values_of(table, 1), (Values{3, 5}));
      EXPECT_EQ(table.times, (Names{"1", "2"}));
    }
  }
}

TEST(Table, KeepsQuotedSeparators) {
  const Table table = table_of("time;\"load; total\";\"a\nb\"\n1;2;3\n2;4;5\n");
  EXPECT_EQ(table.names, (Names{"load; total", "a\nb"}));
  EXPECT_EQ(table.lines, (std::vector<Index>{3, 4}));
  EXPECT_EQ(table_of("time,\"load; kWh; net\"\n1,2\n2,3\n").separator, ',');
}

TEST(Table, ReadsNineDigits) {
  EXPECT_EQ(values_of(table_of("t,a\n1,123456789\n2,123456.789\n"), 0), (Values{123456789, 123456.789}));
}

TEST(Table, ReadsDecimalCommas) {
  EXPECT_EQ(values_of(table_of("t;a;b\n1;2,5;10\n2;1,234;11\n"), 0), (Values{2.5, 1.234}));
  EXPECT_EQ(values_of(table_of("t,a\n1,\"-2,5e1\"\n2,\"3\"\n"), 0), (Values{-25, 3}));
  EXPECT_EQ(values_of(table_of("t;a\n1;0,123\n2;3\n"), 0), (Values{0.123, 3}));
}

TEST(Table, ReadsThousandsSeparators) {
  EXPECT_EQ(values_of(table_of("t;a\n1;1.234,5\n2;-1.000\n3;1.234.567\n4;5\n"), 0), (Values{1234.5, -1000, 1234567, 5}));
  EXPECT_EQ(values_of(table_of("t;a;b\n1;1.000;2,5\n2;12.000;3\n"), 0), (Values{1000, 12000}));
  EXPECT_EQ(values_of(table_of("t,a\n1,\"1,234.5\"\n2,\"1,000\"\n3,2.125\n"), 0), (Values{1234.5, 1000, 2.125}));
  EXPECT_EQ(values_of(table_of("t;a\n1;0.125\n2;1.125\n"), 0), (Values{0.125, 1.125}));
  EXPECT_EQ(values_of(table_of("t,a\n1,1.125\n"), 0), Values{1.125});
  EXPECT_EQ(values_of(table_of("t\ta\n1\t1.125\n"), 0), Values{1.125});
}

TEST(Table, RefusesAmbiguousDecimalMarks) {
  EXPECT_EQ(message_of("t;a\n1;2\n2;1,234\n"), ": line 3, column 2: \"1,234\" is ambiguous. Write 1234 or 1,2340.");
  EXPECT_EQ(message_of("t;a\n1;2\n2;1.000\n"), ": line 3, column 2: \"1.000\" is ambiguous. Write 1000 or 1.0000.");
  EXPECT_EQ(message_of("t,a\n1,\"-1,234\"\n"), ": line 2, column 2: \"-1,234\" is ambiguous. Write -1234 or -1,2340.");
  const std::string both = " have different decimal marks. Write numbers as 1234.5.";
  EXPECT_EQ(message_of("t;a;b\n1;2,5;3\n2;1;4.5\n"), ": line 3, column 3: \"4.5\" and line 2, column 2: \"2,5\"" + both);
  EXPECT_EQ(message_of("t;a\n1;1,234,567\n2;2,5\n"), ": line 2, column 2: \"1,234,567\" and line 3, column 2: \"2,5\"" + both);
  for (const std::string field : {"1.23.456", "0.123.456", "1234.567.890", ".123.456", "1.234,5.678", "1.234.567e2", "1,5,5"}) {
    EXPECT_EQ(message_of("t;a\n1;" + field + "\n2;2,5\n"),
              ": line 2, column 2: \"" + field + "\" is not a number. Write gaps as empty fields or NA.");
  }
}

TEST(Table, ReadsMissingValuesAsGaps) {
  const Table table = table_of("t,a,b\n1,,1\n2,NA,1\n3,N/A,1\n4,null,1\n5,NaN,1\n6,\"\",1\n7,None,1\n8,5,NULL\n");
  EXPECT_EQ(values_of(table, 0), (Values{0, 0, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(std::vector<std::uint8_t>(table.observed.begin(), table.observed.begin() + 8),
            (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(notes(table), "  gaps          8, the first in \"a\" in line 2\n");
}

TEST(Table, ReadsMissingRowsAsGaps) {
  const Table table = table_of("day,a\n2014-12-28,1\n2014-12-29,2\n2014-12-31,3\n");
  EXPECT_EQ(table.times, (Names{"2014-12-28", "2014-12-29", "2014-12-30", "2014-12-31"}));
  EXPECT_EQ(table.observed, (std::vector<std::uint8_t>{1, 1, 0, 1}));
  EXPECT_EQ(notes(table), "  missing       1 row, at 2014-12-30; read as gaps\n");
  EXPECT_EQ(times_after(table, 2), (Names{"2015-01-01", "2015-01-02"}));
}

TEST(Table, ReportsTimesInAnUnknownNotation) {
  const Table table = table_of("day,a\nMon,1\nTue,2\n");
  EXPECT_EQ(notes(table), "  times         \"Mon\" has no known notation; order and step are not checked\n");
  EXPECT_EQ(times_after(table, 2), (Names{"+1", "+2"}));
}

TEST(Table, RefusesMissingAndDuplicateNames) {
  const std::string numbers = ": line 1 has numbers, expected names. Put a line before it, such as time,load.";
  EXPECT_EQ(message_of("2014-01-01,5\n2014-01-02,6\n2014-01-03,7\n"), numbers);
  EXPECT_EQ(message_of("1;2,5\n2;2,5\n3;2,5\n"), numbers);
  EXPECT_EQ(message_of("Mon,5\nTue,6\n"), numbers);
  EXPECT_EQ(table_of("time,1,2\n2014-01-01,5,6\n2014-01-02,5,6\n").names, (Names{"1", "2"}));
  EXPECT_EQ(message_of("t,a,b,a\n1,2,3,4\n"), ": line 1: columns 2 and 4 are both called \"a\". Rename one of them.");
  EXPECT_EQ(message_of("t,a,t\n1,2,3\n"), ": line 1: columns 1 and 3 are both called \"t\". Rename one of them.");
  EXPECT_EQ(message_of("t,a,\n1,2,\n"), ": line 1: column 3 has no name. Name it, or leave it out.");
}

TEST(Table, RefusesMalformedTables) {
  EXPECT_EQ(message_of("t,a\n1,2\n2,x\n"), ": line 3, column 2: \"x\" is not a number. Write gaps as empty fields or NA.");
  EXPECT_EQ(message_of("t,a\n1,2\n2,inf\n"), ": line 3, column 2: \"inf\" is not a number. Write gaps as empty fields or NA.");
  EXPECT_EQ(message_of("t,a\n1,2\n\n2,3\n"), ": line 3 has 1 columns, the header has 2.");
  EXPECT_EQ(message_of("t,a,b\n1,2,\n2,3,NA\n"), ": column 3, \"b\", has no numbers. Leave it out.");
  EXPECT_EQ(message_of("t,\"a\n1,2\n"), ": line 1: unclosed quote. Close it.");
  EXPECT_EQ(message_of("t,\"a\"b\n1,2\n"), ": line 1: text after a closing quote. Double every quote inside a quoted field.");
  EXPECT_EQ(message_of("t,a\n"), ": expected a header and rows, got 1 lines.");
  EXPECT_EQ(message_of(""), ": expected a header and rows, got 0 lines.");
  EXPECT_EQ(message_of("t,l\xE4nge\n1,2\n"), ": line 1: the name of column 2 is not in UTF-8. Save the file as UTF-8.");
  EXPECT_EQ(table_of("t,l\xC3\xA4nge\n1,2\n").names, Names{"l\xC3\xA4nge"});
  const std::string utf16 = ": the text is in UTF-16. Save it as UTF-8: iconv -f UTF-16 -t UTF-8.";
  EXPECT_EQ(message_of(std::string("\xFF\xFEt\0,\0a\0", 8)), utf16);
  EXPECT_EQ(message_of(std::string("\0t\0,\0a", 6)), utf16);
  EXPECT_EQ(message_of(std::string("\xFF\xFE\0\0t\0\0\0", 8)),
            ": the text is in UTF-32. Save it as UTF-8: iconv -f UTF-32 -t UTF-8.");
}

TEST(Table, WritesForecastsInTheTablesNotation) {
  const auto path = gated::test::temporary("forecast.csv");
  const Table table = table_of("\"the; time\";a\n2014-11;2,5\n2014-12;3,5\n");
  write_forecast(path, table, {"a", "a;b"}, gated::Matrix<double>{{1.5, 1234567.5}, {std::nan(""), 4}});
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "\"the; time\";a;\"a;b\"\n2015-01;1,5;\n2015-02;1234567,5;4\n");
}

TEST(Table, RefusesGapsInKnownColumns) {
  Table table = table_of("t,a,b\n1,1,1\n2,2,\n3,,3\n");
  EXPECT_THROW(arrange(table, {1}, {1}), gated::FileError);
  Table whole = table_of("t,a,b\n1,1,1\n2,2,2\n3,,3\n");
  arrange(whole, {1}, {1});
  EXPECT_EQ(whole.past, 2);
  EXPECT_EQ(notes(whole), "");  // the unknown future of "a" is not a gap
}

}  // namespace
}  // namespace forecast
