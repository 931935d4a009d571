#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forecast {

/// A time in seconds since 1970, or a plain number.
struct Stamp {
  std::int64_t whole = 0;      ///< seconds of local time, or a number's whole part
  std::int64_t billionth = 0;  ///< the fraction in billionths, with the number's sign
  std::int64_t offset = 0;     ///< seconds by which local time is ahead of UTC
};

/// The form of a time: a date without separators, a date with the year, day or month first, or a number, such as a year.
enum class TimeForm { compact, year_first, day_first, month_first, number };
inline constexpr TimeForm time_forms[]{TimeForm::compact, TimeForm::year_first, TimeForm::day_first, TimeForm::month_first,
                                       TimeForm::number};

/// The notation of a time, such as 2014-12-31T07:00:00.5+01:00, 2014-12, 20141231, 20141231T070000Z, 201412310700,
/// 31.12.2014 7:00, 12/31/2014 07:00 AM, 1419980400.
struct TimeNotation {
  TimeForm form = TimeForm::number;
  char separator = 0;     ///< in the date: '-', '/' or '.'; 0 for none
  bool has_day = true;    ///< false for a month without a day
  char clock_mark = 0;    ///< before the time of day: 'T', 't' or a blank; 0 for none
  char colon = ':';       ///< between hours, minutes and seconds; 0 for none
  int clock_fields = 0;   ///< how many of hours, minutes and seconds are given
  int digits = 0;         ///< the number of digits after the decimal point
  char point = '.';       ///< the decimal point: '.' or ','
  int width = 0;          ///< the width of a zero-padded number, such as 3 for 007; otherwise 0
  bool pads_date = true;  ///< writes days and months 1 to 9 as 01 to 09
  bool pads_hour = true;  ///< writes hours 0 to 9 as 00 to 09
  std::string half = {};  ///< the mark of the first half of the day, such as " AM"; empty for 24 hours
  std::string zone = {};  ///< "Z", "+01:00", " +0100", " UTC", " GMT", or nothing
  bool operator==(const TimeNotation&) const = default;

  /// True if one column can contain both notations: they differ at most in digits, padding, and the zone if both have one.
  bool goes_with(const TimeNotation& other) const;
  /// The text of a local time up to the year 9999, or of a number; see Stamp.
  std::string write(std::int64_t whole, std::int64_t billionth) const;
};

/// A time read from a text.
struct ReadTime {
  TimeNotation notation;
  Stamp stamp = {};
};

/// Reads `text` as a time of this form; nullopt for another form or an impossible date.
std::optional<ReadTime> read_time(std::string_view text, TimeForm form);

}  // namespace forecast
