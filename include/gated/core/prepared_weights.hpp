#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gated/core/matrix.hpp"

/// @file
/// Weights in the order in which a product reads them.

namespace gated {

/// Copies of some weights, packed for products, found by the address of the original. Made by prepare(); given to
/// Workspace::use().
template <class T>
class PreparedWeights {
 public:
  PreparedWeights() = default;

  /// Room for the packed form of the rows × columns matrix at `weight`, to be filled by the caller.
  T* add(const T* weight, Index rows, Index columns, Index size) {
    entries_.push_back({weight, rows, columns, allocate(size)});
    size_ += static_cast<std::size_t>(size);
    T* const result = entries_.back().packed.get();
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return std::less<>{}(a.weight, b.weight); });
    return result;
  }

  /// The packed form of the rows × columns matrix at `weight`, or nullptr.
  const T* find(const T* weight, Index rows, Index columns) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), weight,
                                        [](const Entry& e, const T* wanted) { return std::less<>{}(e.weight, wanted); });
    const bool fits = found != entries_.end() && found->weight == weight && found->rows == rows && found->columns == columns;
    return fits ? found->packed.get() : nullptr;
  }

  /// The matrices that were packed, and the bytes that they take.
  std::size_t count() const { return entries_.size(); }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };
  struct Entry {
    const T* weight;
    Index rows, columns;
    std::unique_ptr<T, Delete> packed;
  };

  static std::unique_ptr<T, Delete> allocate(Index size) {
    return std::unique_ptr<T, Delete>(static_cast<T*>(::operator new(static_cast<std::size_t>(size) * sizeof(T), alignment)));
  }

  std::vector<Entry> entries_;  // by address
  std::size_t size_ = 0;
};

}  // namespace gated
