#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/core/error.hpp"

/// @file
/// Handles that are safe to misuse: freed, made-up and foreign handles are refused.

namespace gated::c_interface {

/// Raised if a handle has no object, or if another thread uses its object.
class HandleError : public Error {
 public:
  using Error::Error;
};

/// Who may use an object during a call.
enum class Access {
  shared,    ///< any number of threads
  exclusive  ///< this thread alone
};

/// A table of objects of one kind, found by their handles.
///
/// A handle is a number that packs a slot's index, its generation (how often the slot was used) and `kind`. It is never
/// dereferenced, so a freed handle is refused safely. `kind`, 1 to 3, distinguishes the handles of different tables.
/// Cost: a lookup is one atomic compare-and-swap, without a lock. A slot has 24 bytes and is reused.
template <class T, unsigned kind>
class HandleTable {
  static_assert(kind >= 1 && kind <= 3, "kind must be 1 to 3: it has two bits in a handle, and a handle must not be 0.");
  using Number = std::uintptr_t;
  static constexpr int index_bits = sizeof(Number) == 8 ? 24 : 14;
  static constexpr std::uint32_t closed = ~std::uint32_t{0};  // user count that marks a slot without an object
  static constexpr std::size_t first_chunk = 64, chunk_count = index_bits - 5;

  struct Slot {
    std::atomic<std::uint64_t> state{closed};  // upper half: generation; lower half: user count
    std::shared_ptr<T> object;
  };

 public:
  /// Access to a handle's object for the duration of a call. The object cannot be freed meanwhile.
  class Use {
   public:
    /// Errors: HandleError, with a message that starts with `what`, if `handle` has no object, or if another thread uses the
    /// object and either use is exclusive.
    Use(HandleTable& table, const void* handle, const char* what, Access access = Access::shared)
        : slot_(table.slot_of(handle, what)), exclusive_(access == Access::exclusive) {
      const std::uint64_t times = times_in(handle);
      std::uint64_t state = slot_.state.load(std::memory_order_relaxed);
      do {
        expect_open(state, times, what);
        const bool is_free = users_of(state) == 0 || (!exclusive_ && users_of(state) < only_user);
        require<HandleError>(is_free, what,
                             " is in use by another thread. Wait for that call to return, or give each thread a copy.");
      } while (!slot_.state.compare_exchange_weak(state, state + step(), std::memory_order_acquire, std::memory_order_relaxed));
    }
    ~Use() { slot_.state.fetch_sub(step(), std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    T& operator*() const { return *slot_.object; }
    T* operator->() const { return slot_.object.get(); }
    const std::shared_ptr<T>& shared() const { return slot_.object; }

   private:
    std::uint64_t step() const { return exclusive_ ? only_user : 1; }

    Slot& slot_;
    bool exclusive_;
  };

  /// A new handle to `object`.
  /// Errors: HandleError if there are too many handles.
  void* add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      make_room();
    }
    const std::size_t index = free_.back();
    Slot& slot = *slot_at(index);
    const std::uint64_t times = times_of(slot.state.load(std::memory_order_relaxed));
    free_.pop_back();
    slot.object = std::move(object);
    slot.state.store(times << 32, std::memory_order_release);
    return handle_of(index, times);
  }

  /// Releases the object. Its handle is refused from now on.
  /// Errors: HandleError, with a message that starts with `what`, if the handle has no object, or if the object is in use.
  void remove(const void* handle, const char* what) {
    Slot& slot = slot_of(handle, what);
    const std::uint64_t times = times_in(handle);
    std::uint64_t state = slot.state.load(std::memory_order_relaxed);
    do {
      expect_open(state, times, what);
      require<HandleError>(users_of(state) == 0, what, " is in use by another thread. Wait for that call to return.");
    } while (!slot.state.compare_exchange_weak(state, (times + 1) << 32 | closed, std::memory_order_acquire,
                                               std::memory_order_relaxed));
    const std::shared_ptr<T> last = std::move(slot.object);  // the object is destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    if (times < most_times) {  // a slot that has used all its generations is retired
      free_.push_back(index_in(handle));
    }
  }

 private:
  static constexpr std::uint32_t only_user = 1u << 30;  // an exclusive user adds this to the user count
  static constexpr std::uint64_t most_times =
      (std::uint64_t{1} << (std::min<int>(sizeof(Number) * 8, 58) - 2 - index_bits)) - 1;

  static std::uint64_t times_of(std::uint64_t state) { return state >> 32; }
  static std::uint32_t users_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }
  static Number number_of(const void* handle) { return reinterpret_cast<Number>(handle); }
  static std::size_t index_in(const void* handle) { return number_of(handle) >> 2 & ((Number{1} << index_bits) - 1); }
  static std::uint64_t times_in(const void* handle) { return std::uint64_t{number_of(handle)} >> (2 + index_bits); }
  static void* handle_of(std::size_t index, std::uint64_t times) {
    return reinterpret_cast<void*>(narrowed<Number>((times << index_bits | index) << 2 | kind));
  }
  template <class N>
  static N narrowed(std::uint64_t number) {
    if constexpr (std::is_same_v<N, std::uint64_t>) {
      return number;
    } else {
      return static_cast<N>(number);
    }
  }
  static void expect_open(std::uint64_t state, std::uint64_t times, const char* what) {
    require<HandleError>(times_of(state) == times && users_of(state) != closed, what, " was freed already.");
  }

  /// The slot of a handle.
  Slot& slot_of(const void* handle, const char* what) const {
    require<HandleError>(handle != nullptr, what, " is NULL.");
    Slot* const slot = (number_of(handle) & 3) == kind ? slot_at(index_in(handle)) : nullptr;
    require<HandleError>(slot != nullptr, what, " is not a handle of this kind from this library.");
    return *slot;
  }
  /// The slot at `index`, or nullptr. Chunk k has 64 · 2ᵏ slots.
  Slot* slot_at(std::size_t index) const {
    std::size_t chunk = 0;
    for (std::size_t group = index / first_chunk + 1; group > 1; group /= 2) {
      ++chunk;
    }
    Slot* const slots = chunk < chunk_count ? chunks_[chunk].load(std::memory_order_acquire) : nullptr;
    return slots == nullptr ? nullptr : slots + (index - first_chunk * ((std::size_t{1} << chunk) - 1));
  }
  void make_room() {
    std::size_t chunk = 0, first = 0;
    while (chunk < chunk_count && chunks_[chunk].load(std::memory_order_relaxed) != nullptr) {
      first += first_chunk << chunk++;
    }
    const std::size_t count = first_chunk << chunk;
    require<HandleError>(first + count <= std::size_t{1} << index_bits, "Too many handles: ", first,
                         " are in use. Free what is no longer needed.");
    free_.reserve(first + count);
    auto slots = std::make_unique<Slot[]>(count);
    for (std::size_t i = 0; i < count; ++i) {
      slots[i].state.store(std::uint64_t{1} << 32 | closed, std::memory_order_relaxed);  // generation 1: handles are not small
      free_.push_back(first + count - 1 - i);
    }
    chunks_[chunk].store(slots.release(), std::memory_order_release);  // never freed: stale handles still look up their slots
  }

  std::mutex mutex_;  // guards free_ and the growth of chunks_
  std::vector<std::size_t> free_;
  std::array<std::atomic<Slot*>, chunk_count> chunks_{};
};

}  // namespace gated::c_interface
