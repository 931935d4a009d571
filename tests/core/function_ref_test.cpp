#include "gated/core/function_ref.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>

namespace gated::function_ref_test {
namespace {

int apply(FunctionRef<int(int)> f, int x) { return f(x); }

TEST(FunctionRef, CallsTheReferencedObject) {
  int calls = 0;
  const auto twice = [&calls](int x) {
    ++calls;
    return 2 * x;
  };
  EXPECT_EQ(apply(twice, 3), 6);
  EXPECT_EQ(apply([](int x) { return x + 1; }, 3), 4);
  const FunctionRef<int(int)> first = twice, copy = first;
  EXPECT_EQ(copy(5), 10);
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRef, CopiesNeitherObjectNorArguments) {
  struct Fixed {
    Fixed() = default;
    Fixed(const Fixed&) = delete;
    std::size_t operator()(std::unique_ptr<std::string> text) const { return text->size(); }
  };
  const Fixed fixed;
  const FunctionRef<std::size_t(std::unique_ptr<std::string>)> f = fixed;
  EXPECT_EQ(f(std::make_unique<std::string>("four")), 4U);
  std::string text;
  const auto append = [](std::string& to) { to += "x"; };
  const FunctionRef<void(std::string&)> g = append;
  g(text);
  g(text);
  EXPECT_EQ(text, "xx");
}

TEST(FunctionRef, AcceptsOnlyMatchingCallables) {
  const auto of_text = [](const std::string& text) { return text.size(); };
  EXPECT_TRUE((std::is_convertible_v<decltype(of_text), FunctionRef<std::size_t(const std::string&)>>));
  EXPECT_TRUE((std::is_convertible_v<decltype(of_text), FunctionRef<void(const char*)>>)) << "the result is discarded";
  EXPECT_FALSE((std::is_convertible_v<decltype(of_text), FunctionRef<std::size_t(int)>>));
  EXPECT_FALSE((std::is_convertible_v<decltype(of_text), FunctionRef<std::string(const std::string&)>>));
}

}  // namespace
}  // namespace gated::function_ref_test
