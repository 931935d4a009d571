#include "gated/core/single_thread_use.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/core/numbers.hpp"

namespace gated::single_thread_use_test {
namespace {

using detail::SingleThreadUse;

/// The error message when a second thread calls `f`; empty if there is none.
template <class F>
std::string refused_elsewhere(const F& f) {
  std::string message;
  std::thread([&] {
    try {
      f();
    } catch (const ArgumentError& error) {
      message = error.what();
    }
  }).join();
  return message;
}
std::string refused_elsewhere(SingleThreadUse& use) {
  return refused_elsewhere([&] { const SingleThreadUse::Hold hold(use); });
}

TEST(SingleThreadUse, RefusesASecondThreadUntilTheOutermostHoldEnds) {
  SingleThreadUse use("in use");
  EXPECT_EQ(refused_elsewhere(use), "");
  {
    const SingleThreadUse::Hold outer(use);
    { const SingleThreadUse::Hold inner(use); }
    EXPECT_EQ(refused_elsewhere(use), "in use");
    EXPECT_EQ(refused_elsewhere(use), "in use") << "a refusal changes nothing";
  }
  EXPECT_EQ(refused_elsewhere(use), "");
}

TEST(SingleThreadUse, CopiesStartUnused) {
  SingleThreadUse use("in use"), assigned("in use");
  const SingleThreadUse::Hold hold(use);
  SingleThreadUse copy = use;
  assigned = use;
  EXPECT_EQ(refused_elsewhere(copy), "");
  EXPECT_EQ(refused_elsewhere(assigned), "");
}

TEST(SingleThreadUse, RefusesCopiesByASecondThread) {
  SingleThreadUse use("in use"), other("other in use");
  const auto copy = [&] { static_cast<void>(SingleThreadUse(use)); };
  const auto assign_from = [&] { other = use; };
  const auto assign_to = [&] { use = other; };
  {
    const SingleThreadUse::Hold hold(use);
    EXPECT_EQ(refused_elsewhere(copy), "in use");
    EXPECT_EQ(refused_elsewhere(assign_from), "in use");
    EXPECT_EQ(refused_elsewhere(assign_to), "in use");
  }
  EXPECT_EQ(refused_elsewhere(copy), "");
  EXPECT_EQ(refused_elsewhere(assign_from), "");
  EXPECT_EQ(refused_elsewhere(assign_to), "");
}

}  // namespace
}  // namespace gated::single_thread_use_test
