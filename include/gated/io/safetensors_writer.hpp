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
/// Writes safetensors files.

namespace gated {

/// A tensor for write_safetensors(). The bytes are little-endian, row-major, and belong to the caller.
struct TensorToWrite {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<Index> shape = {};
  std::span<const std::byte> bytes = {};
};

/// Writes `tensors` and `metadata` as a safetensors file, atomically (AtomicFile).
///
/// The data begins at a multiple of 8 bytes. Tensors are sorted by element size, largest first, then by name, so each is
/// aligned and equal contents give equal files.
/// Errors: ArgumentError if a name is a duplicate or `__metadata__`, a string is not UTF-8, or the bytes do not fit the shape;
/// FileError if the file cannot be written.
/// Cost: memory for the header; the data is not copied.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/safetensors_writer.inl"
#endif
