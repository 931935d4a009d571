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
/// Parses the header of an untrusted safetensors file.
///
/// The format: 8 bytes with the header's length N (little-endian), N bytes of JSON, then the data. The JSON maps each tensor's
/// name to `{"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}`, where offsets count from the start of the data.
/// It may also map `__metadata__` to an object of strings. The tensors cover the data without overlap or gap.

namespace gated {

/// One tensor of a file: type, shape and bytes, which are row-major and may be unaligned.
struct TensorEntry {
  Dtype dtype = Dtype::F32;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;

  /// The number of elements.
  std::size_t count() const { return bytes.size() / size_of(dtype); }
};

/// The metadata and tensors of a file, by name.
struct SafetensorsContents {
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, TensorEntry, std::less<>> tensors;
};

/// A header longer than this is refused, as in Hugging Face's implementation.
inline constexpr std::size_t max_safetensors_header = 100'000'000;

/// Parses a safetensors file in memory; the result refers to `file`.
///
/// Errors: FileError, with a message that starts with `name`, for any violation of the format. Never reads outside `file`.
/// Cost: proportional to the header; the data is not touched.
SafetensorsContents parse_safetensors(std::span<const std::byte> file, std::string_view name);

/// The metadata key under which the checksum of the tensors and the other metadata is stored.
inline constexpr const char* checksum_key = "gated.checksum";

/// The checksum of `contents` in 16 hexadecimal digits. It does not depend on the metadata entry `checksum_key` or the layout
/// of the file.
///
/// It is the XXH64 of the number of metadata entries, the entries in order of key, and the tensors in order of name. Each
/// string and each tensor's bytes are preceded by their length, and each shape by its rank; numbers are 64-bit little-endian.
///
/// Calls `done(bytes)` for each tensor after reading its bytes.
/// Cost: one pass over the data.
std::string checksum_of(const SafetensorsContents& contents, FunctionRef<void(std::span<const std::byte>)> done);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/safetensors_header.inl"
#endif
