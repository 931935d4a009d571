#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/function_ref.hpp"
#include "gated/core/matrix.hpp"
#include "gated/io/dtype.hpp"

/// @file
/// What stands in a safetensors file, found by reading its header with suspicion.
///
/// The format: 8 bytes with the header's length N (little-endian), N bytes of JSON, then the data. The JSON maps each tensor's
/// name to `{"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}`, offsets counting from the start of the data, and
/// may map `__metadata__` to texts. The tensors cover the data exactly, without overlap or gap.

namespace gated {

/// One tensor of a file: its type, its sizes, and its bytes in the file, row-major and of any alignment.
struct TensorEntry {
  Dtype dtype = Dtype::F32;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;

  /// The number of elements.
  std::size_t count() const { return bytes.size() / size_of(dtype); }
};

/// The texts and tensors of a file, by name.
struct SafetensorsContents {
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, TensorEntry, std::less<>> tensors;
};

/// A header longer than this is refused, as in the original implementation.
inline constexpr std::size_t max_safetensors_header = 100'000'000;

/// Finds the texts and tensors of a safetensors file that lies in memory; the result refers to `file`.
///
/// Errors: FileError, starting with `name`, for everything that the format does not allow; see the file comment. No input makes
/// it read outside `file`.
/// Cost: proportional to the header; the data is not touched.
SafetensorsContents parse_safetensors(std::span<const std::byte> file, std::string_view name);

/// The text of the metadata that holds the check sum of the others and of the tensors.
inline constexpr const char* checksum_key = "gated.checksum";

/// The check sum of `contents`, 16 hexadecimal digits, whatever its text under checksum_key and however a file lays them out:
/// the XXH64 of the number of texts, of each in the order of their keys, and of each tensor in the order of their names. Before
/// each string and each tensor's bytes stand their length, and before a shape its rank; numbers are 64 bits, little-endian.
///
/// `done(bytes)` is called with each tensor's bytes when they have been read.
/// Cost: one pass over the data.
std::string checksum_of(const SafetensorsContents& contents, FunctionRef<void(std::span<const std::byte>)> done);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/safetensors_header.inl"
#endif
