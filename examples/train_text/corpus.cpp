#include "corpus.hpp"

#include <algorithm>
#include <array>

#include "common/text_file.hpp"
#include "gated/core/error.hpp"

namespace text {

namespace {

namespace fs = std::filesystem;
using gated::FileError, gated::require;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

/// The files in and below `folder` that `wanted` accepts, except hidden ones and links.
template <class Wanted>
std::vector<fs::path> files_below(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && !entry->is_symlink() && !is_hidden(entry->path()) && wanted(entry->path())) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_text(const fs::path& path) {
  const std::string bytes = examples::read_text_file(path);
  return bytes.find('\0') == std::string::npos;
}

bool is_source_or_document(const fs::path& path) {
  constexpr std::array<std::string_view, 6> endings{".hpp", ".cpp", ".md", ".cmake", ".sh", ".py"};
  return std::find(endings.begin(), endings.end(), path.extension()) != endings.end();
}

}  // namespace

Corpus::Corpus(const std::vector<fs::path>& files) {
  for (const fs::path& path : files) {
    Document document{path.string(), examples::read_text_file(path), 0};
    for (const char c : document.bytes) {
      fingerprint_ = gated::random_bits_at(fingerprint_, static_cast<unsigned char>(c));
    }
    fingerprint_ = gated::random_bits_at(fingerprint_, 256);  // 256 marks the end of a file
    document.held_out = document.bytes.size() - document.bytes.size() / 10;
    if (document.held_out >= 2) {
      training_bytes_ += document.held_out;
      held_out_bytes_ += document.bytes.size() - document.held_out;
      documents_.push_back(std::move(document));
    }
  }
  require<FileError>(held_out_bytes_ > 0, "there is no text to learn from in ", files.empty() ? "no file" : files[0].string(),
                     files.size() > 1 ? gated::text(" and ", files.size() - 1, " others") : "",
                     ", expected a file of at least 10 bytes.");
}

std::string_view Corpus::draw(gated::Index length, gated::Random& random) const {
  auto place = static_cast<std::size_t>(random.uniform() * static_cast<double>(training_bytes_));
  auto document = documents_.begin();
  for (; place >= document->held_out; ++document) {
    place -= document->held_out;
  }
  const std::size_t count = std::min(static_cast<std::size_t>(length) + 1, document->held_out);
  return std::string_view(document->bytes).substr(std::min(place, document->held_out - count), count);
}

std::vector<fs::path> text_files(const std::vector<fs::path>& texts) {
  std::vector<fs::path> files;
  for (const fs::path& path : texts) {
    require<FileError>(fs::exists(path), path.string(), ": no such file or folder.");
    if (fs::is_directory(path)) {
      const auto below = files_below(path, is_text);
      require<FileError>(!below.empty(), path.string(), ": there is no text in this folder.");
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back(path);
    }
  }
  return files;
}

std::vector<fs::path> default_texts() {
  const fs::path project = GATED_PROJECT_FOLDER, licences = "/usr/share/common-licenses";
  std::vector<fs::path> files{project / "README.md"};
  for (const char* const folder : {"include", "tests", "bench", "examples", "cmake"}) {
    const auto below = files_below(project / folder, is_source_or_document);
    files.insert(files.end(), below.begin(), below.end());
  }
  if (fs::is_directory(licences)) {
    const auto below = text_files({licences});
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

}  // namespace text
