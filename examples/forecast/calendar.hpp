#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace forecast {

/// How the distance of two times is counted. A time is a number of ticks since 1970; of numbers that are no times, a tick is a
/// unit of their last digit.
struct Calendar {
  enum class Unit {
    tick,     ///< durations, and differences of numbers
    month,    ///< the same day of each month, or the last, at the same hour
    weekday,  ///< Monday to Friday, at the same hour
    row       ///< numbers like 0.33, 0.67, 1.00: equal steps, rounded
  };

  Unit unit = Unit::tick;
  std::int64_t per_second = 0;  ///< ticks of a second; 0 of numbers that are no times
  std::int64_t clock = 0;       ///< of months and weekdays: ticks since midnight
  unsigned month_day = 1;       ///< of months: the day, 0 for the last
  double first = 0, slope = 1;  ///< of rows: ticks of row 0, and from one to the next
  double tick = 1;              ///< of numbers: what a tick is worth

  /// The calendar of this unit that counts all of these times, two or more, if there is one. `scale` ticks are 1 in numbers.
  static std::optional<Calendar> of(Unit unit, const std::vector<std::int64_t>& ticks, std::int64_t per_second,
                                    std::int64_t scale);

  std::int64_t count_of(std::int64_t ticks) const;
  std::int64_t ticks_at(std::int64_t count) const;
  /// Counts from here on are of times that no date writes; those of ticks are the caller's affair.
  std::int64_t end() const;
  /// "3 months", "1 hour", "0.25 seconds"; of numbers, "5".
  std::string spell(std::int64_t count) const;
};

/// 10 to the power of `digits`, 0 to 18.
constexpr std::int64_t power_of_ten(int digits) { return digits == 0 ? 1 : 10 * power_of_ten(digits - 1); }

/// a / b, rounded down; b > 0.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace forecast
