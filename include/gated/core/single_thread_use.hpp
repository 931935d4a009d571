#pragma once

#include <atomic>

#include "gated/core/error.hpp"

/// @file
/// Objects that one thread at a time may use.

namespace gated::detail {

/// A different address in each thread; one where the language has no threads, whose C library may have no thread_local either.
inline const void* this_thread() {
#if GATED_HAS_THREADS
  static constinit thread_local char mark = 0;
#else
  static constinit char mark = 0;
#endif
  return &mark;
}

/// The thread that uses an object while a Hold lives. A second thread gets an error where it would race. Copies start unused.
class SingleThreadUse {
 public:
  SingleThreadUse() = default;
  SingleThreadUse(const SingleThreadUse&) {}
  SingleThreadUse& operator=(const SingleThreadUse&) { return *this; }

  /// The object is this thread's until its outermost Hold ends.
  /// Errors: ArgumentError with the text of `refusal` while another thread has one.
  /// Cost: one atomic exchange for the outermost, one load for those inside.
  class [[nodiscard]] Hold {
   public:
    Hold(SingleThreadUse& use, const char* refusal) : owner_(use.owner_) {
      const void* const self = this_thread();
      if (owner_.load(std::memory_order_relaxed) != self) {
        const void* nobody = nullptr;
        is_outermost_ = owner_.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed);
        require<ArgumentError>(is_outermost_, refusal);
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
  std::atomic<const void*> owner_{nullptr};
};

}  // namespace gated::detail
