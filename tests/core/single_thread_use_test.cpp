#include "gated/core/single_thread_use.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/core/numbers.hpp"

namespace gated::single_thread_use_test {
namespace {

using detail::SingleThreadUse;

/// The error message when a second thread uses the object; empty if the use is allowed.
std::string refused_elsewhere(SingleThreadUse& use) {
  std::string message;
  std::thread([&] {
    try {
      const SingleThreadUse::Hold hold(use, "in use");
    } catch (const ArgumentError& error) {
      message = error.what();
    }
  }).join();
  return message;
}

TEST(SingleThreadUse, RefusesASecondThreadUntilTheOutermostHoldEnds) {
  SingleThreadUse use;
  EXPECT_EQ(refused_elsewhere(use), "");
  {
    const SingleThreadUse::Hold outer(use, "");
    { const SingleThreadUse::Hold inner(use, ""); }
    EXPECT_EQ(refused_elsewhere(use), "in use");
    EXPECT_EQ(refused_elsewhere(use), "in use") << "a refusal changes nothing";
  }
  EXPECT_EQ(refused_elsewhere(use), "");
}

TEST(SingleThreadUse, CopiesStartUnused) {
  SingleThreadUse use, assigned;
  const SingleThreadUse::Hold hold(use, "");
  SingleThreadUse copy = use;
  assigned = use;
  EXPECT_EQ(refused_elsewhere(copy), "");
  EXPECT_EQ(refused_elsewhere(assigned), "");
}

}  // namespace
}  // namespace gated::single_thread_use_test
