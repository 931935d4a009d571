#include "time_notation.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "calendar.hpp"

namespace forecast {

namespace {

constexpr int most_digits = 9;  // after the decimal point

/// The unread rest of a text.
struct Reader {
  std::string_view rest;

  bool at(std::string_view any) const { return !rest.empty() && any.find(rest.front()) != std::string_view::npos; }
  char take() {
    const char first = rest.front();
    rest.remove_prefix(1);
    return first;
  }
  /// Removes and returns the leading digits; nullopt if there are none.
  std::optional<std::string_view> digits() {
    const std::size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return count > 0 ? std::optional(taken) : std::nullopt;
  }
};

std::optional<std::int64_t> whole_number(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

/// Reads an optional fraction such as ".25", in billionths; false if it has no digits or more than nine.
bool read_fraction(Reader& reader, ReadTime& read) {
  if (!reader.at(".,")) {
    return true;
  }
  read.notation.point = reader.take();
  const auto digits = reader.digits();
  if (!digits || digits->size() > most_digits) {
    return false;
  }
  read.notation.digits = static_cast<int>(digits->size());
  read.stamp.billionth = *whole_number(*digits) * power_of_ten(most_digits - read.notation.digits);
  return true;
}

std::optional<ReadTime> read_number(Reader reader) {
  ReadTime read;
  const bool negative = reader.at("-");
  if (negative) {
    reader.take();
  }
  const auto digits = reader.digits();
  const auto whole = digits ? whole_number(*digits) : std::nullopt;
  constexpr std::int64_t largest = 4'000'000'000'000'000'000;  // differences of two numbers fit into 64 bits
  if (!whole || *whole > largest || !read_fraction(reader, read) || !reader.rest.empty()) {
    return std::nullopt;
  }
  read.notation.width = digits->size() > 1 && digits->front() == '0' ? static_cast<int>(digits->size()) : 0;
  read.stamp.whole = negative ? -*whole : *whole;
  read.stamp.billionth *= negative ? -1 : 1;
  return read;
}

/// Moves the time of day out of `date`, such as 2014123107, 201412310700 or 20141231070000, whose digits nothing separates.
bool read_compact_clock(std::string_view& date, ReadTime& read) {
  constexpr std::int64_t limit[] = {24, 60, 60}, seconds[] = {3600, 60, 1};
  for (std::size_t at = 8; at + 1 < date.size() && read.notation.clock_fields < 3; at += 2) {
    const std::int64_t field = *whole_number(date.substr(at, 2));
    if (field >= limit[read.notation.clock_fields]) {
      return false;
    }
    read.stamp.whole += field * seconds[read.notation.clock_fields++];
  }
  read.notation.colon = read.notation.clock_fields > 0 ? '\0' : ':';
  date = date.substr(0, std::min<std::size_t>(date.size(), 8));
  return true;
}

/// Reads the one to three numbers of a date such as "31.12.2014" and its separator; returns none for other text.
std::vector<std::string_view> read_date_parts(Reader& reader, TimeNotation& notation) {
  std::vector<std::string_view> parts;
  do {
    const auto digits = reader.digits();
    if (!digits || parts.size() == 3) {
      return {};
    }
    parts.push_back(*digits);
    if (!reader.at(notation.separator != 0 ? std::string_view(&notation.separator, 1) : "-/.")) {
      return parts;
    }
    notation.separator = reader.take();
  } while (true);
}

/// "2014-12-31", "2014-12", "31.12.2014", "20141231", "201412", "20141231070000".
bool read_date(Reader& reader, ReadTime& read) {
  TimeNotation& notation = read.notation;
  std::vector<std::string_view> parts = read_date_parts(reader, notation);
  const bool is_compact = notation.form == TimeForm::compact;
  if (is_compact ? parts.size() != 1 : parts.size() < 2) {
    return false;
  }
  if (is_compact) {
    const std::size_t size = parts[0].size();
    if (size < 6 || size > 14 || size % 2 != 0 || !read_compact_clock(parts[0], read)) {
      return false;
    }
    const std::string_view all = parts[0];
    parts = {all.substr(0, 4), all.substr(4, 2)};
    if (all.size() == 8) {
      parts.push_back(all.substr(6));
    }
  }
  notation.has_day = parts.size() == 3;
  if (notation.form == TimeForm::day_first || notation.form == TimeForm::month_first) {
    std::reverse(parts.begin(), parts.end());
    if (notation.form == TimeForm::month_first && notation.has_day) {
      std::swap(parts[1], parts[2]);
    }
  }
  const auto is_short = [](std::string_view part) { return part.size() <= 2; };
  if (parts[0].size() != 4 || !std::all_of(parts.begin() + 1, parts.end(), is_short)) {
    return false;
  }
  notation.pads_date = std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) { return part.size() == 2; });
  const std::chrono::year_month_day date{
      std::chrono::year(static_cast<int>(*whole_number(parts[0]))),
      std::chrono::month(static_cast<unsigned>(*whole_number(parts[1]))),
      std::chrono::day(notation.has_day ? static_cast<unsigned>(*whole_number(parts[2])) : 1)};
  const bool likely = !is_compact || (date.year() >= std::chrono::year(1800) && date.year() < std::chrono::year(2200));
  read.stamp.whole += date.ok() ? std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86400} : 0;
  return date.ok() && likely;
}

