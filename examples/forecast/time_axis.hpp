#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calendar.hpp"
#include "gated/core/matrix.hpp"
#include "time_notation.hpp"

namespace forecast {

/// The times in a column of a table: checks that their steps are equal, and writes times in the same notation. Calendar months
/// count as equal steps, and so do weekdays if no row is on a weekend. Ambiguous dates are read as dd/mm or mm/dd, whichever
/// yields equal steps.
class TimeAxis {
 public:
  TimeAxis() = default;
  /// Reads `texts`. Error messages name `column` and the text's line number, from `lines`. If there is only one text, or most
  /// are not times, the notation is unknown: nothing is checked, and the place of a text is its row index.
  /// Errors: FileError if a time's notation differs from that of the first time; if rows are out of order, duplicated or not a
  /// whole number of steps apart; if dd/mm and mm/dd fit equally well; if more rows are missing than present.
  TimeAxis(const std::vector<std::string>& texts, const std::vector<gated::Index>& lines, const std::string& column);

  bool known() const { return known_; }
  /// The place of each text on the axis, in steps from the first. A gap between places means that rows are missing.
  const std::vector<gated::Index>& places() const { return places_; }
  /// The time at a place, which may lie beyond the last row; the notation must be known.
  /// Errors: FileError for a time too late to be written.
  std::string at(gated::Index place) const;
  /// True if the times are dates.
  bool has_dates() const { return known_ && calendar_.per_second > 0; }
  /// The x coordinate of a place in plots: seconds since 1970 for dates, otherwise the value in the column, or the place itself
  /// if the notation is unknown.
  double value_at(gated::Index place) const;
  /// The step between times: "1 hour", "3 months", or a difference of numbers.
  std::string step() const;

 private:
  bool known_ = false;
  TimeNotation notation_;
  Calendar calendar_;
  std::int64_t first_ = 0, step_ = 1;  // in units of calendar_: ticks, months, weekdays or rows
  std::vector<gated::Index> places_;
};

}  // namespace forecast
