#include "common/text_file.hpp"

#include <fstream>
#include <iterator>

#include "gated/core/error.hpp"
#include "gated/io/text_encoding.hpp"

namespace examples {

std::string read_text_file(const std::filesystem::path& path) {
  using gated::FileError, gated::require;
  const std::string name = path.string();
  require<FileError>(std::filesystem::exists(path), name, ": no such file.");
  require<FileError>(!std::filesystem::is_directory(path), name, ": is a directory, expected a file.");
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  require<FileError>(file.good(), name, ": cannot be read.");
  gated::expect_utf8(bytes, name);
  return bytes;
}

std::string read_lines(const std::filesystem::path& path) {
  std::string text;
  char last = 0;
  for (const char c : read_text_file(path)) {
    if (c == '\n' && last == '\r') {
      last = c;
      continue;
    }
    text += c == '\r' ? '\n' : c;
    last = c;
  }
  return text;
}

}  // namespace examples
