#pragma once

#include "gated/core/matrix.hpp"

#if defined(_OPENMP)
#include <omp.h>

#include <atomic>
#endif

/// @file
/// Loops over independent tasks. The only file with OpenMP pragmas; without OpenMP every loop is serial.

namespace gated {

/// How many threads a Workspace may use: `Workspace<float> workspace(Threads{4})`. One unless asked, and one in any case in a
/// program that is compiled without OpenMP (`gated::openmp`, `-fopenmp`).
struct Threads {
  int count = 1;
};

/// Calls `task(index, worker)` for each index in [0, tasks), on at most `threads` threads.
///
/// `worker` < threads.count names the thread, so that each can own a piece of scratch memory. A caller divides its work by
/// shape, never by thread count, and each task writes its own outputs: results are then the same bits for any thread count.
/// `task` must not throw: arguments are checked before a parallel loop, not inside it.
template <class Task>
void parallel_for(Threads threads, Index tasks, Task&& task) {
#if defined(_OPENMP)
  if (threads.count > 1 && tasks > 1) {
    // Always as many threads, because GCC's runtime ends those that a loop leaves out and makes them again for the next one. No
    // schedule(dynamic), for which LLVM's runtime allocates memory in every loop.
    std::atomic<Index> next{0};
#pragma omp parallel num_threads(threads.count)
    for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      task(i, static_cast<Index>(omp_get_thread_num()));
    }
    return;
  }
#else
  static_cast<void>(threads);
#endif
  for (Index i = 0; i < tasks; ++i) {
    task(i, Index{0});
  }
}

}  // namespace gated
