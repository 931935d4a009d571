#include "common/text_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>

#include "gated/core/error.hpp"

namespace examples {

namespace {

/// Whether `bytes` begin with the byte order mark of UTF-16, or more than half of their pairs hold a 0, all on the same side.
bool is_utf16(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    return true;
  }
  const std::string_view beginning = bytes.substr(0, 1024);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < beginning.size(); ++i) {
    zeros[i % 2] += beginning[i] == '\0' ? 1U : 0U;
  }
  return beginning.size() >= 4 && std::min(zeros[0], zeros[1]) == 0 && std::max(zeros[0], zeros[1]) > beginning.size() / 4;
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  using gated::FileError, gated::require;
  const std::string name = path.string();
  require<FileError>(std::filesystem::exists(path), name, ": there is no such file.");
  require<FileError>(!std::filesystem::is_directory(path), name, ": is a directory, expected a file.");
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  require<FileError>(file.good(), name, ": cannot be read.");
  require<FileError>(!is_utf16(bytes), name, ": is in UTF-16. Convert it to UTF-8, as iconv -f UTF-16 -t UTF-8 does.");
  return bytes;
}

}  // namespace examples
