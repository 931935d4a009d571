#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/matrix.hpp"

/// @file
/// Weights in the order in which a product reads them.

namespace gated {

/// Copies of some weights, packed for products, found by the address of the original. Made by prepare(); given to
/// Workspace::use(). A few numbers of each original are remembered, so that one which has changed since is noticed.
template <class T>
class PreparedWeights {
 public:
  PreparedWeights() = default;

  /// Room for the packed form of the rows × columns matrix at `weight`, in panels of `panel` rows, to be filled by the caller.
  /// `numbers` are those at `weight`, where rows and columns are only what find() is asked for.
  T* add(const T* weight, Index rows, Index columns, Index panel, Index numbers = -1) {
    T* const packed = take(static_cast<std::size_t>((rows + panel - 1) / panel * panel * columns));
    numbers = numbers < 0 ? rows * columns : numbers;
    entries_.push_back({weight, rows, columns, panel, numbers, packed, sample(weight, numbers)});
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return std::less<>{}(a.weight, b.weight); });
    return packed;
  }

  /// The packed form of the rows × columns matrix at `weight`, in panels of `panel` rows, or nullptr.
  /// Errors: ArgumentError if the original has changed.
  const T* find(const T* weight, Index rows, Index columns, Index panel) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), weight,
                                        [](const Entry& e, const T* wanted) { return std::less<>{}(e.weight, wanted); });
    const bool fits = found != entries_.end() && found->weight == weight && found->rows == rows &&
                      found->columns == columns && found->panel == panel;
    if (!fits) {
      return nullptr;
    }
    const Sample now = sample(weight, found->numbers);
    require<ArgumentError>(std::memcmp(now.data(), found->sample.data(), sizeof(Sample)) == 0, "PreparedWeights: a weight of ",
                           rows, " × ", columns,
                           " has changed since prepare(). Prepare the model anew after loading or training it.");
    return found->packed;
  }

  /// The matrices that were packed, and the bytes that they take.
  std::size_t count() const { return entries_.size(); }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  using Sample = std::array<T, 3>;
  struct Entry {
    const T* weight;
    Index rows, columns, panel, numbers;
    T* packed;
    Sample sample;  // of the weight as it was packed
  };

  static Sample sample(const T* weight, Index size) {
    return size == 0 ? Sample{} : Sample{weight[0], weight[size / 2], weight[size - 1]};
  }

  /// `count` numbers that start a cache line, of a block that many weights share. A new block is as large as all weights
  /// before it together, but for more than one weight at most 32 MiB: few weights waste little, and many lie in few blocks.
  T* take(std::size_t count) {
    constexpr std::size_t largest = (std::size_t{1} << 25) / sizeof(T);
    const std::size_t rounded = whole_cache_lines<T>(count);
    if (free_ < rounded) {
      free_ = std::max(rounded, std::min(size_, largest));
      blocks_.emplace_back(free_);
    }
    T* const result = blocks_.back().data() + (blocks_.back().count() - free_);
    free_ -= rounded;
    size_ += rounded;
    return result;
  }

  std::vector<Entry> entries_;  // by address
  std::vector<AlignedMemory<T>> blocks_;
  std::size_t free_ = 0;  // of the last block
  std::size_t size_ = 0;
};

}  // namespace gated
