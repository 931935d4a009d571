#include "gated/core/summary.hpp"

#include <gtest/gtest.h>

#include "tests/core/toy.hpp"

namespace gated::summary_test {
namespace {

TEST(Summary, ListsNamesShapesAndCounts) {
  EXPECT_EQ(summary(test::toy_model()),
            "patches.weight             [2, 3, 2, 2]  24\n"
            "blocks.0.proj.weight       [3, 2]         6\n"
            "blocks.0.proj.bias         [3]            3\n"
            "blocks.1.proj.weight       [3, 2]         6\n"
            "blocks.1.proj.bias         [3]            3\n"
            "blocks.1.attention.weight  [1, 4]         4\n"
            "blocks.1.attention.bias    [1]            1\n"
            "head.weight                [5, 2]        10\n"
            "8 tensors                                57\n");
}

TEST(Summary, SeparatesThousandsByCommas) {
  EXPECT_EQ(summary(test::ToyLinear(100, 10, false)),
            "weight    [10, 100]  1,000\n"
            "1 tensor             1,000\n");
  EXPECT_EQ(summary(test::ToyLinear(999, 1, false)),
            "weight    [1, 999]  999\n"
            "1 tensor            999\n");
  EXPECT_EQ(summary(test::ToyLinear(1234, 1000, true)),
            "weight     [1000, 1234]  1,234,000\n"
            "bias       [1000]            1,000\n"
            "2 tensors                1,235,000\n");
}

TEST(Summary, MarksZeroAndUninitializedWeights) {
  auto model = test::toy_model();
  model.head->weight.setZero();
  model.blocks[0].proj.bias.setZero();
  model.patches = unset_weight<float>(2, 12);
  const std::string table = summary(model);
  EXPECT_NE(table.find("10  all zero: outputs only its bias until trained\n"), table.npos) << table;
  EXPECT_NE(table.find("24  never set\n"), table.npos) << table;
  EXPECT_NE(table.find("3\nblocks.1"), table.npos) << "a zero bias must not be marked: " << table;
}

TEST(Summary, ShowsOnlyTheTotalOfAnEmptyModel) { EXPECT_EQ(summary(test::ToyLinear(0, 0)), "0 tensors    0\n"); }

}  // namespace
}  // namespace gated::summary_test
