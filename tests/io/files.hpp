#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Helpers for the tests of io/: temporary files and expected errors.

namespace gated::test {

/// A folder that only this process uses, so tests of several builds can run at once. Removed at exit.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device device;
    path_ =
        std::filesystem::path(::testing::TempDir()) / ("gated_io_test_" + std::to_string(device()) + std::to_string(device()));
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A path for the running test. Nothing exists at that path yet.
inline std::filesystem::path temporary(const std::string& name) {
  static const TemporaryFolder all;
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder = all.path() / (std::string(test->test_suite_name()) + "_" + test->name());
  static std::filesystem::path last;
  if (folder != last) {
    std::filesystem::remove_all(folder);  // left by an earlier repetition of the test
    std::filesystem::create_directories(folder);
    last = folder;
  }
  std::filesystem::remove_all(folder / name);
  return folder / name;
}

inline void write_text(const std::filesystem::path& path, std::string_view content) {
  std::FILE* const file = std::fopen(path.string().c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(content.data(), 1, content.size(), file), content.size());
  ASSERT_EQ(std::fclose(file), 0);
}

inline std::string read_text(const std::filesystem::path& path) {
  std::string content;
  if (std::FILE* const file = std::fopen(path.string().c_str(), "rb"); file != nullptr) {
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
      content += static_cast<char>(c);
    }
    std::fclose(file);
  }
  return content;
}

/// Number of entries in the folder that contains `path`.
inline std::size_t files_beside(const std::filesystem::path& path) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    ++count;
  }
  return count;
}

/// The message of the exception of type `E` that `f` throws. If `f` throws nothing, fails and returns an empty string.
template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// Expects that `f` throws an `E` whose message contains all of `parts`.
template <class E, class F>
void expect_error(F&& f, std::initializer_list<std::string_view> parts) {
  const std::string what = error_of<E>(std::forward<F>(f));
  for (const std::string_view part : parts) {
    EXPECT_NE(what.find(part), std::string::npos) << "missing: " << part << "\nin: " << what;
  }
}

}  // namespace gated::test
