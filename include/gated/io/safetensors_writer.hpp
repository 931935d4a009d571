#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/io/dtype.hpp"

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

/// Writes `tensors` and `metadata` as a safetensors file, completely or not at all (see AtomicFile).
///
/// The data begins at a multiple of 8 bytes. Tensors with larger elements come first and equal ones in the order of their
/// names, so that each is aligned and equal contents give equal files.
/// Errors: ArgumentError if a name stands twice or is `__metadata__`, a text is not UTF-8, or the bytes do not fit the shape;
/// FileError if the file cannot be written.
/// Cost: the header in memory; the data is written from where it lies.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/safetensors_writer.inl"
#endif
