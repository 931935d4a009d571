#pragma once

#include <utility>

#include "gated/core/error.hpp"
#include "gated/core/parallel.hpp"
#include "gated/core/team.hpp"

namespace gated {

namespace detail {

inline void check_thread_count(int n) { require<ArgumentError>(n >= 1, "Threads: n = ", n, ", expected at least 1."); }

}  // namespace detail

GATED_INLINE Threads::Threads(int n) {
  detail::check_thread_count(n);
#if GATED_HAS_THREADS
  if (n > 1) {
    const auto team = std::make_shared<Team>(n - 1);
    if (team->size() > 0) {
      count_ = 1 + team->size();
      executor_ = std::make_shared<const Executor>([team](int count, const Work& work) { team->run(count, work); });
    }
  }
#endif
}

GATED_INLINE Threads::Threads(int n, Executor executor) : count_(n) {
  detail::check_thread_count(n);
  if (n > 1) {
    executor_ = std::make_shared<const Executor>(std::move(executor));
  }
}

}  // namespace gated
