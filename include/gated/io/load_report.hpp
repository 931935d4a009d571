#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "gated/core/shape.hpp"
#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/layers/layer.hpp"

/// @file
/// What keeps a file from fitting a model, said in a few lines.

namespace gated::detail {

using TensorPosition = std::map<std::string, TensorEntry, std::less<>>::const_iterator;

/// The tensor that `wanted` means, under its name or elsewhere; file.tensors().end() if there is none.
TensorPosition find_tensor(const SafetensorsFile& file, const FileTensor& wanted);

/// What a model says of one of its parameters.
struct StatedParameter {
  std::string path;
  Shape shape;
  Role role;
  std::size_t count;  ///< of its values
  Dtype type;         ///< of its values
};

/// Raises FileError with a report of at most 12 lines unless every parameter has its tensor, and every tensor its parameter.
void expect_all_fit(std::span<const StatedParameter> parameters, const SafetensorsFile& file, const NameMap& names);

}  // namespace gated::detail

#if !defined(GATED_COMPILED)
#include "gated/io/load_report.inl"
#endif
