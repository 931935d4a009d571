#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "gated/core/function_ref.hpp"
#include "gated/core/kernel_choice.hpp"
#include "gated/core/matrix.hpp"
#include "gated/core/work.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

/// @file
/// Loops over independent tasks, and who runs them.

namespace gated {

/// Runs a loop's work on several threads: calls `work(i)` for each worker i in [0, count), at the same time where it can, in
/// any order and on any threads, and returns when all these calls have returned.
///
/// Correct even if it calls them one after the other or leaves some out: the thread that runs the loop does what is left. It is
/// called by every thread that runs a loop with these Threads, and from inside `work` where a task has a loop of its own. It
/// must not throw.
using Executor = std::function<void(int count, const Work& work)>;

/// Who runs the tasks of loops: `Workspace<float> workspace(Threads{4})`. The calling thread alone unless asked.
///
/// `Threads{n}` starts n − 1 threads, which sleep unless there is work and end with the last copy; copies share them. While one
/// loop has them, a loop of another thread runs on its caller alone. A program that has threads of its own, as game engines and
/// audio hosts do, hands in a function that runs work on those:
///
///     Threads threads(4, [&](int count, const Work& work) { pool.parallel_for(count, [&](int i) { work(i); }); });
///
/// Errors: ArgumentError for a count below 1.
class Threads {
 public:
  Threads() = default;

  /// The caller and n − 1 threads more, or as many as the system grants: see count().
  explicit Threads(int n);

  /// At most n workers at a time, on the threads of `executor`.
  Threads(int n, Executor executor);

  /// How many there are: what was asked for, or fewer where the system has no more. One where programs have no threads, as on
  /// bare metal.
  int count() const { return count_; }

  /// Has `work` done by `count` ≤ count() workers. See Executor.
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
/// n threads of OpenMP, for a program that uses those already: `Workspace<float> workspace(openmp_threads(4))`. They spin while
/// they wait, and each loop waits for all of them, so that other programs on the same processors delay it.
inline Threads openmp_threads(int n) {
  return Threads(n, [n](int count, const Work& work) {
  // Always n of them, because GCC's runtime ends those that a loop leaves out, and makes them again for the next one.
#pragma omp parallel num_threads(n)
    if (const int i = omp_get_thread_num(); i < count) {
      work(i);
    }
  });
}
#endif

/// Calls `task(index, worker)` for each index in [0, tasks), on at most `threads.count()` threads.
///
/// `worker` < threads.count() names the thread, so that each can own a piece of scratch memory. A caller divides its work by
/// shape, never by thread count, and each task writes its own outputs: results are then the same bits for any thread count.
/// `task` must not throw: arguments are checked before a parallel loop, not inside it.
inline void parallel_for(const Threads& threads, Index tasks, FunctionRef<void(Index index, Index worker)> task) {
  if (threads.count() == 1 || tasks <= 1) {
    for (Index i = 0; i < tasks; ++i) {
      task(i, Index{0});
    }
    return;
  }
  const detail::KernelChoice of_loop;
  std::atomic<Index> next{0};
  const auto work = [&next, tasks, &task, form = detail::kernels_of_run()](int worker) {
    const detail::KernelChoice of_caller(form);
    for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      task(i, static_cast<Index>(worker));
    }
  };
  threads.run(static_cast<int>(std::min<Index>(tasks, threads.count())), work);
  work(0);  // what the executor left out
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/core/parallel.inl"
#endif