/// " AM", "pm" or nothing, after the fields of a clock of 12 hours.
bool read_half(Reader& reader, ReadTime& read) {
  Reader ahead = reader;
  std::string& half = read.notation.half;
  if (ahead.at(" ")) {
    half += ahead.take();
  }
  if (!ahead.at("AaPp")) {
    half.clear();
    return true;
  }
  const char mark = ahead.take();
  const bool second = mark == 'P' || mark == 'p';
  half += second ? static_cast<char>(mark + 'A' - 'P') : mark;
  const std::int64_t day = 86400, hour = (read.stamp.whole % day + day) % day / 3600;
  if (!ahead.at("Mm") || hour < 1 || hour > 12) {
    return false;
  }
  half += ahead.take();
  read.stamp.whole += ((hour == 12 ? -12 : 0) + (second ? 12 : 0)) * std::int64_t{3600};
  reader = ahead;
  return true;
}

/// "T07:00:00.5", " 7:00", " 07:00 AM" or, after a date without separators, "T070000".
bool read_clock(Reader& reader, ReadTime& read) {
  if (read.notation.clock_fields > 0) {  // read_compact_clock() has read it
    return true;
  }
  if (!reader.at("Tt ") || !read.notation.has_day) {
    return reader.rest.empty();
  }
  read.notation.clock_mark = reader.take();
  const std::size_t count = std::min(reader.rest.find_first_not_of("0123456789"), reader.rest.size());
  if (read.notation.form == TimeForm::compact && (count == 4 || count == 6)) {
    const std::string padded = "00000000" + std::string(*reader.digits());  // in place of the date
    std::string_view clock = padded;
    return read_compact_clock(clock, read) && (read.notation.clock_fields < 3 || read_fraction(reader, read));
  }
  constexpr std::int64_t limit[] = {24, 60, 60}, seconds[] = {3600, 60, 1};
  int& fields = read.notation.clock_fields;
  do {
    const auto digits = reader.digits();
    if (!digits || digits->size() > 2 || (fields > 0 && digits->size() != 2) || *whole_number(*digits) >= limit[fields]) {
      return false;
    }
    read.notation.pads_hour = read.notation.pads_hour && digits->size() == 2;
    read.stamp.whole += *whole_number(*digits) * seconds[fields];
    ++fields;
  } while (fields < 3 && reader.at(":") && reader.take() == ':');
  return (fields < 3 || read_fraction(reader, read)) && read_half(reader, read);
}

