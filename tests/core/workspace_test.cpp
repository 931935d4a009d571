#include "gated/core/workspace.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include <cstdint>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

namespace gated {
namespace {

template <class T>
class WorkspaceOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(WorkspaceOf, Scalars, );

template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}

/// Takes memory as a small model does: nested frames, sizes that do not fit into the first chunk.
template <class T>
void run_model(Workspace<T>& workspace, Index rows) {
  const auto frame = workspace.frame();
  auto hidden = workspace.matrix(rows, 300);
  hidden.setConstant(1);
  for (Index block = 0; block < 3; ++block) {
    const auto scope = workspace.at("blocks", block);
    const auto inner = workspace.frame();
    auto scratch = workspace.matrix(2 * rows, 500);
    scratch.setConstant(2);
    T* const more = workspace.take(7);
    more[6] = 3;
    workspace.show(hidden);
    EXPECT_EQ(scratch(2 * rows - 1, 499), 2);
  }
  EXPECT_EQ(hidden(rows - 1, 299), 1) << "an inner frame wrote over an outer one";
}

TYPED_TEST(WorkspaceOf, AllocatesNothingAfterTheFirstCallOfAShape) {
  Workspace<TypeParam> workspace;
  EXPECT_GT(test::allocations_during([&] { run_model(workspace, 20); }), 0);
  EXPECT_EQ(test::allocations_during([&] { run_model(workspace, 20); }), 0);
  EXPECT_EQ(test::allocations_during([&] { run_model(workspace, 5); }), 0) << "a smaller shape fits";
  run_model(workspace, 50);
  EXPECT_EQ(test::allocations_during([&] { run_model(workspace, 50); }), 0);
  EXPECT_EQ(test::allocations_during([&] { run_model(workspace, 20); }), 0);
}

TYPED_TEST(WorkspaceOf, HoldsNoMoreThanOneCallNeedsHoweverOftenItRuns) {
  Workspace<TypeParam> workspace;
  run_model(workspace, 20);
  const std::size_t bytes = workspace.bytes();
  for (int i = 0; i < 5; ++i) {
    run_model(workspace, 20);
  }
  EXPECT_EQ(workspace.bytes(), bytes);
}

TYPED_TEST(WorkspaceOf, HoldsNothingBeforeItsFirstCall) {
  const Workspace<TypeParam> workspace;
  EXPECT_EQ(workspace.bytes(), 0u);
}

TYPED_TEST(WorkspaceOf, GivesBackWhatAFrameTook) {
  Workspace<TypeParam> workspace;
  const auto outer = workspace.frame();
  const TypeParam* first = nullptr;
  for (int i = 0; i < 4; ++i) {
    const auto inner = workspace.frame();
    const TypeParam* const p = workspace.take(100);
    if (i == 0) {
      first = p;
    }
    EXPECT_EQ(p, first);
    workspace.take(50);
  }
  EXPECT_EQ(workspace.take(1), first);
}

TYPED_TEST(WorkspaceOf, AlignsEverythingTo64Bytes) {
  Workspace<TypeParam> workspace;
  const auto frame = workspace.frame();
  for (const Index count : {1, 3, 16, 17, 0, 1000, 5000, 1}) {
    EXPECT_TRUE(is_aligned(workspace.take(count))) << count;
  }
  EXPECT_TRUE(is_aligned(workspace.matrix(3, 5).data()));
}

TYPED_TEST(WorkspaceOf, NeverHandsOutTheSameMemoryTwiceWithinAFrame) {
  Workspace<TypeParam> workspace;
  for (int call = 0; call < 2; ++call) {  // in several chunks, then in one
    const auto frame = workspace.frame();
    std::vector<std::pair<TypeParam*, Index>> taken;
    for (const Index count : {700, 700, 1, 3000, 10, 0, 9000, 700}) {
      TypeParam* const p = workspace.take(count);
      std::fill_n(p, count, static_cast<TypeParam>(taken.size()));
      taken.emplace_back(p, count);
    }
    for (std::size_t k = 0; k < taken.size(); ++k) {
      for (Index i = 0; i < taken[k].second; ++i) {
        ASSERT_EQ(taken[k].first[i], static_cast<TypeParam>(k));
      }
    }
  }
}

TYPED_TEST(WorkspaceOf, JoinsItsChunksWhenTheOutermostFrameEnds) {
  Workspace<TypeParam> workspace;
  {
    const auto frame = workspace.frame();
    workspace.take(1000);
    {
      const auto inner = workspace.frame();
      workspace.take(5000);
    }
    workspace.take(5000);
  }
  const std::size_t bytes = workspace.bytes();
  EXPECT_GE(bytes, 6000 * sizeof(TypeParam));
  const auto frame = workspace.frame();
  TypeParam* const first = workspace.take(992);  // a multiple of the alignment
  TypeParam* const second = workspace.take(5000);
  EXPECT_EQ(second, first + 992);
  EXPECT_EQ(workspace.bytes(), bytes);
}

TYPED_TEST(WorkspaceOf, GivesMatricesOfTheSizeAskedFor) {
  Workspace<TypeParam> workspace;
  const auto frame = workspace.frame();
  EXPECT_EQ(workspace.matrix(3, 5).rows(), 3);
  EXPECT_EQ(workspace.matrix(3, 5).cols(), 5);
  EXPECT_EQ(workspace.matrix(0, 5).size(), 0);
}

TEST(Workspace, UsesOneThreadUnlessAsked) {
  EXPECT_EQ(Workspace<float>().threads().count, 1);
  EXPECT_EQ(Workspace<float>(Threads{4}).threads().count, 4);
}

TEST(Workspace, RefusesFewerThanOneThread) {
  EXPECT_EQ(test::message_of<ArgumentError>([] { Workspace<float>(Threads{0}); }),
            "Workspace: threads = 0, expected at least 1.");
  EXPECT_THROW(Workspace<double>(Threads{-2}), ArgumentError);
}

/// A layer with sub-layers, each of which shows one output.
void run_block(Workspace<float>& workspace) {
  const Matrix<float> x = Matrix<float>::Constant(2, 3, 5);
  const auto show = [&](Workspace<float>& inside) { inside.show(x); };
  show(workspace.at("norm"));
  {
    const auto gate = workspace.at("gate");
    show(workspace.at("proj"));
    workspace.show(x);
  }
  workspace.show(x);
}

TEST(Workspace, ShowsOutputsUnderTheirParameterPaths) {
  Workspace<float> workspace;
  std::vector<std::string> paths;
  workspace.observe([&](const std::string& path, ConstView<float> output) {
    EXPECT_EQ(output.rows(), 2);
    EXPECT_EQ(output(1, 2), 5);
    paths.push_back(path);
  });
  EXPECT_TRUE(workspace.observed());
  for (Index i = 0; i < 2; ++i) {
    run_block(workspace.at("blocks", i));
  }
  run_block(workspace);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"blocks.0.norm", "blocks.0.gate.proj", "blocks.0.gate", "blocks.0", "blocks.1.norm",
                                      "blocks.1.gate.proj", "blocks.1.gate", "blocks.1", "norm", "gate.proj", "gate", ""}));
}

