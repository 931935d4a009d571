#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gated/core/matrix.hpp"

/// @file
/// The split of a token matrix's rows into sequences.

namespace gated {

/// The split of a ragged batch: sequence b owns the rows offset(b) … offset(b) + length(b) - 1.
///
/// A batch is never padded, so padding cannot change a result. Only layers that mix tokens use the split; other layers ignore
/// it.
///
///     Sequences::uniform(8, 196)              // eight images of 196 tokens
///     Sequences::of_lengths({512, 37, 129})   // three texts, 678 rows
///
/// Errors: ArgumentError for a negative count or length, and for a total number of rows that overflows Index.
/// Cost: copies share one array of offsets; a uniform split allocates nothing.
class Sequences {
 public:
  /// `count` sequences of `length` rows each.
  static Sequences uniform(Index count, Index length) {
    require<ArgumentError>(count >= 0 && length >= 0, "Sequences::uniform: count = ", count, " and length = ", length,
                           " must not be negative.");
    require<ArgumentError>(length == 0 || count <= std::numeric_limits<Index>::max() / length, "Sequences::uniform: ", count,
                           " sequences of ", length, " rows: the total number of rows overflows Index.");
    Sequences result;
    result.count_ = count;
    result.length_ = length;
    return result;
  }

  /// One sequence of `length` rows.
  static Sequences single(Index length) { return uniform(1, length); }

  /// One sequence per entry of `lengths`, which may differ.
  static Sequences of_lengths(const std::vector<Index>& lengths) {
    std::vector<Index> offsets{0};
    offsets.reserve(lengths.size() + 1);
    for (const Index length : lengths) {
      require<ArgumentError>(length >= 0, "Sequences::of_lengths: length ", length, " of sequence ", offsets.size() - 1,
                             " is negative.");
      require<ArgumentError>(length <= std::numeric_limits<Index>::max() - offsets.back(),
                             "Sequences::of_lengths: the total number of rows overflows Index.");
      offsets.push_back(offsets.back() + length);
    }
    Sequences result;
    result.count_ = static_cast<Index>(lengths.size());
    result.offsets_ = std::make_shared<const std::vector<Index>>(std::move(offsets));
    return result;
  }

  /// The sequences `first` … `first` + `count` - 1, with rows renumbered from 0. Allocates nothing.
  Sequences part(Index first, Index count) const {
    Sequences result = *this;
    result.first_ += first;
    result.count_ = count;
    return result;
  }

  Index count() const { return count_; }
  Index length(Index b) const { return offsets_ == nullptr ? length_ : start(b + 1) - start(b); }
  Index offset(Index b) const { return offsets_ == nullptr ? b * length_ : start(b) - start(0); }
  Index total() const { return offset(count_); }
  /// The largest length; 0 if there are no sequences.
  Index longest() const {
    Index result = 0;
    for (Index b = 0; b < count_; ++b) {
      result = std::max(result, length(b));
    }
    return result;
  }

  /// The index of the first sequence that begins at `row` or later; count() if there is none.
  Index first_from(Index row) const {
    if (offsets_ == nullptr) {
      return length_ == 0 ? (row > 0 ? count_ : 0) : std::clamp<Index>((row + length_ - 1) / length_, 0, count_);
    }
    const auto begin = offsets_->begin() + first_;
    return std::lower_bound(begin, begin + count_, row + start(0)) - begin;
  }

  /// Splits the rows `row` … `row` + `rows` - 1 by sequence. Calls `f(first, position, count)` for each part: its first row,
  /// the position of that row in its sequence, and the number of rows.
  template <class F>
  void for_each_part(Index row, Index rows, const F& f) const {
    Index b = first_from(row + 1) - 1;
    for (Index done = 0, count = 0; done < rows; done += count, ++b) {
      const Index position = row + done - offset(b);
      count = std::min(length(b) - position, rows - done);
      if (count > 0) {
        f(row + done, position, count);
      }
    }
  }

  /// Raises ShapeError unless these sequences cover exactly `rows` rows.
  void expect_total(Where where, Index rows) const {
    if (rows != total()) {  // require() would always call describe(), which allocates
      raise<ShapeError>(where, ": x has ", rows, " rows, but the sequences cover ", describe(),
                        ". Every row must belong to exactly one sequence.");
    }
  }

  /// "1 sequence × 197 tokens", or "3 sequences, 678 tokens in all".
  std::string describe() const {
    if (offsets_ == nullptr) {
      return text(count_, count_ == 1 ? " sequence × " : " sequences × ", length_, " tokens");
    }
    return text(count_, count_ == 1 ? " sequence, " : " sequences, ", total(), " tokens in all");
  }

 private:
  Sequences() = default;

  Index start(Index b) const { return (*offsets_)[static_cast<std::size_t>(first_ + b)]; }

  Index count_ = 0;
  Index first_ = 0;                                    // the first sequence's index in offsets_
  Index length_ = 0;                                   // length of each sequence, if uniform
  std::shared_ptr<const std::vector<Index>> offsets_;  // offsets in the whole batch, if lengths differ
};

}  // namespace gated
