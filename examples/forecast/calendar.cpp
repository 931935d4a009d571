#include "calendar.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "gated/core/error.hpp"

namespace forecast {

namespace {

using Day = std::int64_t;  // days since 1 January 1970, a Thursday

constexpr std::int64_t day_seconds = 86400;

std::chrono::year_month_day date_of(Day day) {
  return std::chrono::sys_days(std::chrono::days(static_cast<std::chrono::days::rep>(day)));
}

bool ends_month(Day day) { return date_of(day + 1).day() == std::chrono::day(1); }

/// 0 on Mondays.
std::int64_t weekday_of(Day day) { return day + 3 - 7 * floor_divide(day + 3, 7); }

/// A calendar for equally spaced numbers that were rounded, such as 0.33, 0.67, 1.00; nullopt if `ticks` does not fit. A step
/// near 1 / n for a whole n, such as 1 / 12 for months, becomes exactly 1 / n.
std::optional<Calendar> rounded_steps(const std::vector<std::int64_t>& ticks, double scale) {
  const double rows = static_cast<double>(ticks.size() - 1);
  Calendar calendar{.unit = Calendar::Unit::row, .first = static_cast<double>(ticks.front()), .tick = 1 / scale};
  calendar.slope = (static_cast<double>(ticks.back()) - calendar.first) / rows;
  const double whole = scale / std::round(scale / calendar.slope);
  if (std::abs(whole - calendar.slope) * rows <= 1) {
    calendar.slope = whole;
    calendar.first = std::round(calendar.first / whole) * whole;
  }
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (std::abs(static_cast<double>(ticks[i]) - calendar.first - calendar.slope * static_cast<double>(i)) > 1) {
      return std::nullopt;
    }
  }
  return scale > 1 && calendar.slope > 2 ? std::optional(calendar) : std::nullopt;
}

}  // namespace

std::optional<Calendar> Calendar::of(Unit unit, const std::vector<std::int64_t>& ticks, std::int64_t per_second,
                                     std::int64_t scale) {
  if (unit == Unit::row) {
    return rounded_steps(ticks, static_cast<double>(scale));
  }
  Calendar calendar{.unit = unit, .per_second = per_second, .tick = 1 / static_cast<double>(scale)};
  if (unit == Unit::tick) {
    return calendar;
  }
  if (per_second == 0) {
    return std::nullopt;
  }
  std::vector<Day> days;
  for (const std::int64_t time : ticks) {
    days.push_back(floor_divide(time, day_seconds * per_second));
  }
  calendar.clock = ticks[0] - days[0] * day_seconds * per_second;
  const auto all = [&](const auto& holds) { return std::all_of(days.begin(), days.end(), holds); };
  const bool one_clock = std::equal(ticks.begin(), ticks.end(), days.begin(), [&](std::int64_t time, Day day) {
    return time == day * day_seconds * per_second + calendar.clock;
  });
  const auto month_day = date_of(days[0]).day();
  calendar.month_day = all(ends_month) ? 0 : static_cast<unsigned>(month_day);
  const bool fits = unit == Unit::weekday
                        ? all([](Day day) { return weekday_of(day) < 5; })
                        : calendar.month_day == 0 || all([&](Day day) { return date_of(day).day() == month_day; });
  return one_clock && fits ? std::optional(calendar) : std::nullopt;
}

std::int64_t Calendar::count_of(std::int64_t ticks) const {
  if (unit == Unit::tick) {
    return ticks;
  }
  if (unit == Unit::row) {
    return std::llround((static_cast<double>(ticks) - first) / slope);
  }
  const Day day = floor_divide(ticks, day_seconds * per_second);
  if (unit == Unit::weekday) {
    return 5 * floor_divide(day + 3, 7) + weekday_of(day);
  }
  const auto date = date_of(day);
  return std::int64_t{12} * static_cast<int>(date.year()) + static_cast<unsigned>(date.month()) - 1;
}

std::int64_t Calendar::ticks_at(std::int64_t count) const {
  if (unit == Unit::tick) {
    return count;
  }
  if (unit == Unit::row) {
    return std::llround(first + slope * static_cast<double>(count));
  }
  Day day = 0;
  if (unit == Unit::weekday) {
    day = 7 * floor_divide(count, 5) + (count - 5 * floor_divide(count, 5)) - 3;
  } else {
    const std::int64_t year = floor_divide(count, 12);
    const std::chrono::year_month month{std::chrono::year(static_cast<int>(year)),
                                        std::chrono::month(static_cast<unsigned>(count - 12 * year + 1))};
    const auto in_month = month_day == 0 ? (month / std::chrono::last).day() : std::chrono::day(month_day);
    day = std::chrono::sys_days(month / in_month).time_since_epoch().count();
  }
  return day * day_seconds * per_second + clock;
}

std::int64_t Calendar::end() const {
  constexpr std::int64_t years = 10'000, weekdays = 260 * (years - 1970);
  return unit == Unit::month ? 12 * years : unit == Unit::weekday ? weekdays : std::numeric_limits<std::int64_t>::max();
}

std::string Calendar::spell(std::int64_t count) const {
  const auto of = [](auto number, const char* name) { return gated::text(number, " ", name, number == 1 ? "" : "s"); };
  if (unit == Unit::month) {
    return count % 12 == 0 ? of(count / 12, "year") : of(count, "month");
  }
  if (unit == Unit::weekday) {
    return of(count, "weekday");
  }
  if (unit == Unit::row || per_second == 0) {
    return gated::text(static_cast<double>(count) * slope * tick);
  }
  for (const auto& [seconds, name] :
       {std::pair{day_seconds, "day"}, {std::int64_t{3600}, "hour"}, {std::int64_t{60}, "minute"}}) {
    if (count % (seconds * per_second) == 0) {
      return of(count / (seconds * per_second), name);
    }
  }
  return of(static_cast<double>(count) / static_cast<double>(per_second), "second");
}

}  // namespace forecast
