#pragma once

#include <atomic>

#include "gated/core/error.hpp"

/// @file
/// A guard for objects that serve one thread at a time.

namespace gated::detail {

/// An address unique to this thread. Platforms without threads use a plain static: thread_local may be missing there.
inline const void* this_thread() {
#if GATED_HAS_THREADS
  static constinit thread_local char mark = 0;
#else
  static constinit char mark = 0;
#endif
  return &mark;
}

/// Guards an object against concurrent use: a second thread gets an error instead of a data race. A copy starts unclaimed.
class SingleThreadUse {
 public:
  /// `refusal` is the text of the error.
  explicit SingleThreadUse(const char* refusal) : refusal_(refusal) {}
  /// Errors: ArgumentError if another thread holds `other`, or the object assigned to.
  SingleThreadUse(const SingleThreadUse& other) : refusal_(other.refusal_) { other.expect_unused_elsewhere(); }
  SingleThreadUse& operator=(const SingleThreadUse& other) {
    expect_unused_elsewhere();
    other.expect_unused_elsewhere();
    return *this;
  }

  /// Claims the object for this thread until the outermost Hold ends.
  /// Errors: ArgumentError if another thread holds the object.
  /// Cost: one atomic exchange for the outermost Hold, one load for nested ones.
  class [[nodiscard]] Hold {
   public:
    explicit Hold(SingleThreadUse& use) : owner_(use.owner_) {
      const void* const self = this_thread();
      if (owner_.load(std::memory_order_relaxed) != self) {
        const void* unowned = nullptr;
        is_outermost_ = owner_.compare_exchange_strong(unowned, self, std::memory_order_acquire, std::memory_order_relaxed);
        require<ArgumentError>(is_outermost_, use.refusal_);
      }
    }
    ~Hold() {
      if (is_outermost_) {
        owner_.store(nullptr, std::memory_order_release);
      }
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    std::atomic<const void*>& owner_;
    bool is_outermost_ = false;
  };

 private:
  void expect_unused_elsewhere() const {
    const void* const owner = owner_.load(std::memory_order_acquire);
    require<ArgumentError>(owner == nullptr || owner == this_thread(), refusal_);
  }

  const char* refusal_;
  std::atomic<const void*> owner_{nullptr};
};

}  // namespace gated::detail
