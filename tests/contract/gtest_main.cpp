// main() of all unit tests.
//
//   layers_1_test                                    all tests of the program
//   layers_1_test --file=layers/gmlp_block_test.cpp  the tests of one source file
//
// With --file, a filter from the environment only leaves out: GTEST_FILTER=-*Random* is the file's tests without these.

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <string_view>

namespace {

/// A GoogleTest filter for the tests in source files whose paths end with `file`; empty if there are none.
std::string filter_of(std::string_view file) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (std::string_view(test.file()).ends_with(file)) {
        filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + '.' + test.name();
      }
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view option = "--file=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(option)) {
    const std::string filter = filter_of(std::string_view(argv[1]).substr(option.size()));
    if (filter.empty()) {
      std::cerr << "No tests in " << argv[1] + option.size() << ".\n";
      return 1;
    }
    const std::string given = GTEST_FLAG_GET(filter);
    GTEST_FLAG_SET(filter, given.starts_with('-') ? filter + given : filter);
  }
  return RUN_ALL_TESTS();
}
