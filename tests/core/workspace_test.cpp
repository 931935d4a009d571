#include "gated/core/workspace.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

namespace gated::workspace_test {
namespace {

TEST(Workspace, UsesOneThreadByDefault) {
  EXPECT_EQ(Workspace<float>().threads().count(), 1);
  EXPECT_EQ(Workspace<float>(Threads{4}).threads().count(), GATED_HAS_THREADS ? 4 : 1);
}

TEST(Workspace, RefusesFewerThanOneThread) {
  EXPECT_EQ(test::message_of<ArgumentError>([] { Workspace<float>(Threads{0}); }), "Threads: n = 0, expected at least 1.");
  EXPECT_THROW(Workspace<double>(Threads{-2}), ArgumentError);
}

TEST(Workspace, IsEmptyBeforeItsFirstCall) { EXPECT_EQ(Workspace<float>(Threads{2}).bytes(), 0u); }

TEST(Workspace, AllocatesNothingAfterReserve) {
  Workspace<float> workspace;
  {
    const auto frame = workspace.frame();
    workspace.take(100);
    workspace.reserve(5000);
    EXPECT_EQ(test::allocations_during([&] { workspace.take(5000); }), 0);
  }
  const auto frame = workspace.frame();
  EXPECT_EQ(test::allocations_during([&] {
              workspace.take(100);
              workspace.matrix(50, 100);
            }),
            0);
}

TEST(Workspace, ReservesRoomForAlignment) {
  Workspace<float> workspace;
  {
    const auto frame = workspace.frame();
    workspace.reserve(16 * 313);
  }
  const auto frame = workspace.frame();
  EXPECT_EQ(test::allocations_during([&] {
              for (int piece = 0; piece < 16; ++piece) {
                workspace.take(313);
              }
            }),
            0);
}

TEST(Workspace, UsesTheCallersMemory) {
  std::vector<std::byte> memory(5000);
  const auto allocations = test::allocations_during([&] {
    Workspace<float> workspace{std::span<std::byte>(memory)};
    const auto frame = workspace.frame();
    float* const first = workspace.take(100);
    workspace.side_by_side(3, [&](Index, Workspace<float>& scratch) { EXPECT_EQ(scratch.take(500), first + 112); });
    EXPECT_EQ(workspace.peak_bytes(), sizeof(float) * (112 + 512));
    EXPECT_GE(static_cast<void*>(first), memory.data());
    EXPECT_LE(workspace.bytes(), memory.size());
  });
  EXPECT_EQ(allocations, 0);
  Workspace<float> small(std::span<std::byte>(memory).first(10));
  const auto frame = small.frame();
  EXPECT_THROW(small.take(1), MemoryError);
  EXPECT_EQ(small.take(0), small.take(0));
}

TEST(Workspace, ShowsOutputsToItsHook) {
  Workspace<float> workspace;
  std::vector<std::string> paths;
  workspace.set_hook([&](const std::string& path, ConstView<float> output) {
    EXPECT_EQ(output.rows(), 2);
    EXPECT_EQ(output(1, 2), 5);
    paths.push_back(path);
  });
  EXPECT_TRUE(workspace.hooked());
  const Matrix<float> x = Matrix<float>::Constant(2, 3, 5);
  workspace.show("blocks.0", x);
  workspace.show("", x);
  EXPECT_EQ(paths, (std::vector<std::string>{"blocks.0", ""}));
}

TEST(Workspace, ShowsNothingWithoutAHook) {
  Workspace<float> workspace;
  int shown = 0;
  EXPECT_FALSE(workspace.hooked());
  workspace.set_hook([&](const std::string&, ConstView<float>) { ++shown; });
  workspace.set_hook(nullptr);
  EXPECT_FALSE(workspace.hooked());
  const Matrix<float> x(2, 3);
  workspace.show("norm", x);
  EXPECT_EQ(shown, 0);
}

TEST(Workspace, GivesEachTaskItsOwnMemory) {
  Workspace<double> workspace(Threads{3});
  std::vector<double> sums(100);
  const auto run = [&] {
    workspace.side_by_side(100, [&](Index task, Workspace<double>& scratch) {
      const auto frame = scratch.frame();
      MatrixMap<double> x = scratch.matrix(task + 1, 7);
      x.setConstant(static_cast<double>(task));
      sums[static_cast<std::size_t>(task)] = x.sum();
    });
  };
  run();
  for (std::size_t task = 0; task < 100; ++task) {
    EXPECT_EQ(sums[task], static_cast<double>(7 * task * (task + 1)));
  }
  const std::size_t bytes = workspace.bytes();
  for (int i = 0; i < 20; ++i) {
    run();
  }
  EXPECT_EQ(workspace.bytes(), bytes) << "whichever thread runs the largest task";
}

TEST(Workspace, GivesEachTaskOneThreadAndPreparedWeights) {
  Workspace<double> workspace(Threads{2});
  const PreparedWeights<double> prepared;
  workspace.use(prepared);
  workspace.set_hook([](const std::string&, ConstView<double>) {});
  std::atomic<int> right{0};
  workspace.side_by_side(5, [&](Index, Workspace<double>& scratch) {
    right += scratch.threads().count() == 1 && scratch.prepared() == &prepared && !scratch.hooked();
  });
  EXPECT_EQ(right, 5);
}

TEST(Workspace, RethrowsAfterAllTasksHaveEnded) {
  Workspace<float> workspace(Threads{2});
  std::atomic<int> ended{0};
  const auto run = [&](Index bad) {
    workspace.side_by_side(8, [&](Index task, Workspace<float>&) {
      require<ArgumentError>(task != bad, "bad");
      ++ended;
    });
  };
  EXPECT_THROW(run(3), ArgumentError);
  EXPECT_EQ(ended, 7);
  EXPECT_NO_THROW(run(-1)) << "the error must not be thrown twice";
}

TEST(Workspace, RefusesTwoThreadsAtTheSameTime) {
  Workspace<float> workspace;
  const auto refused_elsewhere = [&] {
    std::string message;
    std::thread([&] { message = test::message_of<ArgumentError>([&] { static_cast<void>(workspace.frame()); }); }).join();
    return message;
  };
  {
    const auto frame = workspace.frame();
    { const auto inner = workspace.frame(); }  // on the same thread
    workspace.take(3);
    EXPECT_EQ(
        refused_elsewhere(),
        "Workspace: two threads use it at the same time. Give each thread its own workspace; threads may share the model.");
    workspace.take(3);
  }
  std::thread([&] { const auto frame = workspace.frame(); }).join();  // one after another
  const auto frame = workspace.frame();
  EXPECT_FALSE(refused_elsewhere().empty());
}

}  // namespace
}  // namespace gated::workspace_test
