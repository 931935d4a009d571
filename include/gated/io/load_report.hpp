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
/// Reports why a file does not fit a model.

namespace gated::detail {

using TensorPosition = std::map<std::string, TensorEntry, std::less<>>::const_iterator;

/// Finds the tensor `wanted` by its name or an alternative name; returns file.tensors().end() if there is none.
TensorPosition find_tensor(const SafetensorsFile& file, const FileTensor& wanted);

/// A parameter as declared by its model.
struct StatedParameter {
  std::string path;
  Shape shape;
  Role role;
  std::size_t count;  ///< number of values
  Dtype type;         ///< type of the values
};

/// Raises FileError, with a report of at most 12 lines, if a parameter lacks a matching tensor or a tensor has no parameter.
void expect_all_fit(std::span<const StatedParameter> parameters, const SafetensorsFile& file, const NameMap& names);

}  // namespace gated::detail

#if !defined(GATED_COMPILED)
#include "gated/io/load_report.inl"
#endif
