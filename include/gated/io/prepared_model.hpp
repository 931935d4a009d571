#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/prepare.hpp"

/// @file
/// Models whose weights stand in memory once, packed, and as small as in their file.

namespace gated {

namespace detail {

/// Packs a weight of a hollow model straight from `file`.
template <class T>
void pack_parameter(PreparedWeights<T>& weights, const SafetensorsFile& file, const NameMap& names, const ParameterInfo& info,
                    std::span<const T> weight) {
  const Index rows = info.shape[0], columns = info.shape.count() / rows;
  const auto parts = names.parts_in_file(info.path(), info.shape);
  const auto found = find_tensor(file, parts[0]);
  const Dtype dtype = found->second.dtype;
  if constexpr (std::is_same_v<T, float>) {
    if (parts.size() == 1 && (dtype == Dtype::BF16 || dtype == Dtype::I8)) {
      return pack_codes(weights, weight.data(), codes_in(file, found->first, parts[0].part, parts[0].parts));
    }
  }
  const std::byte* const bytes = found->second.bytes.data();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes) % alignof(T) == 0;
  if (parts.size() == 1 && dtype == dtype_of<T>() && is_aligned) {
    const T* const from = reinterpret_cast<const T*>(bytes) + parts[0].part * static_cast<Index>(weight.size());
    return pack_weight(weights, weight.data(), from, rows, columns);
  }
  std::vector<T> numbers(weight.size());
  read_parameter<T>(file, names, info, numbers);
  pack_weight<T>(weights, weight.data(), numbers.data(), rows, columns);
}

}  // namespace detail

/// A model and its weights, packed as products read them, which stand nowhere else. Move it, but do not copy it.
template <class Model>
struct PreparedModel {
  Model model;
  PreparedWeights<typename Model::Scalar> weights;
};

/// The model in `file`, with the weights of projections and the embeddings packed straight from the file and in its format:
/// those of BF16 and of I8 stay small in memory.
///
///     const auto opened = load_prepared<FlashLanguageModel<float>>("text.int8.safetensors");
///     Workspace<float> workspace;
///     workspace.use(opened.weights);
///     opened.model.forward(tokens, sequences, workspace);   // the bits of load_model()
///
/// Every run needs a workspace that uses `weights`; the model cannot be trained or saved.
/// Errors: as load_model().
/// Cost: one pass over the file. Memory for the packed weights alone, where the system gives memory when it is first touched
/// (Linux, macOS; address space is taken for a float model); while it loads, for one weight more, and the mapped file.
template <ConfiguredModel Model>
PreparedModel<Model> load_prepared(const SafetensorsFile& file) {
  using T = typename Model::Scalar;
  const auto description = describe_model<Model>(file);
  detail::expect_affordable(file, Model::value_count(description.config));
  const NameMap names = detail::as_in(file, description.names);
  PreparedModel<Model> opened = [&] {
    const detail::HollowWeights hollow;
    return PreparedModel<Model>{Model(description.config), {}};
  }();
  detail::expect_fit(opened.model, file, names);
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (may_be_small(info) && is_elsewhere(values.front())) {
          detail::pack_parameter<T>(opened.weights, file, names, info, values);
        } else {
          detail::read_parameter<T>(file, names, info, values);
        }
      },
      opened.model);
  detail::prepare_layers(opened.weights, opened.model);
  return opened;
}

/// The model in the file at `path`.
template <ConfiguredModel Model>
PreparedModel<Model> load_prepared(const std::filesystem::path& path) {
  return load_prepared<Model>(SafetensorsFile(path));
}

}  // namespace gated
