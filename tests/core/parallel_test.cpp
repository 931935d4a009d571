#include "gated/core/parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <pthread.h>
#endif

namespace gated::parallel_test {
namespace {

/// Succeeds if a loop runs each task once, with a valid worker index that no other thread uses at the same time.
testing::AssertionResult runs_each_task_once(const Threads& threads, Index tasks) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(tasks)), busy(static_cast<std::size_t>(threads.count()));
  std::atomic<int> strangers{0}, shared{0};
  parallel_for(threads, tasks, [&](Index i, Index worker) {
    ++visits[static_cast<std::size_t>(i)];
    if (worker < 0 || worker >= threads.count()) {
      ++strangers;
      return;
    }
    shared += busy[static_cast<std::size_t>(worker)]++ != 0;
    --busy[static_cast<std::size_t>(worker)];
  });
  for (const auto& count : visits) {
    if (count != 1) {
      return testing::AssertionFailure() << "a task ran " << count << " times";
    }
  }
  if (strangers != 0 || shared != 0) {
    return testing::AssertionFailure() << strangers << " invalid worker indices, " << shared << " shared by two threads";
  }
  return testing::AssertionSuccess();
}

/// True if `count` tasks that wait for each other run at the same time, one per thread. Each waits at most 30 seconds.
bool all_come(const Threads& threads, int count) {
  std::atomic<int> arrived{0};
  parallel_for(threads, count, [&](Index, Index) {
    ++arrived;
    const auto start = std::chrono::steady_clock::now();
    while (arrived < count && std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
      std::this_thread::yield();
    }
  });
  return arrived == count;
}

TEST(ParallelFor, RunsEachTaskOnceWithExclusiveWorkers) {
  for (const int count : {1, 2, 3, 8}) {
    const Threads threads{count};
    for (const Index tasks : {0, 1, 2, 7, 1000}) {
      EXPECT_TRUE(runs_each_task_once(threads, tasks)) << count << " threads, " << tasks << " tasks";
    }
  }
}

TEST(ParallelFor, RunsEachTaskOnceInThousandsOfShortLoops) {
  for (const int count : {2, 5}) {
    const Threads threads{count};
    for (int round = 0; round < 3000; ++round) {
      ASSERT_TRUE(runs_each_task_once(threads, round % 7)) << count << " threads, round " << round;
    }
  }
}

TEST(ParallelFor, RunsInOrderOnOneThread) {
  std::vector<Index> order;
  parallel_for(Threads{}, 5, [&](Index i, Index worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<Index>{0, 1, 2, 3, 4}));
}

TEST(ParallelFor, RunsNestedLoops) {
  const Threads threads{3};
  std::vector<std::atomic<int>> visits(100);
  parallel_for(threads, 10, [&](Index outer, Index) {
    parallel_for(threads, 10, [&](Index inner, Index) { ++visits[static_cast<std::size_t>(10 * outer + inner)]; });
  });
  for (const auto& count : visits) {
    EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, AllocatesNothing) {
  const Threads threads{3};
  std::atomic<Index> sum{0};
  const auto loops = [&] {
    for (int round = 0; round < 200; ++round) {
      parallel_for(threads, 50, [&](Index i, Index) { sum += i; });
    }
  };
  loops();
  EXPECT_EQ(test::allocations_during(loops), 0);
}

TEST(Threads, DefaultToTheCallingThread) {
  EXPECT_EQ(Threads().count(), 1);
  EXPECT_EQ(Threads{1}.count(), 1);
  EXPECT_EQ(test::message_of<ArgumentError>([] { Threads{-2}; }), "Threads: n = -2, expected at least 1.");
}

#if GATED_HAS_THREADS
TEST(Threads, AllTakePartInLongLoops) {
  for (const int count : {2, 4}) {
    EXPECT_TRUE(all_come(Threads{count}, count)) << count;
  }
}

TEST(Threads, WakeUpAfterSleeping) {
  const Threads threads{4};
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_TRUE(all_come(threads, 4)) << round;
    EXPECT_TRUE(all_come(threads, 2)) << round;  // wakes one of three sleeping threads
  }
}

std::atomic<int> begun{0}, ended{0};

/// Increments `begun` on a thread's first call, and `ended` when that thread exits.
void count_this_thread() {
  struct Once {
    Once() { ++begun; }
    ~Once() { ++ended; }
  };
  static thread_local const Once once;
}

