#include "gated/io/csv.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>

#include "files.hpp"

namespace gated::csv_test {
namespace {

Matrix<double> parse(std::string_view csv, const CsvOptions& options = {}) { return parse_csv<double>(csv, "x.csv", options); }

void expect_refused(std::string_view csv, std::initializer_list<std::string_view> parts, const CsvOptions& options = {}) {
  test::expect_error<FileError>([&] { parse(csv, options); }, parts);
  EXPECT_TRUE(test::error_of<FileError>([&] { parse(csv, options); }).starts_with("x.csv: "));
}

TEST(Csv, ReadsOneRowPerLine) {
  Matrix<double> expected(2, 3);
  expected << 1, -2.5, 3e2, 4, 5, 6;
  for (const std::string_view csv :
       {"1,-2.5,3e2\n4,5,6\n", "1,-2.5,3e2\n4,5,6", "1,-2.5,3e2\r\n4,5,6\r\n", " 1,\t-2.5 ,+3e2\n4,5,6",
        "\xEF\xBB\xBF"
        "1,-2.5,3e2\n4,5,6\n"}) {
    const Matrix<double> got = parse(csv);
    ASSERT_EQ(got.rows(), 2);
    ASSERT_EQ(got.cols(), 3);
    EXPECT_EQ(got, expected) << csv;
  }
  EXPECT_EQ(parse("7")(0, 0), 7);
}

TEST(Csv, SkipsHeaderLinesOnlyIfAsked) {
  EXPECT_EQ(parse("a,b\n1,2\n", {.header_lines = 1}).rows(), 1);
  EXPECT_EQ(parse("a\n\n1;2\n3;4\n", {.header_lines = 2, .separator = ';'})(1, 0), 3);
  expect_refused("a,b\n1,2\n", {"line 1, column 1: \"a\" is not a number", "header_lines"});
}

TEST(Csv, SuggestsAnotherSeparator) {
  expect_refused("1;2\n3;4\n", {"line 1, column 1: \"1;2\" is not a number", "If ';' separates the fields, set separator"});
  expect_refused("a;b\n1;2\n", {"line 2, column 1", "If ';' separates the fields"}, {.header_lines = 1});
  expect_refused("1,5;2,5\n", {"column 2: \"5;2\"", "If ';' separates the fields"});
  expect_refused("1\t2\n", {"line 1, column 1", "If a tab separates the fields, set separator"});
  expect_refused("1|2\n", {"If '|' separates the fields"});
  expect_refused("1,5;2,5\n", {"column 1: \"1,5\"", "If it is a decimal comma, write a point"}, {.separator = ';'});
}

TEST(Csv, RefusesLineEndsOfOldMacs) {
  expect_refused("1,2\r3,4\r", {"line 1 has a CR in it", "as on old Macs", "tr '\\r' '\\n'"});
  expect_refused("a,b\r1,2\r3,4", {"line 1 has a CR in it", "as on old Macs"}, {.header_lines = 1});
  expect_refused("1,2\n3,4\r5,6\n", {"line 2 has a CR in it"});
  EXPECT_EQ(parse("\"a\rb\"\n1\r\n", {.header_lines = 1}).rows(), 1) << "in a header";
}

TEST(Csv, NamesUtf16AndUtf32) {
  using namespace std::string_view_literals;
  for (const auto text : {"\xFF\xFE\x31\0,\0\x32\0\n\0"sv, "\xFE\xFF\0\x31\0,\0\x32\0\n"sv, "\x31\0,\0\x32\0\n\0"sv,
                          "\0\x31\0,\0\x32"sv, "\xFF\xFE"sv}) {
    expect_refused(text, {"the text is in UTF-16. Save it as UTF-8"});
    expect_refused(text, {"the text is in UTF-16. Save it as UTF-8"}, {.header_lines = 1});
  }
  for (const auto text : {"\xFF\xFE\0\0\x31\0\0\0"sv, "\0\0\xFE\xFF\0\0\0\x31"sv}) {
    expect_refused(text, {"the text is in UTF-32. Save it as UTF-8: iconv -f UTF-32 -t UTF-8."});
  }
}

TEST(Csv, RefusesEmptyText) {
  expect_refused("", {"there are no numbers"});
  expect_refused("a,b\n", {"there are no numbers"}, {.header_lines = 1});
}

TEST(Csv, RefusesEmptyLines) {
  expect_refused("1\n\n2\n", {"line 2 is empty"});
  expect_refused("1\n2\n\n", {"line 3 is empty"});
  expect_refused("\r\n", {"line 1 is empty"});
}

TEST(Csv, RefusesRaggedRows) {
  expect_refused("1,2\n3,4\n5\n", {"line 3 has 1 columns, but the lines before it have 2"});
  expect_refused("1,2\n3,4,5\n", {"line 2 has 3 columns, but the lines before it have 2"});
}

TEST(Csv, NamesTheLineAndColumnOfInvalidNumbers) {
  expect_refused("1,2\n3,x\n", {"line 2, column 2: \"x\" is not a number."});
  expect_refused("1,2\n3,\n", {"line 2, column 2: \"\" is not a number"});
  expect_refused("1,,2\n", {"line 1, column 2"});
  expect_refused("1 2\n", {"\"1 2\" is not a number"});
  expect_refused("0x10\n", {"\"0x10\" is not a number"});
  expect_refused("1e999\n", {"\"1e999\" is not a number"});
  expect_refused("--1\n", {"\"--1\""});
  expect_refused("+-1\n", {"\"+-1\""});
  expect_refused(std::string_view("1\0\n", 3), {"line 1, column 1"});
}

TEST(Csv, ReadsNaNAndInfinity) {
  const Matrix<double> got = parse("nan,inf,-inf\n");
  EXPECT_TRUE(std::isnan(got(0, 0)));
  EXPECT_EQ(got(0, 1), INFINITY);
  EXPECT_EQ(got(0, 2), -INFINITY);
}

TEST(Csv, RoundsTinyNumbersToAFloatAndRefusesHugeOnes) {
  EXPECT_EQ(parse_csv<float>("1e-60,0.1,-1e-44\n", "x.csv"), (Matrix<float>(1, 3) << 0.0f, 0.1f, -1e-44f).finished());
  test::expect_error<FileError>([] { parse_csv<float>("1e39\n", "x.csv"); }, {"\"1e39\" is not a number"});
}

TEST(Csv, DoesNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
    std::setlocale(LC_NUMERIC, "");
  }
  EXPECT_EQ(parse("1.5,2\n")(0, 0), 1.5);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(Csv, ReadsFilesAndNamesThemInErrors) {
  const auto path = test::temporary("numbers.csv");
  test::write_text(path, "1,2\n3,4\n");
  EXPECT_EQ(read_csv<float>(path)(1, 0), 3.0f);
  test::write_text(path, "1,2\n3\n");
  test::expect_error<FileError>([&] { read_csv<float>(path); }, {path.string() + ": line 2"});
  test::write_text(path, "");
  test::expect_error<FileError>([&] { read_csv<float>(path); }, {path.string() + ": there are no numbers"});
  test::expect_error<FileError>([&] { read_csv<float>(path.string() + "x"); }, {"cannot open"});
}

}  // namespace
}  // namespace gated::csv_test
