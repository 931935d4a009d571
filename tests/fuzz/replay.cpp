#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "gated/io/mapped_file.hpp"
#include "tests/fuzz/fuzz.hpp"

// Runs a fuzz target on the given files without libFuzzer: the corpus becomes a regression test for any compiler. Usage:
//   fuzz_csv <file or folder>...

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) {
    if (fs::is_directory(arguments[i])) {
      for (const auto& entry : fs::recursive_directory_iterator(arguments[i])) {
        if (entry.is_regular_file()) {
          files.push_back(entry.path());
        }
      }
    } else {
      files.emplace_back(arguments[i]);
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    std::printf("%s\n", path.string().c_str());
    std::fflush(stdout);  // the last line names the failing input
    const gated::MappedFile file(path);
    // A copy of exactly the file's size: sanitizers then detect reads past the end.
    const std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