/// "Z", "+01:00", " +0100", "+01", " UTC", " GMT", or nothing.
bool read_zone(Reader& reader, ReadTime& read) {
  read.notation.zone = std::string(reader.rest);
  const std::string_view names[] = {"", "Z", "z", " UTC", " GMT"};
  if (std::find(std::begin(names), std::end(names), reader.rest) != std::end(names)) {
    return true;
  }
  if (reader.at(" ")) {
    reader.take();
  }
  if (read.notation.clock_fields == 0 || !reader.at("+-")) {
    return false;
  }
  const std::int64_t sign = reader.take() == '-' ? -1 : 1;
  std::string digits(reader.rest);
  if (digits.size() == 5 && digits[2] == ':') {
    digits.erase(2, 1);
  }
  if ((digits.size() != 2 && digits.size() != 4) || digits.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  digits.resize(4, '0');
  const std::int64_t clock = *whole_number(digits);
  read.stamp.offset = sign * (clock / 100 * 3600 + clock % 100 * 60);
  return clock % 100 < 60 && clock / 100 < 24;
}

}  // namespace

bool TimeNotation::goes_with(const TimeNotation& other) const {
  TimeNotation alike = other;
  alike.digits = digits;
  alike.point = digits == 0 || other.digits == 0 ? point : other.point;
  alike.width = width;
  alike.pads_date = pads_date;
  alike.pads_hour = pads_hour;
  alike.zone = zone.empty() == other.zone.empty() ? zone : other.zone;
  return *this == alike;
}

std::string TimeNotation::write(std::int64_t whole, std::int64_t billionth) const {
  const auto digits_of = [](std::int64_t value, int least) {
    const std::string all = std::to_string(value);
    return std::string(static_cast<std::size_t>(std::max(0, least - static_cast<int>(all.size()))), '0') + all;
  };
  const std::string fraction =
      digits > 0 ? point + digits_of(std::abs(billionth) / power_of_ten(most_digits - digits), digits) : std::string();
  if (form == TimeForm::number) {
    return (whole < 0 || billionth < 0 ? "-" : "") + digits_of(std::abs(whole), width) + fraction;
  }
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(whole)));
  const std::chrono::year_month_day date{day};
  const auto clock = whole - day.time_since_epoch().count() * std::int64_t{86400};
  const int pad = pads_date ? 2 : 1;
  std::vector<std::string> parts{digits_of(static_cast<int>(date.year()), 4),
                                 digits_of(static_cast<unsigned>(date.month()), pad)};
  if (has_day) {
    parts.push_back(digits_of(static_cast<unsigned>(date.day()), pad));
  }
  if (form == TimeForm::month_first && has_day) {
    std::swap(parts[1], parts[2]);
  }
  if (form == TimeForm::day_first || form == TimeForm::month_first) {
    std::reverse(parts.begin(), parts.end());
  }
  std::string out = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    out += (separator != 0 ? std::string(1, separator) : std::string()) + parts[i];
  }
  if (clock_fields > 0) {
    const std::int64_t hour = clock / 3600,
                       fields[] = {half.empty() ? hour : (hour + 11) % 12 + 1, clock / 60 % 60, clock % 60};
    for (int i = 0; i < clock_fields; ++i) {
      const char mark = i == 0 ? clock_mark : colon;
      out += (mark != 0 ? std::string(1, mark) : std::string()) + digits_of(fields[i], pads_hour || i > 0 ? 2 : 1);
    }
    out += fraction;
    for (const char mark : half) {
      out += (mark == 'A' || mark == 'a') && hour >= 12 ? static_cast<char>(mark + 'P' - 'A') : mark;
    }
  }
  return out + zone;
}

std::optional<ReadTime> read_time(std::string_view text, TimeForm form) {
  if (form == TimeForm::number) {
    return read_number({text});
  }
  ReadTime read{.notation = {.form = form}};
  Reader reader{text};
  const bool good = read_date(reader, read) && (reader.rest.empty() || (read_clock(reader, read) && read_zone(reader, read)));
  return good ? std::optional(read) : std::nullopt;
}

}  // namespace forecast
