#include "gated/core/sequence_groups.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace gated::sequence_groups_test {
namespace {

/// The number of visits per row, and the number of groups.
struct Visits {
  std::vector<int> rows;
  std::atomic<int> groups{0};
};

void visit(const Sequences& sequences, Workspace<float>& workspace, Visits& visits) {
  visits.rows.assign(static_cast<std::size_t>(sequences.total()), 0);
  visits.groups = 0;
  for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<float>&) {
    for (Index i = 0; i < group.total(); ++i) {
      ++visits.rows[static_cast<std::size_t>(first + i)];
    }
    ++visits.groups;
  });
}

TEST(SequenceGroups, CoverEachRowOnceForAnyLengthsAndThreads) {
  for (const int threads : {1, 2, 3}) {
    Workspace<float> workspace(Threads{threads});
    for (const auto& lengths : std::vector<std::vector<Index>>{{},
                                                               {0},
                                                               {7},
                                                               {300},
                                                               {0, 5, 0},
                                                               {196, 196, 196},
                                                               {1000, 1, 1, 1, 600, 0, 2},
                                                               std::vector<Index>(500, 3),
                                                               {0, 0, 256, 0}}) {
      Visits visits;
      visit(Sequences::of_lengths(lengths), workspace, visits);
      EXPECT_EQ(visits.rows, std::vector<int>(visits.rows.size(), 1)) << threads << " threads, " << lengths.size();
    }
  }
}

TEST(SequenceGroups, ContainOneLongOrManyShortSequences) {
  for (const int threads : {1, 2}) {
    Workspace<float> workspace(Threads{threads});
    Visits visits;
    visit(Sequences::uniform(8, 196), workspace, visits);
    EXPECT_EQ(visits.groups, 8);
    visit(Sequences::uniform(8, 1000), workspace, visits);
    EXPECT_EQ(visits.groups, 8);
    visit(Sequences::uniform(100, 10), workspace, visits);
    EXPECT_EQ(visits.groups, 4);
  }
}

TEST(SequenceGroups, FormOneGroupIfAHookIsSet) {
  Workspace<float> workspace(Threads{2});
  workspace.set_hook([](const std::string&, ConstView<float>) {});
  Visits visits;
  visit(Sequences::uniform(8, 196), workspace, visits);
  EXPECT_EQ(visits.groups, 1);
}

}  // namespace
}  // namespace gated::sequence_groups_test
