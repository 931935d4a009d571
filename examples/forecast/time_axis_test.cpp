// Columns of times: valid input, refused input, and continuation beyond the last row.

#include "time_axis.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "gated/core/error.hpp"

namespace forecast {
namespace {

using gated::Index;
using Texts = std::vector<std::string>;

TimeAxis axis_of(const Texts& texts) {
  std::vector<Index> lines(texts.size());
  std::iota(lines.begin(), lines.end(), Index{2});
  return TimeAxis(texts, lines, "t.csv");
}

/// The next `count` times, as texts.
Texts after(const Texts& texts, Index count) {
  const TimeAxis axis = axis_of(texts);
  Texts next;
  for (Index i = 1; i <= count && axis.known(); ++i) {
    next.push_back(axis.at(axis.places().back() + i));
  }
  return next;
}

std::string step_of(const Texts& texts) { return axis_of(texts).step(); }

std::string message_of(const Texts& texts) {
  try {
    axis_of(texts);
  } catch (const gated::FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TimeAxis, ContinuesDays) {
  EXPECT_EQ(after({"2016-02-27", "2016-02-28"}, 2), (Texts{"2016-02-29", "2016-03-01"}));
  EXPECT_EQ(after({"0999/12/30", "0999/12/31"}, 1), (Texts{"1000/01/01"}));
  EXPECT_EQ(after({"20141230", "20141231"}, 1), (Texts{"20150101"}));
  EXPECT_EQ(step_of({"2014-12-01", "2014-12-08"}), "7 days");
}

TEST(TimeAxis, ContinuesHoursInTheirNotation) {
  EXPECT_EQ(after({"2014-12-31T22:00Z", "2014-12-31T23:00Z"}, 1), (Texts{"2015-01-01T00:00Z"}));
  EXPECT_EQ(after({"2014-12-31 23:30:00", "2014-12-31 23:45:00"}, 1), (Texts{"2015-01-01 00:00:00"}));
  EXPECT_EQ(after({"2014-12-31T22+01", "2014-12-31T23+01"}, 1), (Texts{"2015-01-01T00+01"}));
  EXPECT_EQ(after({"2014-12-31 23:59:59.5 UTC", "2014-12-31 23:59:59.75 UTC"}, 1), (Texts{"2015-01-01 00:00:00.00 UTC"}));
  EXPECT_EQ(after({"2014-01-01T00:00:00.0000000Z", "2014-01-01T00:00:00.0000005Z"}, 1),
            (Texts{"2014-01-01T00:00:00.0000010Z"}));
  EXPECT_EQ(after({"31.12.2014 8:00", "31.12.2014 16:00"}, 2), (Texts{"01.01.2015 0:00", "01.01.2015 8:00"}));
  EXPECT_EQ(after({"1/2/2014 09:00", "1/2/2014 21:00", "1/3/2014 09:00"}, 1), (Texts{"1/3/2014 21:00"}));
  EXPECT_EQ(step_of({"2014-12-31T22:00Z", "2014-12-31T23:00Z"}), "1 hour");
  EXPECT_EQ(step_of({"2014-12-31T22:00:00.25Z", "2014-12-31T22:00:00.5Z"}), "0.25 seconds");
}

TEST(TimeAxis, ContinuesDateTimesWithoutSeparators) {
  EXPECT_EQ(after({"20141230000000", "20141231000000"}, 1), (Texts{"20150101000000"}));
  EXPECT_EQ(step_of({"20141230000000", "20141231000000"}), "1 day");
  EXPECT_EQ(after({"201412312350", "201412312355"}, 1), (Texts{"201501010000"}));
  EXPECT_EQ(step_of({"201412312350", "201412312355"}), "5 minutes");
  EXPECT_EQ(after({"2014123122", "2014123123"}, 1), (Texts{"2015010100"}));
  EXPECT_EQ(after({"20141231T220000Z", "20141231T230000Z"}, 1), (Texts{"20150101T000000Z"}));
  EXPECT_EQ(after({"20141231T2200", "20141231T2300"}, 1), (Texts{"20150101T0000"}));
  EXPECT_EQ(after({"20141231T235959.5", "20141231T235959.75"}, 1), (Texts{"20150101T000000.00"}));
}

TEST(TimeAxis, ContinuesOtherCommonNotations) {
  EXPECT_EQ(after({"2014-12-31t22:00:00z", "2014-12-31t23:00:00z"}, 1), (Texts{"2015-01-01t00:00:00z"}));
  EXPECT_EQ(after({"2014-12-31 22:00:00 +0100", "2014-12-31 23:00:00 +0100"}, 1), (Texts{"2015-01-01 00:00:00 +0100"}));
  EXPECT_EQ(after({"2014-12-31 22:00 GMT", "2014-12-31 23:00 GMT"}, 1), (Texts{"2015-01-01 00:00 GMT"}));
  EXPECT_EQ(
      after({"12/31/2014 10:00 PM", "12/31/2014 11:00 PM"}, 13),
      (Texts{"01/01/2015 12:00 AM", "01/01/2015 01:00 AM", "01/01/2015 02:00 AM", "01/01/2015 03:00 AM", "01/01/2015 04:00 AM",
             "01/01/2015 05:00 AM", "01/01/2015 06:00 AM", "01/01/2015 07:00 AM", "01/01/2015 08:00 AM", "01/01/2015 09:00 AM",
             "01/01/2015 10:00 AM", "01/01/2015 11:00 AM", "01/01/2015 12:00 PM"}));
  EXPECT_EQ(after({"12/31/2014 11:00:00am", "12/31/2014 12:00:00pm"}, 1), (Texts{"12/31/2014 01:00:00pm"}));
  EXPECT_EQ(message_of({"12/31/2014 11:00 PM", "12/31/2014 11:00 PM"}),
            "t.csv: line 3 repeats the time of line 2, \"12/31/2014 11:00 PM\". Keep one of them; where clocks are set back, "
            "write times in UTC.");
  EXPECT_EQ(after({"1704067200,0", "1704067200,5"}, 1), (Texts{"1704067201,0"}));
  EXPECT_EQ(after({"2014-12-31 23:59:59,5", "2014-12-31 23:59:59,75"}, 1), (Texts{"2015-01-01 00:00:00,00"}));
}

TEST(TimeAxis, UsesUtcAcrossOffsetChanges) {
  const Texts autumn{"2014-10-26T01:00+02:00", "2014-10-26T02:00+02:00", "2014-10-26T02:00+01:00", "2014-10-26T03:00+01:00"};
  EXPECT_EQ(after(autumn, 1), (Texts{"2014-10-26T04:00+01:00"}));
  EXPECT_EQ(
      message_of({"2014-10-24T00:00+02:00", "2014-10-25T00:00+02:00", "2014-10-26T00:00+02:00", "2014-10-27T00:00+01:00"}),
      "t.csv: line 5, \"2014-10-27T00:00+01:00\", is 25 hours after line 4, but most rows are 1 day apart. If the local "
      "times have equal steps, leave out the UTC offsets.");
}

TEST(TimeAxis, TreatsCalendarMonthsAsEqualSteps) {
  EXPECT_EQ(after({"2014-10", "2014-11", "2014-12"}, 2), (Texts{"2015-01", "2015-02"}));
  EXPECT_EQ(after({"201411", "201412"}, 1), (Texts{"201501"}));
  EXPECT_EQ(after({"12/2014", "01/2015"}, 1), (Texts{"02/2015"}));
  EXPECT_EQ(after({"2015-11-30", "2015-12-31", "2016-01-31"}, 2), (Texts{"2016-02-29", "2016-03-31"}));
  EXPECT_EQ(after({"2014-07-15T12:00", "2014-10-15T12:00"}, 2), (Texts{"2015-01-15T12:00", "2015-04-15T12:00"}));
  EXPECT_EQ(after({"2012-03-01", "2013-03-01", "2014-03-01"}, 1), (Texts{"2015-03-01"}));
  EXPECT_EQ(step_of({"2012-03-01", "2013-03-01", "2014-03-01"}), "1 year");
  EXPECT_EQ(step_of({"2014-07-15", "2014-10-15"}), "3 months");
  EXPECT_EQ(after({"1388534400", "1391212800", "1393632000"}, 1), (Texts{"1396310400"}));  // January to April 2014
}

TEST(TimeAxis, ContinuesUnixTimesAndPlainNumbers) {
  EXPECT_EQ(after({"1419980400", "1419984000"}, 1), (Texts{"1419987600"}));
  EXPECT_EQ(after({"1419980400000", "1419984000000"}, 1), (Texts{"1419987600000"}));
  EXPECT_EQ(after({"1419980400000000000", "1419984000000000000"}, 1), (Texts{"1419987600000000000"}));
  EXPECT_EQ(after({"1419980400.0", "1419980400.5"}, 1), (Texts{"1419980401.0"}));
  EXPECT_EQ(after({"-2", "-1"}, 3), (Texts{"0", "1", "2"}));
  EXPECT_EQ(after({"-0.5", "-0.25"}, 2), (Texts{"0.00", "0.25"}));
  EXPECT_EQ(after({"008", "009"}, 1), (Texts{"010"}));
  EXPECT_EQ(after({"1960.33", "1960.67", "1961.00", "1961.33", "1961.67"}, 2), (Texts{"1962.00", "1962.33"}));
  for (const char* const hour : {"1419984000", "1419984000000", "1419984000000000", "1419984000000000000"}) {
    const std::string before = "1419980400" + std::string(hour).substr(10);
    EXPECT_EQ(step_of({before, hour}), "1 hour");
  }
  EXPECT_EQ(step_of({"1990", "1995"}), "5");
  EXPECT_EQ(step_of({"0.5", "1.0"}), "0.5");
}

TEST(TimeAxis, ChoosesTheDateOrderWithEqualSteps) {
  const Texts days{"10/02/2014", "11/02/2014", "12/02/2014", "13/02/2014"};
  EXPECT_EQ(after(days, 1), (Texts{"14/02/2014"}));
  EXPECT_EQ(after({"02/10/2014", "02/11/2014", "02/12/2014", "02/13/2014"}, 1), (Texts{"02/14/2014"}));
  EXPECT_EQ(after({"10/01/2014", "11/01/2014", "12/01/2014", "01/01/2015"}, 1), (Texts{"02/01/2015"}));
  EXPECT_EQ(after({"01.02.2014", "02.02.2014"}, 1), (Texts{"03.02.2014"}));
  EXPECT_NE(message_of({"01-02-2014", "02-02-2014"}), "no error");
  EXPECT_EQ(message_of({"01/02/2014", "02/02/2014", "03/02/2014"}),
            "t.csv: line 2: \"01/02/2014\" is ambiguous between day/month and month/day. Write dates as 2014-12-31.");
}

TEST(TimeAxis, CountsWeekdaysIfNoRowIsOnAWeekend) {
  const Texts days{"2014-12-24", "2014-12-25", "2014-12-26", "2014-12-29", "2014-12-30", "2014-12-31"};
  EXPECT_EQ(step_of(days), "1 weekday");
  EXPECT_EQ(after(days, 3), (Texts{"2015-01-01", "2015-01-02", "2015-01-05"}));
  Texts holiday = days;
  holiday.erase(holiday.begin() + 1);
  EXPECT_EQ(axis_of(holiday).places(), (std::vector<Index>{0, 2, 3, 4, 5}));
}

TEST(TimeAxis, LeavesGapsForMissingRows) {
  const TimeAxis axis = axis_of({"2014-12-31T20", "2014-12-31T21", "2014-12-31T22", "2015-01-01T00", "2015-01-01T01"});
  EXPECT_EQ(axis.places(), (std::vector<Index>{0, 1, 2, 4, 5}));
  EXPECT_EQ(axis.at(3), "2014-12-31T23");
  EXPECT_EQ(axis_of({"2014-01", "2014-02", "2014-03", "2014-05"}).places(), (std::vector<Index>{0, 1, 2, 4}));
}

TEST(TimeAxis, RefusesUnsortedRepeatedAndUnevenTimes) {
  EXPECT_EQ(
      message_of({"2014-01-01", "2014-01-02", "2014-01-02", "2014-01-03"}),
      "t.csv: line 4 repeats the time of line 3, \"2014-01-02\". Keep one of them; where clocks are set back, write times in "
      "UTC.");
  EXPECT_EQ(message_of({"2014-01-01", "2014-01-02", "2014-01-04", "2014-01-03"}),
            "t.csv: line 5, \"2014-01-03\", is before line 4, \"2014-01-04\". Sort the rows by time, the oldest first.");
  EXPECT_NE(message_of({"3", "2", "1"}).find("line 3, \"2\", is before line 2"), std::string::npos);
  EXPECT_EQ(
      message_of({"2014-01-01T00:00", "2014-01-01T01:00", "2014-01-01T02:00", "2014-01-01T02:37"}),
      "t.csv: line 5, \"2014-01-01T02:37\", is 37 minutes after line 4, but most rows are 1 hour apart. Resample the rows to "
      "equal steps.");
  EXPECT_NE(
      message_of({"2014-01-01", "2014-01-02", "2041-01-03"}).find("so at a step of 1 day, more rows are missing than present"),
      std::string::npos);
}

TEST(TimeAxis, RefusesMixedNotations) {
  EXPECT_EQ(
      message_of({"2014-01-30", "2014-01-31", "2014-01-32"}),
      "t.csv: line 4: \"2014-01-32\" is not a time in the notation of \"2014-01-30\" in line 2. Correct it, or write all times "
      "in the same notation.");
  EXPECT_NE(message_of({"2014-01-30", "2014/01/31", "2014-02-01"}).find("line 3"), std::string::npos);
  EXPECT_NE(message_of({"2014-01-30T23:00Z", "2014-01-31T00:00"}).find("line 3"), std::string::npos);
  EXPECT_NE(message_of({"2014-01-30 23:00", "2014-01-30 24:00", "2014-01-31 01:00"}).find("line 3"), std::string::npos);
  EXPECT_NE(message_of({"1", "2", "", "4"}).find("line 4: \"\" is not a time"), std::string::npos);
}

TEST(TimeAxis, CountsRowsIfTheNotationIsUnknown) {
  for (const Texts& texts :
       {Texts{"Mon", "Tue", "Mon"}, Texts{"2014-01-01"}, Texts{"2014-02-30", "2014-02-31"}, Texts{"1e5", "0x5"},
        Texts{"99999999999999999999", "99999999999999999998"}, Texts{"", ""}, Texts{}}) {
    const TimeAxis axis = axis_of(texts);
    EXPECT_FALSE(axis.known());
    EXPECT_EQ(axis.places().size(), texts.size());
  }
}

TEST(TimeAxis, RefusesTimesThatCannotBeWritten) {
  EXPECT_THROW(after({"9999-12-30", "9999-12-31"}, 1), gated::FileError);
  EXPECT_THROW(after({"9999-11", "9999-12"}, 1), gated::FileError);
  EXPECT_THROW(after({"9999-12-30", "9999-12-31"}, 1000), gated::FileError);
  EXPECT_THROW(after({"0", "3999999999999999999"}, 3), gated::FileError);
}

}  // namespace
}  // namespace forecast
