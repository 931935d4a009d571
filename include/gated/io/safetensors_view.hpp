#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "gated/core/count.hpp"
#include "gated/core/error.hpp"
#include "gated/io/dtype.hpp"
#include "gated/io/little_endian.hpp"

/// @file
/// Finds the tensors of a safetensors file in memory or flash, without a heap.

namespace gated {

/// A tensor in a safetensors file, seen as a matrix: `rows` is the first dimension, `columns` the product of the others.
struct TensorView {
  Dtype dtype = Dtype::F32;
  Index rows = 0, columns = 0;
  std::span<const std::byte> bytes = {};  ///< empty if there is no such tensor

  explicit operator bool() const { return !bytes.empty(); }
};

namespace detail {

/// A position in the JSON header of an untrusted safetensors file.
class HeaderCursor {
 public:
  explicit HeaderCursor(std::string_view text) : text_(text) {}

  /// Skips white space, and then `c` if it comes next.
  bool skip(char c) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? std::size_t{1} : std::size_t{0};
    return found;
  }
  void expect(char c) {
    require<FileError>(skip(c), "SafetensorsView: byte ", at_ + 8, " of the file is not the ", std::string_view(&c, 1),
                       " expected in a safetensors header. Write the file again.");
  }

  /// Reads a string without decoding its escapes.
  std::string_view string() {
    expect('"');
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      at_ += text_[at_] == '\\' ? std::size_t{2} : std::size_t{1};
    }
    require<FileError>(at_ < text_.size(), "SafetensorsView: the header ends within a string. Write the file again.");
    return text_.substr(first, at_++ - first);
  }
  /// Reads a whole number of at most 9 digits.
  Index number() {
    static_cast<void>(skip('\0'));  // white space
    Index value = 0;
    std::size_t digits = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && digits < 9; ++at_, ++digits) {
      value = 10 * value + (text_[at_] - '0');
    }
    require<FileError>(digits > 0 && (at_ == text_.size() || text_[at_] < '0' || text_[at_] > '9'), "SafetensorsView: byte ",
                       at_ + 8, " of the file is not a number below 10⁹. Write the file again.");
    return value;
  }
  /// Skips an object, including nested objects.
  void skip_object() {
    Index depth = 0;
    do {
      if (skip('{')) {
        ++depth;
      } else if (skip('}')) {
        --depth;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        static_cast<void>(string());
      } else {
        require<FileError>(at_ < text_.size(), "SafetensorsView: the header ends within an object. Write the file again.");
        ++at_;
      }
    } while (depth > 0);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Finds tensors in the bytes of a safetensors file. It copies and allocates nothing, so the file can stay in flash.
///
/// SafetensorsFile (io/safetensors.hpp) does more: it accepts escaped names and offsets of 10⁹ and above, indexes the tensors
/// and verifies checksums.
/// Errors: FileError for a file that is too short, and in find() for a broken header or a tensor outside the file.
/// Cost: find() reads the header up to the tensor.
class SafetensorsView {
 public:
  explicit SafetensorsView(std::span<const std::byte> file) {
    require<FileError>(file.size() >= 8, "SafetensorsView: the file has ", file.size(), " bytes, expected at least 8.");
    const std::size_t length = detail::little_endian(file, 0, 4), above = detail::little_endian(file, 4, 4);
    require<FileError>(above == 0 && length <= file.size() - 8, "SafetensorsView: the header claims ", length,
                       " bytes or more, but ", file.size() - 8, " follow. The file is truncated, or not a safetensors file.");
    header_ = {reinterpret_cast<const char*>(file.data()) + 8, length};
    data_ = file.subspan(8 + length);
  }

  /// The tensor called `name`; a TensorView without bytes if there is none.
  TensorView find(std::string_view name) const {
    detail::HeaderCursor at(header_);
    at.expect('{');
    while (!at.skip('}')) {
      const bool found = at.string() == name;
      at.expect(':');
      if (found) {
        return tensor(at);
      }
      at.skip_object();
      static_cast<void>(at.skip(','));
    }
    return {};
  }

 private:
  TensorView tensor(detail::HeaderCursor& at) const {
    TensorView found;
    std::size_t begin = 0, end = 0;
    at.expect('{');
    while (!at.skip('}')) {
      const std::string_view key = at.string();
      at.expect(':');
      if (key == "dtype") {
        found.dtype = dtype_named(at.string());
      } else {
        at.expect('[');
        if (key == "shape") {
          read_shape(at, found);
        } else {
          begin = static_cast<std::size_t>(at.number());
          at.expect(',');
          end = static_cast<std::size_t>(at.number());
          at.expect(']');
        }
      }
      static_cast<void>(at.skip(','));
    }
    const auto bytes = Count(found.rows) * found.columns * static_cast<Index>(size_of(found.dtype));
    require<FileError>(
        begin <= end && end <= data_.size() && bytes != Count::most && end - begin == static_cast<std::size_t>(bytes.value()),
        "SafetensorsView: a tensor of ", found.rows, " × ", found.columns, " has data_offsets [", begin, ", ", end,
        "], expected a range of its size within ", data_.size(), " bytes. The file is truncated or malformed.");
    found.bytes = data_.subspan(begin, end - begin);
    return found;
  }

  static void read_shape(detail::HeaderCursor& at, TensorView& found) {
    found.rows = found.columns = 1;
    Count columns = 1;
    for (Index i = 0; !at.skip(']'); ++i) {
      const Index size = at.number();
      if (i == 0) {
        found.rows = size;
      } else {
        columns = columns * size;
      }
      static_cast<void>(at.skip(','));
    }
    found.columns = columns.value();
  }

  static Dtype dtype_named(std::string_view word) {
    for (const auto& [dtype, name] : names_of(Dtype())) {
      if (name == word) {
        return dtype;
      }
    }
    raise<FileError>("SafetensorsView: the dtype ", word, " is unknown. Write the tensor as F32, BF16 or I8.");
  }

  std::string_view header_;
  std::span<const std::byte> data_;
};

}  // namespace gated
