#include "time_axis.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "gated/core/error.hpp"
#include "gated/io/nearest_name.hpp"

namespace forecast {

using gated::FileError, gated::Index, gated::raise, gated::require;

namespace {

constexpr std::int64_t end_of_dates = 253'402'300'800;  // the year 10000
constexpr int billionths = 9;
constexpr std::int64_t most_ticks = 4'000'000'000'000'000'000;  // small enough for differences to fit into 64 bits

/// A column of times, read in one TimeForm.
struct Candidate {
  TimeNotation notation = {};
  Calendar calendar = {};
  std::vector<std::int64_t> counts = {};
  std::int64_t step = 1;
  std::size_t faults = 0;  ///< the number of neighbouring pairs that are not one step apart
  bool offsets_vary = false;
};

/// Ticks per second of the epoch time `number`, whose unit (seconds, milli-, micro- or nanoseconds) is inferred from its size.
/// Returns 0 if `number` is too small for an epoch time.
std::int64_t ticks_of_epoch(std::int64_t number) {
  const std::int64_t size = std::abs(number);
  for (const int digits : {9, 6, 3, 0}) {
    if (size >= power_of_ten(8 + digits)) {
      return power_of_ten(digits);
    }
  }
  return 0;
}

/// Sets `step`, the most frequent positive difference of neighbours (in a tie, the smallest), and `faults`.
void find_step(Candidate& candidate) {
  std::map<std::int64_t, std::size_t> frequency;
  for (std::size_t i = 1; i < candidate.counts.size(); ++i) {
    ++frequency[candidate.counts[i] - candidate.counts[i - 1]];
  }
  frequency.erase(frequency.begin(), frequency.upper_bound(0));
  const auto best =
      std::max_element(frequency.begin(), frequency.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  candidate.step = best == frequency.end() ? 1 : best->first;
  candidate.faults = candidate.counts.size() - 1 - (best == frequency.end() ? 0 : best->second);
}

/// Converts times to counts in the calendar that yields the fewest faults. Returns nullopt if numbers have too many digits.
std::optional<Candidate> count(const std::vector<ReadTime>& times) {
  Candidate common{.notation = times.back().notation};
  TimeNotation& notation = common.notation;
  std::int64_t largest = 0;
  for (const auto& [own, stamp] : times) {
    notation.digits = std::max(notation.digits, own.digits);
    notation.width = std::max(notation.width, own.width);
    notation.pads_date = notation.pads_date && own.pads_date;
    notation.pads_hour = notation.pads_hour && own.pads_hour;
    common.offsets_vary = common.offsets_vary || stamp.offset != times[0].stamp.offset;
    largest = std::max(largest, std::abs(stamp.whole));
  }
  const std::int64_t scale = power_of_ten(notation.digits);
  if (largest >= most_ticks / scale) {
    return std::nullopt;
  }
  std::vector<std::int64_t> ticks;  // in the last row's local time
  for (const auto& [own, stamp] : times) {
    ticks.push_back((stamp.whole - stamp.offset + times.back().stamp.offset) * scale +
                    stamp.billionth / power_of_ten(billionths - notation.digits));
  }
  const std::int64_t per_second = scale * (notation.form == TimeForm::number ? ticks_of_epoch(times[0].stamp.whole) : 1);
  std::optional<Candidate> best;
  using Unit = Calendar::Unit;
  for (const Unit unit : {Unit::month, Unit::tick, Unit::weekday, Unit::row}) {
    const auto calendar = Calendar::of(unit, ticks, per_second, scale);
    if (!calendar) {
      continue;
    }
    Candidate candidate = common;
    candidate.calendar = *calendar;
    std::transform(ticks.begin(), ticks.end(), std::back_inserter(candidate.counts),
                   [&](std::int64_t time) { return calendar->count_of(time); });
    find_step(candidate);
    if (!best || candidate.faults < best->faults) {
      best = candidate;
    }
  }
  return best;
}

std::string quote(const std::string& text) { return "\"" + gated::printable(text) + "\""; }

/// Reads the column in the form that fits most texts, or in several forms if they tie. Returns an empty vector if no form fits
/// more than half of the texts.
std::vector<Candidate> candidates_of(const std::vector<std::string>& texts, const std::vector<Index>& lines,
                                     const std::string& column) {
  std::map<TimeForm, std::vector<std::optional<ReadTime>>> forms;
  std::map<TimeForm, std::size_t> good;
  std::size_t most = texts.size() / 2 + 1;
  for (const TimeForm form : time_forms) {
    for (const std::string& text : texts) {
      good[form] += forms[form].emplace_back(read_time(text, form)) ? 1U : 0U;
    }
    most = std::max(most, good[form]);
  }
  std::vector<Candidate> candidates;
  for (const auto& [form, times] : forms) {
    if (good[form] < most) {
      continue;
    }
    const auto first = static_cast<std::size_t>(
        std::find_if(times.begin(), times.end(), [](const auto& time) { return time.has_value(); }) - times.begin());
    std::vector<ReadTime> all;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!times[i] || !times[i]->notation.goes_with(times[first]->notation)) {
        raise<FileError>(column, ": line ", lines[i], ": ", quote(texts[i]), " is not a time in the notation of ",
                         quote(texts[first]), " in line ", lines[first],
                         ". Correct it, or write all times in the same notation.");
      }
      all.push_back(*times[i]);
    }
    if (const auto candidate = count(all)) {
      candidates.push_back(*candidate);
    }
  }
  return candidates;
}

}  // namespace

