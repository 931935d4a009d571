#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/unset.hpp"
#include "gated/core/weight_format.hpp"

/// @file
/// Weights packed for matmul, or mapped from a file.

namespace gated {

/// A rows × columns weight, packed in panels of `panel` rows, or, if `panel` is 0, row-major in memory owned elsewhere.
///
/// A float panel is column-major. A quantized panel is a QuantizedPanel (core/weight_format.hpp), aligned to a cache line.
template <class T>
struct PackedWeight {
  WeightFormat format = WeightFormat::float32;
  Index rows = 0, columns = 0, panel = 0;
  std::byte* data = nullptr;

  explicit operator bool() const { return data != nullptr; }
  bool is_quantized() const { return format != WeightFormat::float32; }
  bool is_by_rows() const { return panel == 0; }

  /// The values of the panel that starts with row `first`.
  T* numbers(Index first = 0) const { return reinterpret_cast<T*>(data) + first * columns; }

  /// The codes of the panel that starts with row `first`.
  QuantizedPanel codes(Index first) const {
    std::byte* const start = panel_at(first);
    return {format, group_size(format, columns), reinterpret_cast<const float*>(start),
            reinterpret_cast<const std::int32_t*>(start + scale_bytes()), start + 2 * scale_bytes()};
  }

  /// Packs the codes of a whole weight. Rows missing from the last panel become zeros.
  void fill(const WeightCodes& from) const {
    const Index size = code_bytes(format), per_row = scales_per_row(format, columns);
    for (Index first = 0; first < rows; first += panel) {
      std::byte* const start = panel_at(first);
      std::memset(start, 0, panel_bytes());
      for (Index row = 0; row < std::min(panel, rows - first); ++row) {
        for (Index group = 0; group < per_row; ++group) {
          const float scale = from.scale(first + row, group);
          const std::int32_t sum = from.sum(first + row, group);
          std::byte* const to = start + (group * panel + row) * Index{sizeof(scale)};
          std::memcpy(to, &scale, sizeof(scale));
          std::memcpy(to + scale_bytes(), &sum, sizeof(sum));
        }
        const std::byte* code = from.codes + (first + row) * columns * size;
        for (Index column = 0; column < columns; ++column, code += size) {
          std::copy_n(code, size, start + 2 * scale_bytes() + QuantizedPanel::place(format, panel, row, column));
        }
      }
    }
  }

  /// Decodes row `row` into `to`.
  void read_row(Index row, T* to) const {
    if (is_by_rows()) {
      std::copy_n(numbers(row), columns, to);
      return;
    }
    if (!is_quantized()) {
      const T* const from = numbers(row / panel * panel) + row % panel;
      for (Index column = 0; column < columns; ++column) {
        to[column] = from[column * panel];
      }
      return;
    }
    const QuantizedPanel from = codes(row / panel * panel);
    const Index lane = row % panel;
    for (Index column = 0; column < columns; ++column) {
      const float* const scale = from.scales + column / from.group * panel + lane;
      to[column] = static_cast<T>(decode(format, from.codes + QuantizedPanel::place(format, panel, lane, column), scale));
    }
  }

  /// Size of all panels in bytes.
  std::size_t bytes() const {
    const Index panels = (rows + panel - 1) / panel;
    return is_quantized() ? static_cast<std::size_t>(panels) * panel_bytes()
                          : static_cast<std::size_t>(panels * panel * columns) * sizeof(T);
  }

 private:
  /// Size of a panel's scales in bytes. The sums of codes, which follow the scales, have the same size.
  Index scale_bytes() const { return scales_per_row(format, columns) * panel * Index{sizeof(float)}; }
  std::size_t panel_bytes() const {
    return whole_cache_lines<std::byte>(
        static_cast<std::size_t>(2 * scale_bytes() + QuantizedPanel::bytes(format, panel, columns)));
  }
  std::byte* panel_at(Index first) const { return data + static_cast<std::size_t>(first / panel) * panel_bytes(); }
};

/// Weights packed for matmul, or mapped from a file by load_mapped(), keyed by the address of the original weight. Made by
/// prepare(), used through Workspace::use(). PreparedWeights stores a few values of each original to detect later changes.
template <class T>
class PreparedWeights {
 public:
  PreparedWeights() = default;

