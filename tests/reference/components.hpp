#pragma once

#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/io/safetensors.hpp"

/// Outputs of single components of the original code, stored in components.safetensors.

namespace gated::test {

inline const SafetensorsFile& components() {
  static const SafetensorsFile file(std::string(GATED_REFERENCE_DIR) + "/components.safetensors");
  return file;
}

/// A tensor as a matrix. Its last dimension becomes the columns.
template <class T>
Matrix<T> component(const std::string& name) {
  const std::vector<T> values = components().read<T>(name);
  const auto columns = static_cast<Index>(components().tensor(name).shape.back());
  return Eigen::Map<const Matrix<T>>(values.data(), static_cast<Index>(values.size()) / columns, columns);
}

}  // namespace gated::test
