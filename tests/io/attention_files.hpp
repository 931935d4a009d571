#pragma once

#include <set>
#include <string>
#include <vector>

#include "files.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/safetensors_writer.hpp"
#include "tests/layers/literal_attention.hpp"

/// Helpers for tests of checkpoints that use another library's tensor names.

namespace gated::test {

using Names = std::set<std::string>;

/// Saves `model` with `names` and opens the file.
template <class Model>
SafetensorsFile saved(const Model& model, const NameMap& names) {
  const auto path = temporary("saved.safetensors");
  save_parameters(model, path, {}, names);
  return SafetensorsFile(path);
}

/// Lists "name [shape]" for every tensor.
inline Names listed(const SafetensorsFile& file) {
  Names all;
  for (const auto& [name, entry] : file.tensors()) {
    all.insert(text(name, " ", describe_shape(entry.shape)));
  }
  return all;
}

struct Copy {
  std::string name, of;
};

/// Writes and opens a copy of `file` without the tensors `removed`, and with the tensors `copies` and `more` added.
inline SafetensorsFile changed(const SafetensorsFile& file, const Names& removed, const std::vector<Copy>& copies = {},
                               const std::vector<TensorToWrite>& more = {}) {
  std::vector<TensorToWrite> tensors = more;
  for (const auto& [name, entry] : file.tensors()) {
    if (removed.count(std::string(name)) == 0) {
      tensors.push_back({std::string(name), entry.dtype, entry.shape, entry.bytes});
    }
  }
  for (const Copy& copy : copies) {
    const TensorEntry& entry = file.tensor(copy.of);
    tensors.push_back({copy.name, entry.dtype, entry.shape, entry.bytes});
  }
  const auto path = temporary(text("changed", tensors.size(), ".safetensors"));
  write_safetensors(path, tensors);
  return SafetensorsFile(path);
}

/// A tensor that refers to `values`, which must outlive it.
template <class M>
TensorToWrite tensor_of(const std::string& name, const M& values, std::vector<Index> shape) {
  return {name, dtype_of<typename M::Scalar>(), std::move(shape),
          std::as_bytes(std::span(values.data(), static_cast<std::size_t>(values.size())))};
}

template <class Model>
void expect_equal(const Model& got, const Model& expected) {
  for_each_parameter([](const ParameterInfo& info, auto a,
                        auto b) { EXPECT_TRUE(std::ranges::equal(std::as_bytes(a), std::as_bytes(b))) << info.path(); },
                     got, expected);
}

/// Expects that loading `file` restores `model`.
template <class Model>
void expect_loads(const Model& model, const SafetensorsFile& file, const NameMap& names) {
  Model loaded(model.config);
  load_parameters(loaded, file, names);
  expect_equal(loaded, model);
}

}  // namespace gated::test
