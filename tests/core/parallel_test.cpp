#include "gated/core/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

namespace gated {
namespace {

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const Index tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(tasks));
      parallel_for(Threads{threads}, tasks, [&](Index i, Index) { ++visits[static_cast<std::size_t>(i)]; });
      for (const auto& count : visits) {
        EXPECT_EQ(count, 1) << threads << " threads, " << tasks << " tasks";
      }
    }
  }
}

TEST(ParallelFor, NamesWorkersBelowTheNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    std::atomic<bool> in_range{true};
    parallel_for(Threads{threads}, 500, [&](Index, Index worker) {
      if (worker < 0 || worker >= threads) {
        in_range = false;
      }
    });
    EXPECT_TRUE(in_range) << threads;
  }
}

TEST(ParallelFor, GivesEachWorkerScratchOfItsOwn) {
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> shared{false};
  parallel_for(Threads{4}, 2000, [&](Index, Index worker) {
    if (busy[static_cast<std::size_t>(worker)]++ != 0) {
      shared = true;
    }
    --busy[static_cast<std::size_t>(worker)];
  });
  EXPECT_FALSE(shared);
}

#if defined(_OPENMP)
std::atomic<int> threads_seen{0};

void count_this_thread() {
  struct Once {
    Once() { ++threads_seen; }
  };
  static thread_local const Once once;
}

TEST(ParallelFor, KeepsItsThreadsFromLoopToLoop) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> arrived{0};
    parallel_for(Threads{4}, 4, [&](Index, Index) {
      count_this_thread();
      ++arrived;
      const auto start = std::chrono::steady_clock::now();  // each thread shall have one, if there are four
      while (arrived < 4 && std::chrono::steady_clock::now() - start < std::chrono::milliseconds(20)) {
      }
    });
    parallel_for(Threads{4}, 2, [](Index, Index) { count_this_thread(); });
  }
  EXPECT_LE(threads_seen, 4);
}
#endif

TEST(ParallelFor, OfOneThreadRunsInOrder) {
  std::vector<Index> order;
  parallel_for(Threads{}, 5, [&](Index i, Index worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<Index>{0, 1, 2, 3, 4}));
}

#if !defined(_OPENMP)
TEST(ParallelFor, IsSerialWithoutOpenMP) {
  std::vector<Index> order;
  parallel_for(Threads{4}, 3, [&](Index i, Index worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<Index>{0, 1, 2}));
}
#endif

}  // namespace
}  // namespace gated
