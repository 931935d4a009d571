#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "gated/core/shape.hpp"
#include "gated/io/atomic_file.hpp"
#include "gated/io/json_writer.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/safetensors_header.hpp"
#include "gated/io/safetensors_writer.hpp"

namespace gated {

namespace detail {

/// The start of a file: the header's length and the header, padded with spaces to a multiple of 8 bytes.
inline std::string safetensors_header(const std::string& file, const std::vector<TensorToWrite>& tensors,
                                      const std::map<std::string, std::string>& metadata) {
  JsonWriter writer;
  writer.begin_object();
  if (!metadata.empty()) {
    writer.key("__metadata__");
    writer.begin_object();
    for (const auto& [key, value] : metadata) {
      writer.key(key);
      writer.string(value);
    }
    writer.end_object();
  }
  std::size_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    writer.key(tensor.name);
    writer.begin_object();
    writer.key("data_offsets");
    writer.begin_array();
    writer.whole(offset);
    offset += tensor.bytes.size();
    writer.whole(offset);
    writer.end_array();
    writer.key("dtype");
    writer.string(name_of(tensor.dtype));
    writer.key("shape");
    writer.begin_array();
    for (const Index size : tensor.shape) {
      writer.integer(size);
    }
    writer.end_array();
    writer.end_object();
  }
  writer.end_object();
  std::string json = writer.finish<ArgumentError>(file);
  json.resize((json.size() + 7) / 8 * 8, ' ');
  require<ArgumentError>(json.size() <= max_safetensors_header, file, ": the header is ", json.size(),
                         " bytes long, expected at most ", max_safetensors_header, ".");
  const std::uint64_t length = json.size();
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  return start + json;
}

}  // namespace detail

GATED_INLINE void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                                    const std::map<std::string, std::string>& metadata) {
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