TimeAxis::TimeAxis(const std::vector<std::string>& texts, const std::vector<Index>& lines, const std::string& column)
    : places_(texts.size()) {
  std::iota(places_.begin(), places_.end(), Index{0});
  const auto candidates = texts.size() > 1 ? candidates_of(texts, lines, column) : std::vector<Candidate>();
  if (candidates.empty()) {
    return;
  }
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.faults < b.faults; });
  for (const Candidate& other : candidates) {
    const bool is_told = other.notation.form != TimeForm::month_first || best->notation.form != TimeForm::day_first ||
                         other.notation.separator == '.' || other.faults > best->faults || other.counts == best->counts;
    require<FileError>(is_told, column, ": line ", lines[0], ": ", quote(texts[0]),
                       " is ambiguous between day/month and month/day. Write dates as 2014-12-31.");
  }
  known_ = true;
  notation_ = best->notation;
  calendar_ = best->calendar;
  first_ = best->counts[0];
  step_ = best->step;

  for (std::size_t i = 1; i < texts.size(); ++i) {
    const std::int64_t distance = best->counts[i] - best->counts[i - 1];
    if (distance == 0) {
      raise<FileError>(column, ": line ", lines[i], " repeats the time of line ", lines[i - 1], ", ", quote(texts[i]),
                       ". Keep one of them; where clocks are set back, write times in UTC.");
    }
    if (distance < 0) {
      raise<FileError>(column, ": line ", lines[i], ", ", quote(texts[i]), ", is before line ", lines[i - 1], ", ",
                       quote(texts[i - 1]), ". Sort the rows by time, the oldest first.");
    }
    if (distance % step_ != 0) {
      raise<FileError>(column, ": line ", lines[i], ", ", quote(texts[i]), ", is ", calendar_.spell(distance), " after line ",
                       lines[i - 1], ", but most rows are ", step(), " apart. ",
                       best->offsets_vary ? "If the local times have equal steps, leave out the UTC offsets."
                                          : "Resample the rows to equal steps.");
    }
    places_[i] = places_[i - 1] + static_cast<Index>(distance / step_);
    if (places_[i] >= 2 * static_cast<Index>(texts.size())) {
      raise<FileError>(column, ": line ", lines[i], ", ", quote(texts[i]), ", is ", calendar_.spell(distance), " after line ",
                       lines[i - 1], ", ", quote(texts[i - 1]), ", so at a step of ", step(), ", more rows are missing than ",
                       "present. Correct the time, or leave out the rows before or after the gap.");
    }
  }
}

std::string TimeAxis::at(Index place) const {
  const bool fits = place <= (2 * most_ticks - std::abs(first_)) / step_ && first_ + place * step_ < calendar_.end();
  const std::int64_t ticks = fits ? calendar_.ticks_at(first_ + place * step_) : 0, scale = power_of_ten(notation_.digits);
  const bool is_number = notation_.form == TimeForm::number;
  const std::int64_t whole = is_number ? ticks / scale : floor_divide(ticks, scale);
  require<FileError>(fits && (is_number || whole < end_of_dates),
                     "the forecast extends beyond the last time that can be written. Use a shorter horizon.");
  return notation_.write(whole, (ticks - whole * scale) * power_of_ten(billionths - notation_.digits));
}

double TimeAxis::value_at(Index place) const {
  if (!known_) {
    return static_cast<double>(place);
  }
  const auto ticks = static_cast<double>(calendar_.ticks_at(first_ + place * step_));
  return has_dates() ? ticks / static_cast<double>(calendar_.per_second) : ticks * calendar_.tick;
}

std::string TimeAxis::step() const { return calendar_.spell(step_); }

}  // namespace forecast
