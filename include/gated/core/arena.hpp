#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/matrix.hpp"

/// @file
/// A bump arena for scratch memory.

namespace gated {

/// A bump arena: memory taken within a frame is released when the frame ends, and is reused by later frames.
///
/// Only the first run with a given shape allocates from the heap; when that run ends, the chunks are merged into one.
/// Memory: bytes(), the high-water mark.
template <class T>
class Arena {
 public:
  Arena() { chunks_.reserve(4); }  // so that replace_chunks() never reallocates the vector
  /// An arena in the caller's memory, which must outlive the arena. It never allocates: take() raises MemoryError
  /// if the memory is too small.
  explicit Arena(std::span<std::byte> memory) {
    void* first = memory.data();
    std::size_t bytes = memory.size();
    given_ = static_cast<T*>(std::align(static_cast<std::size_t>(cache_line_bytes), sizeof(T), first, bytes));
    given_count_ = given_ == nullptr ? 0 : bytes / sizeof(T);
    is_given_ = true;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Bytes held.
  std::size_t bytes() const { return capacity() * sizeof(T); }

  /// True if the memory is the caller's.
  bool is_given() const { return is_given_; }

  /// The largest number of scalars in use at any time so far.
  std::size_t peak() const { return peak_; }

  /// Scalars held.
  std::size_t capacity() const {
    std::size_t count = given_count_;
    for (const AlignedMemory<T>& chunk : chunks_) {
      count += chunk.count();
    }
    return count;
  }

  /// A scope: its destructor releases the memory taken in the scope.
  class Frame {
   public:
    explicit Frame(Arena& arena) : arena_(arena), chunk_(arena.current_), used_(arena.used_), taken_(arena.taken_) {
      ++arena_.depth_;
    }
    ~Frame() { arena_.give_back(chunk_, used_, taken_); }
    /// Releases the memory taken so far; the frame stays open.
    void restart() {
      arena_.give_back(chunk_, used_, taken_);
      ++arena_.depth_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Arena& arena_;
    std::size_t chunk_, used_, taken_;
  };

  [[nodiscard]] Frame frame() { return Frame(*this); }

  /// `count` uninitialized scalars, aligned to 64 bytes, valid until the enclosing frame ends.
  T* take(Index count) {
    eigen_assert(depth_ > 0 && count >= 0);
    const std::size_t size = whole_cache_lines<T>(static_cast<std::size_t>(count));
    if (is_given_) {
      return take_given(size);
    }
    while (current_ < chunks_.size() && used_ + size > chunks_[current_].count()) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) {
      chunks_.emplace_back(std::max(size, chunks_.empty() ? std::size_t{1024} : chunks_.back().count()));
    }
    T* const result = chunks_[current_].data() + used_;
    used_ += size;
    taken_ += size;
    peak_ = std::max(peak_, taken_);
    return result;
  }

  /// An uninitialized rows × columns matrix with stride row_stride(), valid until the enclosing frame ends.
  MatrixMap<T> matrix(Index rows, Index columns) {
    const Index stride = row_stride<T>(columns);
    return MatrixMap<T>(take(rows * stride), rows, columns, Eigen::OuterStride<>(stride));
  }

  /// A copy of `values` (ids, a mask), valid until the enclosing frame ends.
  template <class V>
  std::span<const V> copy(std::span<const V> values) {
    static_assert(std::is_trivially_copyable_v<V>);
    if (values.empty()) {
      return {};
    }
    V* const to = reinterpret_cast<V*>(take(static_cast<Index>((values.size_bytes() + sizeof(T) - 1) / sizeof(T))));
    std::uninitialized_copy(values.begin(), values.end(), to);
    return {to, values.size()};
  }

  /// Replaces all chunks by one chunk of `count` scalars, or by none if the allocation fails. Call it only while no
  /// memory is taken.
  void replace_chunks(std::size_t count) noexcept {
    chunks_.clear();  // keeps the vector's capacity
    AlignedMemory<T> whole(count, std::nothrow);
    if (whole.data() != nullptr) {
      chunks_.push_back(std::move(whole));
    }
  }

 private:
  /// Restores the state at the frame's start. When the outermost frame ends, replaces several chunks by one of peak() scalars,
  /// enough for another run like this one.
  void give_back(std::size_t chunk, std::size_t used, std::size_t taken) noexcept {
    current_ = chunk;
    used_ = used;
    taken_ = taken;
    if (--depth_ == 0 && chunks_.size() > 1) {
      replace_chunks(peak_);
    }
  }

  /// take() from the caller's memory.
  T* take_given(std::size_t size) {
    require<MemoryError>(size <= given_count_ - used_, "Arena: the given memory has ", given_count_ * sizeof(T),
                         " bytes, but this run needs at least ", (used_ + size) * sizeof(T), ". Pass more memory.");
    T* const result = given_ + used_;
    used_ += size;
    taken_ += size;
    peak_ = std::max(peak_, taken_);
    return result;
  }

  std::vector<AlignedMemory<T>> chunks_;
  T* given_ = nullptr;           // the caller's memory
  std::size_t given_count_ = 0;  // scalars that fit into given_
  bool is_given_ = false;
  std::size_t current_ = 0;  // the chunk that is being filled
  std::size_t used_ = 0;     // scalars taken from that chunk
  std::size_t taken_ = 0;    // scalars taken in all open frames
  std::size_t peak_ = 0;     // largest taken_ so far
  int depth_ = 0;            // number of open frames
};

}  // namespace gated
