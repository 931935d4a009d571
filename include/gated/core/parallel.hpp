#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "gated/core/function_ref.hpp"
#include "gated/core/kernel_choice.hpp"
#include "gated/core/matrix.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

/// @file
/// Parallel loops and their threads.

namespace gated {

/// Runs a loop's work on several threads: calls `work(i)` for each worker i in [0, count), concurrently if possible, in any
/// order and on any threads. Returns when all these calls have returned.
///
/// An executor may make the calls one after another or skip some: the thread that started the loop does the remaining work. An
/// executor must be thread-safe and reentrant: several threads and nested loops may call it at the same time. It must not
/// throw.
using Executor = std::function<void(int count, const Work& work)>;

/// The threads that run loops: `Workspace<float> workspace(Threads{4})`. The default is the calling thread alone.
///
/// `Threads{n}` starts n − 1 threads, which sleep when idle. Copies of a Threads share its threads; the destructor of the last
/// copy ends them. While the threads run one loop, a second loop runs only on the thread that starts it. To use your program's
/// own thread pool, pass a function that runs work on it:
///
///     Threads threads(4, [&](int count, const Work& work) { pool.parallel_for(count, [&](int i) { work(i); }); });
///
/// Errors: ArgumentError if n < 1.
class Threads {
 public:
  Threads() = default;

  /// The caller and n − 1 new threads, or fewer if the system grants fewer: see count().
  explicit Threads(int n);

  /// At most n workers at a time, on `executor`'s threads.
  Threads(int n, Executor executor);

  /// The number of threads: n, or fewer if the system grants fewer. 1 on systems without threads, such as bare metal.
  int count() const { return count_; }

  /// True for copies, which share their threads.
  bool operator==(const Threads&) const = default;

  /// Runs `work` on `count` ≤ count() workers: see Executor.
  void run(int count, const Work& work) const {
    if (executor_ != nullptr) {
      (*executor_)(count, work);
    }
  }

 private:
  int count_ = 1;
  std::shared_ptr<const Executor> executor_;
};

#if defined(_OPENMP)
/// n OpenMP threads, for a program that already uses OpenMP: `Workspace<float> workspace(openmp_threads(4))`. Idle OpenMP
/// threads spin, and each loop waits for all n threads, so other programs on the same cores delay the loop.
inline Threads openmp_threads(int n) {
  return Threads(n, [n](int count, const Work& work) {
  // Always request n threads: GCC's runtime ends unused threads and starts them again for the next loop.
#pragma omp parallel num_threads(n)
    if (const int i = omp_get_thread_num(); i < count) {
      work(i);
    }
  });
}
#endif

namespace detail {

/// parallel_for() on several threads.
inline void share_tasks(const Threads& threads, Index tasks, FunctionRef<void(Index index, Index worker)> task) {
  const KernelChoice of_loop;
  std::atomic<Index> next{0};
  const auto work = [&next, tasks, &task, form = kernels_of_run()](int worker) {
    const KernelChoice of_caller(form);
    for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      task(i, static_cast<Index>(worker));
    }
  };
  threads.run(static_cast<int>(std::min<Index>(tasks, threads.count())), work);
  work(0);  // finishes the work that the executor skipped
}

}  // namespace detail

/// Calls `task(Index index, Index worker)` for each index in [0, tasks), on at most `threads.count()` threads.
///
/// `worker` < threads.count() identifies the thread, for scratch memory per thread. Split the work by shape, never by thread
/// count, and let each task write its own outputs: results are then bit-equal for any thread count. `task` must not throw:
/// check arguments before the loop.
// Not inlined, because g++ 12 makes slower products of an inlined loop.
template <class Task>
EIGEN_DONT_INLINE void parallel_for(const Threads& threads, Index tasks, const Task& task) {
  if (threads.count() > 1 && tasks > 1) {
    return detail::share_tasks(threads, tasks, task);
  }
  for (Index i = 0; i < tasks; ++i) {
    task(i, Index{0});
  }
}

/// True if there are several threads, and `tasks` equally long single-threaded tasks would keep them at least 90 % busy.
inline bool keeps_busy(const Threads& threads, Index tasks) {
  const Index count = threads.count(), rounds = (tasks + count - 1) / count;
  return count > 1 && tasks > 0 && tasks >= rounds * count - rounds * count / 10;
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/core/parallel.inl"
#endif
