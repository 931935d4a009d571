#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

/// Ticks of axes: round numbers and dates.

namespace examples {

struct Tick {
  double at = 0;
  std::string label, below = {};  ///< `below`: a second line, empty if the same as the previous tick's
};

/// The smallest step of 1, 2 or 5 · 10ⁿ that divides `range` into at most `most` parts.
inline double round_step(double range, double most) {
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  const auto fits = [&](double digit) { return range <= digit * power * most * (1 + 1e-9); };
  return power * (fits(1) ? 1 : fits(2) ? 2 : fits(5) ? 5 : 10);
}

/// `value` with as many decimals as `step`: "1,048,576", "−0.05", "2e−6".
inline std::string number(double value, double step) {
  const auto exponent_of = [](double x) { return static_cast<int>(std::floor(std::log10(x) + 1e-9)); };
  const double size = std::abs(value);
  if (size < step / 2) {
    return "0";
  }
  const int exponent = step < 9e-5 || size >= 1e9 ? exponent_of(size) : 0;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.*f", std::max(0, exponent - exponent_of(step)), size / std::pow(10, exponent));
  std::string text = digits.data();
  for (std::size_t at = std::min(text.find('.'), text.size()); at > 3;) {
    text.insert(at -= 3, ",");
  }
  text += exponent == 0 ? "" : (exponent < 0 ? "e−" : "e") + std::to_string(std::abs(exponent));
  return (value < 0 ? "−" : "") + text;
}

/// Ticks at round numbers from `from` to `to`, at most `most` + 1 of them.
inline std::vector<Tick> round_ticks(double from, double to, double most) {
  std::vector<Tick> ticks;
  const double step = round_step(to - from, most);
  for (double i = std::ceil(from / step - 1e-9); i <= to / step + 1e-9; ++i) {
    ticks.push_back({i * step, number(i * step, step)});
  }
  return ticks;
}

/// Powers of ten from `from` to `to`; if the range is less than three decades, also 2 and 5 times the powers of ten.
inline std::vector<Tick> log_ticks(double from, double to) {
  std::vector<Tick> ticks;
  for (double power = std::pow(10, std::floor(std::log10(from))); power <= to * (1 + 1e-9); power *= 10) {
    for (const double digit : {1, 2, 5}) {
      const double at = digit * power;
      if (at >= from * (1 - 1e-9) && at <= to * (1 + 1e-9) && (digit == 1 || to < 999 * from)) {
        const double unit = to < 9'999 || at < 999 ? 1 : at < 999'999 ? 1e3 : 1e6;
        ticks.push_back({at, number(at / unit, power / unit) + (unit < 2 ? "" : unit < 1e4 ? "k" : "M")});
      }
    }
  }
  return ticks;
}

inline constexpr std::int64_t one_hour = 3600, one_day = 24 * one_hour, one_month = 2'629'746,
                              one_year = 12 * one_month;  // mean length in seconds

/// The tick at `time` for steps of `step` seconds. Label: time of day above the date, day or month above the year, or the year.
inline Tick time_tick(std::int64_t time, std::int64_t step) {
  using namespace std::chrono;
  constexpr std::array names{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const sys_seconds second{seconds(time)};
  const year_month_day date(floor<days>(second));
  const auto clock = static_cast<int>((second - floor<days>(second)).count());
  const std::string year = std::to_string(static_cast<int>(date.year()));
  const std::string month = names[static_cast<unsigned>(date.month()) - 1];
  const std::string day = std::to_string(static_cast<unsigned>(date.day())) + " " + month;
  const auto at = static_cast<double>(time);
  if (step >= one_year) {
    return {at, year};
  }
  if (step >= one_day) {
    return {at, step >= one_month ? month : day, year};
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%02d:%02d", clock / 3600, clock / 60 % 60);
  return {at, text.data(), day};
}

/// Ticks at round times in seconds since 1970 (minutes, hours, days, Mondays, months or years), no more than about `most`.
inline std::vector<Tick> time_ticks(double from, double to, double most) {
  using namespace std::chrono;
  auto step = static_cast<std::int64_t>(std::max(1.0, round_step((to - from) / one_year, most))) * one_year;
  for (const std::int64_t shorter :
       {6 * one_month, 3 * one_month, 2 * one_month, one_month, 14 * one_day, 7 * one_day, 2 * one_day, one_day, 12 * one_hour,
        6 * one_hour, 3 * one_hour, one_hour, one_hour / 2, one_hour / 4, one_hour / 12, one_hour / 60}) {
    step = to - from <= static_cast<double>(shorter) * most ? shorter : step;
  }
  const auto first = static_cast<std::int64_t>(std::ceil(from)), last = static_cast<std::int64_t>(std::floor(to));
  const year_month_day start(floor<days>(sys_seconds(seconds(first))));
  const std::int64_t months = step / one_month, start_month = 12 * static_cast<int>(start.year()) +
                                                              static_cast<int>(static_cast<unsigned>(start.month())) - 1;
  const std::int64_t origin = step % (7 * one_day) == 0 ? 4 * one_day : 0;  // the first Monday of 1970
  std::vector<Tick> ticks;
  for (std::int64_t i = -1, time = first; time <= last; ++i) {
    time = ((first - origin) / step + i) * step + origin;
    if (months > 0) {
      const auto month = static_cast<int>((start_month / months + i) * months);
      time = sys_days(year(month / 12) / (month % 12 + 1) / 1).time_since_epoch() / seconds(1);
    }
    if (time >= first && time <= last) {
      ticks.push_back(time_tick(time, step));
    }
  }
  for (std::size_t i = ticks.size(); i > 1; --i) {
    ticks[i - 1].below = ticks[i - 1].below == ticks[i - 2].below ? "" : ticks[i - 1].below;
  }
  if (step < one_day && !ticks.empty()) {
    ticks[0].below += " " + time_tick(static_cast<std::int64_t>(ticks[0].at), one_day).below;  // its year
  }
  return ticks;
}

}  // namespace examples
