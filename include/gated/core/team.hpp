#pragma once

#include "gated/core/compiler.hpp"

#include <atomic>

#if GATED_HAS_THREADS
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>  // getpid()
#endif
#endif

#include "gated/core/error.hpp"
#include "gated/core/function_ref.hpp"

/// @file
/// A thread pool that sleeps when idle.

namespace gated {

#if GATED_HAS_THREADS

namespace detail {

/// Tells the processor that this is a spin loop.
inline void pause() {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif defined(__GNUC__) && (defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7))
  __asm__ __volatile__("yield");
#endif
}

/// Lets threads sleep until a condition holds. Replaces std::atomic::wait(), which hangs on Windows with GCC 12.
class Bell {
 public:
  /// Sleeps until `done()` returns true. The loads in `done`, and the store before ring(), must be sequentially consistent.
  template <class Done>
  void wait(const Done& done) {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    condition_.wait(lock, done);
    sleepers_.fetch_sub(1);
  }

  bool has_sleepers() const { return sleepers_.load() > 0; }

  /// Wakes at most `count` sleepers.
  void ring(int count) {
    { const std::lock_guard lock(mutex_); }  // otherwise, a thread between its check and its sleep would miss the call
    if (count >= sleepers_.load()) {
      condition_.notify_all();
    } else {
      for (int i = 0; i < count; ++i) {
        condition_.notify_one();
      }
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<int> sleepers_{0};
};

}  // namespace detail

/// Worker threads that help the caller of run(). The destructor ends them.
///
/// The caller works too, and waits only for threads that have joined the loop: a thread that the system has not scheduled in
/// time delays nothing. Idle threads spin for some microseconds, because the next loop usually comes soon, and then sleep.
///
/// After fork(), the child has the object but not its threads: run() then does all the work in the caller.
class Team {
 public:
  /// Starts `wanted` threads, or fewer if the system grants fewer.
  explicit Team(int wanted)
      : spin_(static_cast<unsigned>(wanted) < std::thread::hardware_concurrency() ? std::chrono::microseconds(50)
                                                                                  : std::chrono::microseconds(0)),
        system_(std::make_unique<System>()) {
    system_->threads.reserve(static_cast<std::size_t>(wanted));
#if GATED_HAS_EXCEPTIONS
    try {
      start(wanted);
    } catch (...) {  // the system grants no more threads
    }
#else
    start(wanted);
#endif
  }

  ~Team() {
    if (process() != process_) {
      static_cast<void>(system_.release());  // a forked child cannot join the parent's threads or destroy what they sleep on
      return;
    }
    ended_.store(true, std::memory_order_relaxed);
    round_.fetch_add(1);
    system_->next_round.ring(size());
    for (std::thread& thread : system_->threads) {
      thread.join();
    }
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(system_->threads.size()); }

  /// Calls work(0) on this thread, and work(i) on each thread i = 1 … size() that wakes in time. `useful` is the number of
  /// workers, this thread included, for which there is work. While another loop uses the threads, such as an enclosing one,
  /// only work(0) is called.
  void run(int useful, const Work& work) {
    if (busy_.exchange(true, std::memory_order_acquire)) {
      work(0);
      return;
    }
    work_ = &work;
    gate_.store(open, std::memory_order_release);
    round_.fetch_add(1);
    if (system_->next_round.has_sleepers() && process() == process_) {  // a forked child has no threads to wake
      system_->next_round.ring(useful - 1);
    }
    work(0);

    gate_.fetch_and(~open);
    const auto empty = [this] { return gate_.load() == 0; };
    if (!spin(empty)) {
      system_->all_out.wait(empty);
    }
    busy_.store(false, std::memory_order_release);
  }

 private:
  static constexpr unsigned open = 1U << 31;

  /// The threads, and the bells that wake them. A forked child must not destroy a System.
  struct System {
    detail::Bell next_round;  ///< wakes the threads
    detail::Bell all_out;     ///< wakes the caller
    std::vector<std::thread> threads;
  };

  void start(int wanted) {
    for (int worker = 1; worker <= wanted; ++worker) {
      // A function pointer, because GCC exports std::thread's instantiations from shared libraries even for hidden types.
      constexpr auto serve_team = +[](void* team, int i) { static_cast<Team*>(team)->serve(i); };
      system_->threads.emplace_back(serve_team, static_cast<void*>(this), worker);
    }
  }

  /// A thread's loop: waits for the next round and, if that is still open, joins it.
  void serve(int worker) {
    for (unsigned seen = 0;;) {
      const auto has_begun = [this, seen] { return round_.load() != seen; };
      if (!spin(has_begun)) {
        system_->next_round.wait(has_begun);
      }
      seen = round_.load();
      if (ended_.load(std::memory_order_relaxed)) {
        return;
      }
      unsigned gate = gate_.load(std::memory_order_relaxed);
      while ((gate & open) != 0) {
        if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
          (*work_)(worker);
          if (gate_.fetch_sub(1) == 1 && system_->all_out.has_sleepers()) {  // the last thread out wakes a sleeping caller
            system_->all_out.ring(1);
          }
          break;
        }
      }
    }
  }

  /// Polls `done` for some microseconds. Returns its last result.
  template <class Done>
  bool spin(const Done& done) const {
    for (const auto start = std::chrono::steady_clock::now();;) {
      for (int i = 0; i < 16; ++i) {
        if (done()) {
          return true;
        }
        detail::pause();
      }
      if (std::chrono::steady_clock::now() - start >= spin_) {
        return false;
      }
    }
  }

  static long process() {
#if __has_include(<unistd.h>)
    return static_cast<long>(getpid());
#else
    return 0;
#endif
  }

  const std::chrono::microseconds spin_;
  const long process_ = process();
  const Work* work_ = nullptr;
  // Each on its own cache line: threads poll one while others write another.
  alignas(64) std::atomic<unsigned> round_{0};  ///< counts the loops
  alignas(64) std::atomic<unsigned> gate_{0};   ///< `open` while a loop has work, plus the number of threads in the loop
  alignas(64) std::atomic<bool> busy_{false};   ///< true while a loop uses the threads
  std::atomic<bool> ended_{false};
  std::unique_ptr<System> system_;  // last, because the threads use all members above
};

#endif  // GATED_HAS_THREADS

}  // namespace gated
