#include "gated/core/length_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "allocations.hpp"

namespace gated::length_table_test {
namespace {

struct Squares {
  explicit Squares(Index length) {
    for (Index i = 0; i < length; ++i) {
      values.push_back(i * i);
    }
  }
  std::vector<Index> values;
};

TEST(LengthTable, IsBuiltOncePerLength) {
  for (const Index length : {5, 69, 0, 133}) {  // 5, 69 and 133 share a bucket
    const Squares& table = length_table<Squares>(length);
    ASSERT_EQ(static_cast<Index>(table.values.size()), length);
    EXPECT_EQ(&length_table<Squares>(length), &table);
  }
  EXPECT_NE(&length_table<Squares>(5), &length_table<Squares>(69));
  EXPECT_EQ(test::allocations_during([] { length_table<Squares>(133); }), 0);
}

TEST(LengthTable, IsSharedByAllThreads) {
  struct Slow : Squares {  // makes races likely
    explicit Slow(Index length) : Squares(length) { std::this_thread::yield(); }
  };
  constexpr Index lengths = 256;
  constexpr std::size_t threads = 4;
  std::vector<std::vector<const Slow*>> found(threads);
  std::vector<std::thread> running;
  for (auto& mine : found) {
    running.emplace_back([&mine] {
      for (Index length = 0; length < lengths; ++length) {
        mine.push_back(&length_table<Slow>(length));
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  for (const auto& mine : found) {
    EXPECT_EQ(mine, found.front());
  }
  EXPECT_EQ(std::set<const Slow*>(found.front().begin(), found.front().end()).size(), static_cast<std::size_t>(lengths));
}

}  // namespace
}  // namespace gated::length_table_test
