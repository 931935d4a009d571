#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace forecast {

/// The unit, such as months, in which times are equally spaced. A time is an integer number of ticks: for dates, fractions of a
/// second since 1970; for plain numbers, units of the last digit.
struct Calendar {
  enum class Unit {
    tick,     ///< equal durations, or equal differences of plain numbers
    month,    ///< the same day of each month, or its last day, at the same time of day
    weekday,  ///< Monday to Friday, at the same time of day
    row       ///< numbers like 0.33, 0.67, 1.00: equal steps, rounded
  };

  Unit unit = Unit::tick;
  std::int64_t per_second = 0;  ///< ticks per second; 0 for plain numbers
  std::int64_t clock = 0;       ///< months and weekdays: ticks since midnight
  unsigned month_day = 1;       ///< months: the day of the month; 0 for the last day
  double first = 0, slope = 1;  ///< rows: the tick of row 0, and ticks per row
  double tick = 1;              ///< plain numbers: the value of a tick

  /// A calendar of this unit for `ticks` (at least two); nullopt if they do not fit. For plain numbers, a tick is 1 / `scale`.
  static std::optional<Calendar> of(Unit unit, const std::vector<std::int64_t>& ticks, std::int64_t per_second,
                                    std::int64_t scale);

  /// Converts ticks to a count of units (ticks, months, weekdays or rows), and back.
  std::int64_t count_of(std::int64_t ticks) const;
  std::int64_t ticks_at(std::int64_t count) const;
  /// Dates with counts below this limit have years of four digits. Ticks and rows have no limit here; the caller checks them.
  std::int64_t end() const;
  /// Describes a difference of counts: "3 months", "1 hour", "0.25 seconds"; for plain numbers, "5".
  std::string spell(std::int64_t count) const;
};

/// 10 to the power of `digits`, which must be 0 to 18.
constexpr std::int64_t power_of_ten(int digits) { return digits == 0 ? 1 : 10 * power_of_ten(digits - 1); }

/// a / b, rounded down; b > 0.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace forecast