TEST(Threads, LiveUntilTheLastCopyIsDestroyed) {
  begun = ended = 0;
  std::thread user([] {
    auto threads = std::make_unique<Threads>(4);
    const auto copy = std::make_unique<Threads>(*threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> arrived{0};
      parallel_for(round % 2 == 0 ? *threads : *copy, 4, [&](Index, Index) {
        count_this_thread();
        ++arrived;
        while (arrived < 4) {
          std::this_thread::yield();
        }
      });
    }
    threads.reset();
    EXPECT_EQ(begun, 4);
    EXPECT_EQ(ended, 0);
  });
  user.join();
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(ended, 4);
}

TEST(Threads, ServeConcurrentLoops) {
  const Threads threads{3};
  std::vector<std::thread> users;
  std::atomic<int> right{0};
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        right += static_cast<bool>(runs_each_task_once(threads, 20));
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
  EXPECT_EQ(right, 4 * 300);
}

TEST(Threads, FinishLoopsOnABusyMachine) {
  std::atomic<bool> over{false};
  std::vector<std::thread> neighbours(2 * std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& neighbour : neighbours) {
    neighbour = std::thread([&] {
      while (!over.load(std::memory_order_relaxed)) {
      }
    });
  }
  const Threads threads{4};
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(runs_each_task_once(threads, 20)) << round;
    ASSERT_TRUE(round % 20 != 0 || all_come(threads, 4)) << round;
  }
  over = true;
  for (std::thread& neighbour : neighbours) {
    neighbour.join();
  }
}

#if defined(__GLIBC__) && UINTPTR_MAX > 0xFFFFFFFF  // needs a stack size that does not fit in 32 bits
TEST(Threads, CountOnlyThreadsThatStarted) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);  // no system allows a stack of 2⁵⁰ bytes
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const Threads threads{4};
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
  EXPECT_EQ(threads.count(), 1);
  EXPECT_TRUE(runs_each_task_once(threads, 10));
}
#endif

#if __has_include(<sys/wait.h>)
TEST(Threads, AreSafeToUseAfterFork) {
  auto threads = std::make_unique<Threads>(3);
  EXPECT_TRUE(all_come(*threads, 3));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    const bool right = runs_each_task_once(*threads, 100);
    threads.reset();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(all_come(*threads, 3)) << "the parent's threads still work";
}
#endif

const Threads kept_until_exit{2};  // the process would hang or abort at exit if these threads did not end

TEST(Threads, WorkInAStaticVariable) { EXPECT_TRUE(all_come(kept_until_exit, 2)); }
#else
TEST(Threads, CountOneWithoutThreadSupport) { EXPECT_EQ(Threads{4}.count(), 1); }
#endif

TEST(Executor, RunsTheWorkOfALoop) {
  std::vector<int> counts;
  const Threads threads(3, [&](int count, const Work& work) {
    counts.push_back(count);
    for (int i = count - 1; i >= 0; --i) {
      work(i);
    }
  });
  EXPECT_EQ(threads.count(), 3);
  for (const Index tasks : {0, 1, 2, 3, 100}) {
    EXPECT_TRUE(runs_each_task_once(threads, tasks)) << tasks;
  }
  EXPECT_EQ(counts, (std::vector<int>{2, 3, 3}));
}

TEST(Executor, MayLeaveWorkToTheCaller) {
  EXPECT_TRUE(runs_each_task_once(Threads(4, [](int, const Work&) {}), 10));
  EXPECT_TRUE(runs_each_task_once(Threads(4, [](int, const Work& work) { work(2); }), 10));
}

#if GATED_HAS_THREADS
TEST(Executor, MayUseItsOwnThreads) {
  const Threads threads(3, [&](int count, const Work& work) {
    std::vector<std::thread> pool;
    for (int i = 0; i < count; ++i) {
      pool.emplace_back([&work, i] { work(i); });
    }
    for (std::thread& thread : pool) {
      thread.join();
    }
  });
  EXPECT_TRUE(all_come(threads, 3));
  EXPECT_TRUE(runs_each_task_once(threads, 1000));
}
#endif

#if defined(_OPENMP)
TEST(Executor, MayBeOpenMP) {
  const Threads threads = openmp_threads(3);
  EXPECT_EQ(threads.count(), 3);
  EXPECT_TRUE(all_come(threads, 3));
  for (const Index tasks : {2, 3, 1000}) {
    EXPECT_TRUE(runs_each_task_once(threads, tasks)) << tasks;
  }
}
#endif

}  // namespace
}  // namespace gated::parallel_test
