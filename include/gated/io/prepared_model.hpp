#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/weight_tensors.hpp"
#include "gated/models/prepare.hpp"

/// @file
/// Models whose weights stand once: in memory, packed and as small as in their file, or in the file itself.

namespace gated {

namespace detail {

/// Where large weights are read that a file has in the type of the model.
enum class WeightPlace { packed, in_file };

/// Packs a weight of a model that has it elsewhere straight from `file`, or refers to the file.
template <class T>
void take_parameter(PreparedWeights<T>& weights, WeightPlace place, const SafetensorsFile& file, const NameMap& names,
                    const ParameterInfo& info, std::span<const T> weight) {
  const Index rows = info.shape[0], columns = info.shape.count() / rows;
  const auto parts = names.parts_in_file(info.path(), info.shape);
  const auto found = find_tensor(file, parts[0]);
  const Dtype dtype = found->second.dtype;
  const auto part_of = [&](const TensorEntry& tensor) {
    const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(parts[0].parts);
    return tensor.bytes.subspan(static_cast<std::size_t>(parts[0].part) * size, size);
  };
  if constexpr (std::is_same_v<T, float>) {
    if (parts.size() == 1 && (dtype == Dtype::BF16 || dtype == Dtype::I8)) {
      pack_codes(weights, weight.data(), codes_in(file, found->first, parts[0].part, parts[0].parts));
      return file.release(part_of(found->second));
    }
  }
  const auto bytes = part_of(found->second);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0;
  if (parts.size() == 1 && dtype == dtype_of<T>() && is_aligned) {
    const T* const from = reinterpret_cast<const T*>(bytes.data());
    if (place == WeightPlace::in_file) {
      return weights.refer(weight.data(), from, rows, columns);
    }
    pack_weight(weights, weight.data(), from, rows, columns);
    return file.release(bytes);
  }
  std::vector<T> numbers(weight.size());
  read_parameter<T>(file, names, info, numbers);
  pack_weight<T>(weights, weight.data(), numbers.data(), rows, columns);
}

}  // namespace detail

/// A model and its large weights, which stand nowhere else. Move it, but do not copy it.
template <class Model>
struct PreparedModel {
  Model model;
  PreparedWeights<typename Model::Scalar> weights;
};

namespace detail {

template <ConfiguredModel Model>
PreparedModel<Model> open_prepared(const SafetensorsFile& file, WeightPlace place) {
  using T = typename Model::Scalar;
  if (place == WeightPlace::packed) {
    file.verify();
  }
  const auto description = describe_model<Model>(file);
  const NameMap names = as_in(file, description.names);
  PreparedModel<Model> opened = [&] {
    const ParameterBudget budget = budget_of(file);
    const HollowWeights hollow;
    return PreparedModel<Model>{Model(description.config), {}};
  }();
  expect_fit(opened.model, file, names);
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (may_be_quantized(info) && is_elsewhere(values.front())) {
          take_parameter<T>(opened.weights, place, file, names, info, values);
        } else {
          read_parameter<T>(file, names, info, values);
        }
      },
      opened.model);
  prepare_layers(opened.weights, opened.model);
  if (place == WeightPlace::in_file) {
    opened.weights.keep(std::make_shared<const SafetensorsFile>(file));
  }
  return opened;
}

}  // namespace detail

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
/// (Linux, macOS; address space is taken for a float model); while it loads, for one weight more, and one of the mapped file.
template <ConfiguredModel Model>
PreparedModel<Model> load_prepared(const SafetensorsFile& file) {
  return detail::open_prepared<Model>(file, detail::WeightPlace::packed);
}

/// The model in the file at `path`.
template <ConfiguredModel Model>
PreparedModel<Model> load_prepared(const std::filesystem::path& path) {
  return load_prepared<Model>(SafetensorsFile(path));
}

/// The model in `file`, with the weights of projections and the embeddings read where the file is mapped, as long as the
/// result lives: it opens at once, whatever its size, and all processes that open a file share its memory, of which the system
/// takes back what it needs elsewhere.
///
///     const auto opened = load_mapped<GmlpLanguageModel<float>>("text.safetensors");
///     Workspace<float> workspace;
///     workspace.use(opened.weights);
///     opened.model.forward(tokens, sequences, workspace);   // the bits of load_model()
///
/// For programs that run once, or seldom, or many at a time; load_prepared() is for those that run on, because products pack
/// such weights each time, as without prepare(). What the file has in another type than the model, in parts or unaligned is
/// packed as load_prepared() does; spatial weights and vectors are read. As with load_prepared(), every run needs a workspace
/// that uses `weights`, and the model cannot be trained or saved. The file must not be written to or shortened meanwhile
/// (replacing it, as save_model() does, is safe: see MappedFile), and bytes of SafetensorsFile::parse() must stay.
/// Errors: as load_model(), except that no check sum is compared, because that reads the whole file: for a file that you do not
/// trust, call SafetensorsFile::verify() first.
/// Cost: what is read of the file; the rest when it is first used.
template <ConfiguredModel Model>
PreparedModel<Model> load_mapped(const SafetensorsFile& file) {
  return detail::open_prepared<Model>(file, detail::WeightPlace::in_file);
}

/// The model in the file at `path`.
template <ConfiguredModel Model>
PreparedModel<Model> load_mapped(const std::filesystem::path& path) {
  return load_mapped<Model>(SafetensorsFile(path));
}

}  // namespace gated