TEST(Workspace, ShowsNothingWithoutAnObserver) {
  Workspace<float> workspace;
  int shown = 0;
  EXPECT_FALSE(workspace.observed());
  workspace.observe([&](const std::string&, ConstView<float>) { ++shown; });
  workspace.observe(nullptr);
  EXPECT_FALSE(workspace.observed());
  run_block(workspace);
  EXPECT_EQ(shown, 0);
}

TEST(Workspace, KeepsTheRowsOfAMatrixFromCrowding) {
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  for (const Index columns : {1, 1000, 1024, 4096}) {
    MatrixMap<float> x = workspace.matrix(3, columns);
    EXPECT_FALSE(crowds<float>(x.outerStride())) << columns;
    EXPECT_LE(x.outerStride(), columns + 16);
    x.setConstant(1);
    MatrixMap<float> behind = workspace.matrix(1, 1);
    behind.setConstant(2);  // which lies before or after, where the workspace had room
    EXPECT_TRUE((x.array() == 1).all()) << columns;
  }
}

TEST(Workspace, GivesEachTaskMemoryOfItsOwn) {
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
  EXPECT_EQ(workspace.bytes(), bytes) << "whichever thread gets the largest task";
}

TEST(Workspace, RaisesTheErrorOfATaskWhenAllHaveEnded) {
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
  EXPECT_NO_THROW(run(-1)) << "the error is not raised twice";
}

TEST(Workspace, ForgetsThePathOfALayerThatThrew) {
  Workspace<float> workspace;
  EXPECT_THROW(
      {
        const auto scope = workspace.at("broken");
        const auto frame = workspace.frame();
        raise<ArgumentError>("broken");
      },
      ArgumentError);
  std::vector<std::string> paths;
  workspace.observe([&](const std::string& path, ConstView<float>) { paths.push_back(path); });
  const Matrix<float> x = Matrix<float>::Zero(1, 1);
  workspace.show(x);
  EXPECT_EQ(paths, std::vector<std::string>{""});
}

}  // namespace
}  // namespace gated
