#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/random.hpp"

namespace text {

/// A text file. Its last tenth is held out from training.
struct Document {
  std::string name;
  std::string bytes;
  std::size_t held_out;  ///< the index of the first held-out byte
};

/// The texts for training and evaluation.
class Corpus {
 public:
  /// Reads `files`.
  /// Errors: those of examples::read_text_file(); FileError if there is nothing to learn from.
  explicit Corpus(const std::vector<std::filesystem::path>& files);

  const std::vector<Document>& documents() const { return documents_; }
  std::size_t training_bytes() const { return training_bytes_; }
  std::size_t held_out_bytes() const { return held_out_bytes_; }
  /// A hash of the texts; different texts collide with probability 2⁻⁶⁴.
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// Draws `length` + 1 consecutive training bytes of one file from a uniformly random position, moved back if too near the
  /// end. If the file has fewer, returns all its training bytes.
  std::string_view draw(gated::Index length, gated::Random& random) const;

 private:
  std::vector<Document> documents_;
  std::size_t training_bytes_ = 0, held_out_bytes_ = 0;
  std::uint64_t fingerprint_ = 0;
};

/// The files of `texts` in a fixed order. Replaces each folder by the text files (those without a zero byte) in and below it,
/// except hidden files and links.
/// Errors: FileError for a missing path, a folder without text, and a file in UTF-16 or UTF-32.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& texts);

/// The sources and documents of the project, and the licences in /usr/share/common-licenses if that exists.
std::vector<std::filesystem::path> default_texts();

}  // namespace text