  /// Allocates memory to pack the rows × columns matrix at `weight` in panels of `panel` rows. The caller fills the memory.
  /// `numbers` is the number of values at `weight`, if that differs from rows × columns.
  T* add(const T* weight, Index rows, Index columns, Index panel, Index numbers = -1) {
    return add(weight, WeightFormat::float32, rows, columns, panel, numbers).numbers();
  }
  /// Allocates memory for the packed weight in any format.
  PackedWeight<T> add(const T* weight, WeightFormat format, Index rows, Index columns, Index panel, Index numbers = -1) {
    PackedWeight<T> packed{format, rows, columns, panel};
    packed.data = take(packed.bytes());
    insert(weight, numbers < 0 ? rows * columns : numbers, packed);
    return packed;
  }
  /// Maps the rows × columns matrix at `weight` to row-major memory at `from`, which must outlive this object: see hold().
  void refer(const T* weight, const T* from, Index rows, Index columns) {
    auto* const bytes = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(from));  // never written
    insert(weight, rows * columns, {WeightFormat::float32, rows, columns, 0, bytes});
  }
  /// Keeps the owner of the mapped memory alive.
  void hold(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }

  /// The prepared form of the rows × columns matrix at `weight`, for kernels with panels of `panel` rows; empty if none.
  /// Errors: ArgumentError if the original has changed. ArgumentError also if the weight was packed for other kernels and has
  /// no original in float to fall back on (it is quantized, or stored only here).
  PackedWeight<T> find(const T* weight, Index rows, Index columns, Index panel) const {
    const Entry* const found = entry_of(weight);
    if (found == nullptr || found->packed.rows != rows || found->packed.columns != columns) {
      return {};
    }
    const PackedWeight<T>& packed = found->packed;
    if (packed.panel != panel && !packed.is_by_rows()) {
      require<ArgumentError>(!packed.is_quantized() && !is_elsewhere(*weight), "PreparedWeights: a weight of ", rows, " × ",
                             columns,
                             " was packed for other kernels than those in use. Call use_kernels() first, then prepare() or "
                             "open the file again.");
      return {};
    }
    const Sample now = sample(weight, found->numbers);
    require<ArgumentError>(std::memcmp(now.data(), found->sample.data(), sizeof(Sample)) == 0, "PreparedWeights: a weight of ",
                           rows, " × ", columns,
                           " has changed since prepare(). Call prepare() again after loading or training the model.");
    return packed;
  }

  /// True if the matrix at `weight` is prepared.
  bool holds(const T* weight) const { return entry_of(weight) != nullptr; }
  /// True if any weight is stored in `format`.
  bool stores(WeightFormat format) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.packed.format == format; });
  }
  /// True if any weight is quantized.
  bool is_quantized() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.packed.is_quantized(); });
  }

  /// The number of prepared matrices, and the size of the packed matrices in bytes.
  std::size_t count() const { return entries_.size(); }
  std::size_t bytes() const { return size_; }

 private:
  using Sample = std::array<T, 3>;
  struct Entry {
    const T* weight;
    Index numbers;
    PackedWeight<T> packed;
    Sample sample;  // values of the original when it was packed
  };

  const Entry* entry_of(const T* weight) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), weight,
                                        [](const Entry& e, const T* wanted) { return std::less<>{}(e.weight, wanted); });
    return found != entries_.end() && found->weight == weight ? &*found : nullptr;
  }

  void insert(const T* weight, Index numbers, const PackedWeight<T>& packed) {
    entries_.push_back({weight, numbers, packed, sample(weight, numbers)});
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return std::less<>{}(a.weight, b.weight); });
  }

  static Sample sample(const T* weight, Index size) {
    return size == 0 ? Sample{} : Sample{weight[0], weight[size / 2], weight[size - 1]};
  }

  /// `count` bytes, aligned to a cache line, in a block shared by many weights. A new block holds max(`count`, min(size of all
  /// weights so far, 32 MiB)) bytes.
  std::byte* take(std::size_t count) {
    constexpr std::size_t largest = std::size_t{1} << 25, slack = QuantizedPanel::read_past;
    const std::size_t rounded = whole_cache_lines<std::byte>(count);
    if (free_ < rounded + slack) {
      free_ = std::max(rounded, std::min(size_, largest)) + slack;
      blocks_.emplace_back(free_);
    }
    std::byte* const result = blocks_.back().data() + (blocks_.back().count() - free_);
    free_ -= rounded;
    size_ += rounded;
    return result;
  }

  std::vector<Entry> entries_;  // sorted by address
  std::vector<AlignedMemory<std::byte>> blocks_;
  std::shared_ptr<const void> owner_;  // owns the memory of mapped weights
  std::size_t free_ = 0;               // bytes left in the last block
  std::size_t size_ = 0;
};

}  // namespace gated
