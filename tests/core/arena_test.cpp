#include "gated/core/arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/core/allocations.hpp"

namespace gated::arena_test {
namespace {

template <class T>
class ArenaOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ArenaOf, Scalars, );

template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}

/// Allocates memory as a small model does: in nested frames, and more than the first chunk can hold.
template <class T>
void run_model(Arena<T>& arena, Index rows) {
  const auto frame = arena.frame();
  auto hidden = arena.matrix(rows, 300);
  hidden.setConstant(1);
  for (int block = 0; block < 3; ++block) {
    const auto inner = arena.frame();
    auto scratch = arena.matrix(2 * rows, 500);
    scratch.setConstant(2);
    T* const more = arena.take(7);
    more[6] = 3;
    EXPECT_EQ(scratch(2 * rows - 1, 499), 2);
  }
  EXPECT_EQ(hidden(rows - 1, 299), 1) << "an inner frame overwrote an outer one";
}

TYPED_TEST(ArenaOf, AllocatesNothingAfterTheFirstRun) {
  Arena<TypeParam> arena;
  EXPECT_GT(test::allocations_during([&] { run_model(arena, 20); }), 0);
  EXPECT_EQ(test::allocations_during([&] { run_model(arena, 20); }), 0);
  EXPECT_EQ(test::allocations_during([&] { run_model(arena, 5); }), 0) << "a smaller shape fits";
  run_model(arena, 50);
  EXPECT_EQ(test::allocations_during([&] { run_model(arena, 50); }), 0);
  EXPECT_EQ(test::allocations_during([&] { run_model(arena, 20); }), 0);
}

TYPED_TEST(ArenaOf, DoesNotGrowOverRepeatedRuns) {
  Arena<TypeParam> arena;
  run_model(arena, 20);
  const std::size_t bytes = arena.bytes();
  for (int i = 0; i < 5; ++i) {
    run_model(arena, 20);
  }
  EXPECT_EQ(arena.bytes(), bytes);
}

TYPED_TEST(ArenaOf, IsEmptyBeforeItsFirstFrame) {
  const Arena<TypeParam> arena;
  EXPECT_EQ(arena.bytes(), 0u);
  EXPECT_EQ(arena.capacity(), 0u);
}

TYPED_TEST(ArenaOf, ReleasesMemoryWhenAFrameEnds) {
  Arena<TypeParam> arena;
  const auto outer = arena.frame();
  const TypeParam* first = nullptr;
  for (int i = 0; i < 4; ++i) {
    const auto inner = arena.frame();
    const TypeParam* const p = arena.take(100);
    if (i == 0) {
      first = p;
    }
    EXPECT_EQ(p, first);
    arena.take(50);
  }
  EXPECT_EQ(arena.take(1), first);
}

TYPED_TEST(ArenaOf, ReleasesMemoryWhenAFrameRestarts) {
  Arena<TypeParam> arena;
  auto frame = arena.frame();
  const TypeParam* first = nullptr;
  for (int i = 0; i < 4; ++i) {
    const TypeParam* const p = arena.take(704);
    arena.take(4992);  // in a separate chunk at first
    if (i < 2) {
      first = p;  // changes once, when the chunks are merged
    }
    EXPECT_EQ(p, first);
    frame.restart();
  }
  EXPECT_EQ(arena.take(1), first);
  EXPECT_EQ(arena.capacity(), 704u + 4992u) << "the peak usage";
}

TYPED_TEST(ArenaOf, AlignsEverythingTo64Bytes) {
  Arena<TypeParam> arena;
  const auto frame = arena.frame();
  for (const Index count : {1, 3, 16, 17, 0, 1000, 5000, 1}) {
    EXPECT_TRUE(is_aligned(arena.take(count))) << count;
  }
  EXPECT_TRUE(is_aligned(arena.matrix(3, 5).data()));
}

TYPED_TEST(ArenaOf, NeverReusesMemoryWithinAFrame) {
  Arena<TypeParam> arena;
  for (int run = 0; run < 2; ++run) {  // in several chunks, then in one
    const auto frame = arena.frame();
    std::vector<std::pair<TypeParam*, Index>> taken;
    for (const Index count : {700, 700, 1, 3000, 10, 0, 9000, 700}) {
      TypeParam* const p = arena.take(count);
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

TYPED_TEST(ArenaOf, MergesItsChunksWhenTheOutermostFrameEnds) {
  Arena<TypeParam> arena;
  {
    const auto frame = arena.frame();
    arena.take(1000);
    {
      const auto inner = arena.frame();
      arena.take(5000);
    }
    arena.take(100);
  }
  EXPECT_GE(arena.capacity(), 6000u);
  const std::size_t bytes = arena.bytes();
  EXPECT_EQ(bytes, arena.capacity() * sizeof(TypeParam));
  const auto frame = arena.frame();
  TypeParam* const first = arena.take(992);  // fills whole cache lines
  TypeParam* const second = arena.take(5000);
  EXPECT_EQ(second, first + 992);
  EXPECT_EQ(arena.bytes(), bytes);
}

TYPED_TEST(ArenaOf, ReplacesItsChunksWithOneOfTheRequestedSize) {
  Arena<TypeParam> arena;
  run_model(arena, 5);
  arena.replace_chunks(640);
  EXPECT_EQ(arena.capacity(), 640u);
  const auto frame = arena.frame();
  EXPECT_EQ(test::allocations_during([&] { arena.take(640); }), 0);
}

TYPED_TEST(ArenaOf, MakesMatricesOfTheRequestedSize) {
  Arena<TypeParam> arena;
  const auto frame = arena.frame();
  EXPECT_EQ(arena.matrix(3, 5).rows(), 3);
  EXPECT_EQ(arena.matrix(3, 5).cols(), 5);
  EXPECT_EQ(arena.matrix(0, 5).size(), 0);
}

TYPED_TEST(ArenaOf, PadsRowsAgainstCacheConflicts) {
  Arena<TypeParam> arena;
  const auto frame = arena.frame();
  for (const Index columns : {1, 1000, 1024, 4096}) {
    MatrixMap<TypeParam> x = arena.matrix(3, columns);
    EXPECT_FALSE(crowds<TypeParam>(x.outerStride())) << columns;
    EXPECT_LE(x.outerStride(), columns + 16);
    x.setConstant(1);
    MatrixMap<TypeParam> next = arena.matrix(1, 1);
    next.setConstant(2);  // must not overlap x
    EXPECT_TRUE((x.array() == 1).all()) << columns;
  }
}

}  // namespace
}  // namespace gated::arena_test
