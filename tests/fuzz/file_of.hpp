#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/safetensors_writer.hpp"

/// Model files in memory.

namespace gated::fuzz {

/// A safetensors file in memory, with the parameters of `model` unless it is null.
template <class Model>
std::vector<std::byte> file_of(const Model* model, const std::string& config) {
  std::vector<TensorToWrite> tensors;
  if (model != nullptr) {
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          tensors.push_back({info.path(), dtype_of<typename decltype(values)::value_type>(),
                             std::vector<Index>(info.shape.begin(), info.shape.end()), std::as_bytes(values)});
        },
        *model);
  }
  const std::string header =
      detail::safetensors_header("file", tensors, {{"architecture", Model::architecture}, {"config", config}});
  const auto start = std::as_bytes(std::span(header));
  std::vector<std::byte> file(start.begin(), start.end());
  for (const TensorToWrite& tensor : tensors) {
    file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return file;
}

}  // namespace gated::fuzz
