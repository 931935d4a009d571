#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calendar.hpp"
#include "gated/core/matrix.hpp"
#include "time_notation.hpp"

namespace forecast {

/// The times of a table: read from a column, checked for an equal step, and continued in the notation of the column. Calendar
/// months count as equal, and so do weekdays where no row is of a weekend. The step also decides between dd/mm and mm/dd.
class TimeAxis {
 public:
  TimeAxis() = default;
  /// Reads `texts`, which are in `lines` of a file; `column` names file and column in messages. Where most texts are no times,
  /// or there is only one, the notation is unknown: nothing is checked, and each text has the place of its row.
  /// Errors: FileError with the line for a time written otherwise than the others, for rows that are out of order, doubled or
  /// between two steps, for dates that may be dd/mm or mm/dd, and if more rows are missing than there are.
  TimeAxis(const std::vector<std::string>& texts, const std::vector<gated::Index>& lines, const std::string& column);

  bool known() const { return known_; }
  /// Where on the axis each text is: 0, and one more for each step. Rows are missing where places are left out.
  const std::vector<gated::Index>& places() const { return places_; }
  /// The time at a place, also after the last, of a known notation.
  /// Errors: FileError for a time too late to be written.
  std::string at(gated::Index place) const;
  /// Whether its times are dates.
  bool has_dates() const { return known_ && calendar_.per_second > 0; }
  /// Where the place is on the axis of a plot: seconds since 1970 of a date, a number, or the place itself if its time is
  /// unknown.
  double value_at(gated::Index place) const;
  /// "1 hour", "3 months", or a difference of numbers.
  std::string step() const;

 private:
  bool known_ = false;
  TimeNotation notation_;
  Calendar calendar_;
  std::int64_t first_ = 0, step_ = 1;  // counts of the calendar
  std::vector<gated::Index> places_;
};

}  // namespace forecast
