#include "gated/core/error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/core/numbers.hpp"

namespace gated::error_test {
namespace {

TEST(Text, ConcatenatesTextAndNumbers) {
  EXPECT_EQ(text("x has ", 3, " rows"), "x has 3 rows");
  EXPECT_EQ(text(std::string("a"), std::string_view("b"), "c", -1, 2u, 0.5, 0.1f), "abc-120.50.1");
  EXPECT_EQ(text(), "");
}

TEST(Text, FormatsTheLongestNumbers) {
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
  EXPECT_EQ(text(-2.2250738585072014e-308), "-2.2250738585072014e-308");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Text, FormatsALayerAndItsFunction) {
  EXPECT_EQ(text(Where("GmlpBlock", "extend"), ": no"), "GmlpBlock::extend: no");
  EXPECT_EQ(text(Where("Linear"), ": no"), "Linear: no");
  const Where where = "matmul";
  EXPECT_EQ(text(where), "matmul");
}

TEST(Error, IsTheBaseOfAllErrors) {
  EXPECT_TRUE((std::is_base_of_v<std::runtime_error, Error>));
  EXPECT_TRUE((std::is_base_of_v<Error, ShapeError>));
  EXPECT_TRUE((std::is_base_of_v<Error, ArgumentError>));
  EXPECT_TRUE((std::is_base_of_v<Error, FileError>));
}

TEST(Text, PrintfFallbackGivesTheSameText) {
  for (const double value : {0.0, 1.0, -2.5, 0.1, 1.0 / 3.0, 1e-7, 1e300, 5e-324, 123456.0, 100.0, -8000.0, 15e4, 1e16, 1e-4,
                             0.00123, 123456789012345680.0, 1.7976931348623157e308, std::numeric_limits<double>::infinity()}) {
    std::string by_printf;
    detail::append_by_printf(by_printf, value);
    EXPECT_EQ(by_printf, text(value));
  }
  std::string by_printf;
  detail::append_by_printf(by_printf, 0.1f);
  EXPECT_EQ(by_printf, "0.1");
}

TEST(Error, HasTheFormattedMessage) {
  EXPECT_EQ(test::message_of<ShapeError>([] { raise<ShapeError>("x has ", 5, " columns"); }), "x has 5 columns");
  EXPECT_EQ(test::message_of<Error>([] { raise<FileError>("no ", "file"); }), "no file");
}

TEST(Error, TypesAreDistinct) {
  EXPECT_THROW(raise<ArgumentError>("a"), ArgumentError);
  bool is_shape_error = false;
  try {
    raise<ArgumentError>("a");
  } catch (const ShapeError&) {
    is_shape_error = true;
  } catch (const Error&) {
  }
  EXPECT_FALSE(is_shape_error);
}

TEST(Require, ThrowsOnlyIfTheConditionFails) {
  EXPECT_NO_THROW(require<ArgumentError>(true, "never said"));
  EXPECT_EQ(test::message_of<ArgumentError>([] { require<ArgumentError>(1 > 2, "depth = ", 0); }), "depth = 0");
}

void silent(const char*) {}

TEST(ErrorHandler, SettingAHandlerReturnsThePreviousOne) {
  const ErrorHandler original = set_error_handler(&silent);
  EXPECT_NE(original, nullptr);
  EXPECT_EQ(set_error_handler(original), &silent);
}

TEST(ErrorHandler, IsUnusedIfExceptionsAreEnabled) {
  const ErrorHandler original = set_error_handler(nullptr);  // calling this null handler would crash
  EXPECT_THROW(raise<Error>("thrown"), Error);
  set_error_handler(original);
}

}  // namespace
}  // namespace gated::error_test
