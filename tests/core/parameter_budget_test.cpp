#include "gated/core/parameter_budget.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/core/numbers.hpp"

namespace gated::parameter_budget_test {
namespace {

using test::message_of;

constexpr Index most = Count::most;

TEST(ExpectMemory, RefusesSizesThatCannotBeAllocated) {
  EXPECT_NO_THROW(expect_memory<float>("x", 1000, 1000));
  EXPECT_NO_THROW(expect_memory<double>("x", 0, most));
  EXPECT_NO_THROW(expect_memory<double>("x", -5));
  if (sizeof(void*) < 8) {
    GTEST_SKIP() << "a 32-bit system may have enough memory for these sizes";
  }
  const Index large = most / 64;  // elements: more than fit in any memory
  EXPECT_EQ(test::message_of<MemoryError>([&] {
              expect_memory<float>({"Layer", "call"}, large);
            }),
            text("Layer::call: ", large, " × 1 elements take ", 4 * large,
                 " bytes, which cannot be allocated. Choose smaller sizes."));
  EXPECT_EQ(test::message_of<MemoryError>([&] { expect_memory<double>("Layer", large, most); }),
            text("Layer: ", large, " × ", most, " elements take more than ", most,
                 " bytes, which cannot be allocated. Choose smaller sizes."));
}

/// The error message of ParameterBudget::spend(values).
std::string refusal(Count values) {
  return message_of<FileError>([&] { ParameterBudget::spend(values); });
}

TEST(ParameterBudget, IsSpentByConstruction) {
  const ParameterBudget budget(10, "The model is too large.");
  EXPECT_NO_THROW(ParameterBudget::spend(4));
  EXPECT_NO_THROW(expect_memory<float>("x", 1, 5));
  EXPECT_EQ(refusal(2), "The model is too large.");
  EXPECT_NO_THROW(ParameterBudget::spend(1)) << "a refusal spends nothing";
  EXPECT_NO_THROW(ParameterBudget::spend(0));
  EXPECT_EQ(refusal(1), "The model is too large.");
}

TEST(ParameterBudget, RefusesBeforeAllocating) {
  const ParameterBudget budget(10, "The model is too large.");
  EXPECT_EQ(message_of<FileError>([&] { expect_memory<double>("x", most, most); }), "The model is too large.")
      << "more than fits in any memory";
  EXPECT_NO_THROW(expect_memory<double>("x", 10)) << "a refusal spends nothing";
}

TEST(ParameterBudget, CountsBeyondTheRangeOfIndex) {
  const ParameterBudget budget(most, "The model is too large.");
  EXPECT_NO_THROW(ParameterBudget::spend(Count(most) * most));
  EXPECT_EQ(refusal(1), "The model is too large.");
}

TEST(ParameterBudget, NestsWithoutSpendingTheOuterBudget) {
  const ParameterBudget outer(10, "the outer");
  {
    const ParameterBudget inner(20, "the inner");
    EXPECT_NO_THROW(ParameterBudget::spend(15));
    EXPECT_EQ(refusal(6), "the inner");
  }
  EXPECT_EQ(refusal(11), "the outer");
  EXPECT_NO_THROW(ParameterBudget::spend(10)) << "not yet spent";
}

TEST(ParameterBudget, EndsWithItsScope) {
  std::optional<ParameterBudget> budget(std::in_place, 10, "The model is too large.");
  EXPECT_EQ(refusal(11), "The model is too large.");
  budget.reset();
  EXPECT_NO_THROW(ParameterBudget::spend(most));
  EXPECT_NO_THROW(expect_memory<float>("x", 1000));
}

TEST(ParameterBudget, IsPerThread) {
  const ParameterBudget budget(10, "The model is too large.");
  std::thread([] { EXPECT_NO_THROW(ParameterBudget::spend(1000)); }).join();
  EXPECT_NO_THROW(ParameterBudget::spend(10));
}

}  // namespace
}  // namespace gated::parameter_budget_test
