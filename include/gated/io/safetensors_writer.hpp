#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gated/io/atomic_file.hpp"
#include "gated/io/safetensors_header.hpp"

/// @file
/// Writing safetensors files.

namespace gated {

/// A tensor for write_safetensors(). The bytes are little-endian, row-major, and belong to the caller.
struct TensorToWrite {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<Index> shape = {};
  std::span<const std::byte> bytes = {};
};

namespace detail {

/// The first bytes of a file: the header's length, the header, and spaces so that the data begins at a multiple of 8.
inline std::string safetensors_header(const std::string& file, const std::vector<TensorToWrite>& tensors,
                                      const std::map<std::string, std::string>& metadata) {
  const auto quoted = [&](const std::string& name) { return dump_json<ArgumentError>(Json(name), file) + ":"; };
  std::string json = "{";
  if (!metadata.empty()) {
    json += quoted("__metadata__") + dump_json<ArgumentError>(Json(metadata), file);
  }
  std::size_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    const Json entry = {{"dtype", std::string(name_of(tensor.dtype))},
                        {"shape", tensor.shape},
                        {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    json += json.size() > 1 ? "," : "";
    json += quoted(tensor.name) + entry.dump();
    offset += tensor.bytes.size();
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  require<ArgumentError>(json.size() <= max_safetensors_header, file, ": the header would be ", json.size(),
                         " bytes long, at most ", max_safetensors_header, " are allowed.");
  const std::uint64_t length = json.size();
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  return start + json;
}

}  // namespace detail

/// Writes `tensors` and `metadata` as a safetensors file, completely or not at all (see AtomicFile).
///
/// The data begins at a multiple of 8 bytes. Tensors with larger elements come first and equal ones in the order of their
/// names, so that each is aligned and equal contents give equal files.
/// Errors: ArgumentError if a name stands twice or is `__metadata__`, a text is not UTF-8, or the bytes do not fit the shape;
/// FileError if the file cannot be written.
/// Cost: the header in memory; the data is written from where it lies.
inline void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  const std::string file = path.string();
  std::sort(tensors.begin(), tensors.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
    const std::size_t size_a = size_of(a.dtype), size_b = size_of(b.dtype);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  std::map<std::string_view, int> seen;
  for (const TensorToWrite& tensor : tensors) {
    require<ArgumentError>(tensor.name != "__metadata__", file, ": a tensor cannot be called __metadata__.");
    if (!seen.emplace(tensor.name, 0).second) {
      raise<ArgumentError>(file, ": two tensors are called \"", printable(tensor.name), "\".");
    }
    const auto needed = byte_count(tensor.dtype, tensor.shape);
    if (needed != tensor.bytes.size()) {
      raise<ArgumentError>(file, ": tensor \"", printable(tensor.name), "\" has ", tensor.bytes.size(),
                           " bytes, which do not fit ", name_of(tensor.dtype), " ", describe_shape(tensor.shape), ".");
    }
  }
  const std::string header = detail::safetensors_header(file, tensors, metadata);
  AtomicFile out(path);
  out.write(std::as_bytes(std::span(header)));
  for (const TensorToWrite& tensor : tensors) {
    out.write(tensor.bytes);
  }
  out.commit();
}

}  // namespace gated
