#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/weight_tensors.hpp"
#include "gated/models/prepare.hpp"

/// @file
/// Models with one copy of their weights: packed for matmul, or mapped from the file.

namespace gated {

namespace detail {

/// Where to keep large weights of the model's scalar type: packed in memory, or in the mapped file.
enum class WeightPlace { packed, in_file };

/// How to open a model: where to keep its weights, and in which format (by default, the file's).
struct Opening {
  WeightPlace place = WeightPlace::packed;
  std::optional<WeightFormat> format = {};

  /// True if tensors that the file stores in format `found` keep this format when packed.
  bool takes(WeightFormat found) const { return !format || *format == found; }
};

/// Packs `numbers`, the values of `weight`, in `format`.
template <class T>
void pack_numbers(PreparedWeights<T>& weights, const ParameterInfo& info, const T* weight, std::span<const T> numbers,
                  WeightFormat format) {
  const Index rows = info.shape[0];
  if constexpr (std::is_same_v<T, float>) {
    if (format != WeightFormat::float32) {
      return pack_codes(weights, weight, encoded("load_prepared", info, numbers, format).codes());
    }
  }
  pack_weight<T>(weights, weight, numbers.data(), rows, static_cast<Index>(numbers.size()) / rows);
}

/// Packs the BF16 or I8 codes of `weight`, which `file` stores in `parts`. Returns false if their format would change.
inline bool take_codes(PreparedWeights<float>& weights, const Opening& opening, const SafetensorsFile& file,
                       const std::vector<FileTensor>& parts, const Shape& shape, const float* weight) {
  const auto codes_of = [&](const FileTensor& part) -> std::optional<WeightCodes> {
    const auto tensor = find_tensor(file, part);
    if (tensor->second.dtype != Dtype::BF16 && tensor->second.dtype != Dtype::I8) {
      return std::nullopt;
    }
    WeightCodes codes = codes_in(file, tensor->first, part);
    if (opening.format && codes.scales != nullptr &&
        scales_per_row(*opening.format, codes.columns) == scales_per_row(codes.format, codes.columns)) {
      codes.format = *opening.format;  // for rows of one group, int8 and int8_rows are the same
    }
    return opening.takes(codes.format) ? std::optional(codes) : std::nullopt;
  };
  const auto release = [&](const FileTensor& part) { file.release(part.part_of(find_tensor(file, part)->second.bytes)); };
  if (parts.size() == 1) {
    const auto codes = codes_of(parts[0]);
    if (codes) {
      pack_codes(weights, weight, *codes);
      release(parts[0]);
    }
    return codes.has_value();
  }
  GatheredCodes gathered;
  const auto append = [&](const FileTensor& part) {
    const auto codes = codes_of(part);
    const bool added = codes && gathered.append(*codes);
    if (added) {
      release(part);
    }
    return added;
  };
  if (!are_rows(parts, shape) || !std::all_of(parts.begin(), parts.end(), append)) {
    return false;
  }
  pack_codes(weights, weight, gathered.view());
  return true;
}

/// Packs `weight` from the tensor `part`, or refers to it. Returns false unless it holds aligned values of type T.
template <class T>
bool take_values(PreparedWeights<T>& weights, const Opening& opening, const SafetensorsFile& file, const FileTensor& part,
                 const Shape& shape, const T* weight) {
  const TensorEntry& tensor = find_tensor(file, part)->second;
  const auto bytes = part.part_of(tensor.bytes);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0;
  if (tensor.dtype != dtype_of<T>() || !is_aligned || !opening.takes(WeightFormat::float32)) {
    return false;
  }
  const Index rows = shape[0], columns = shape.count() / rows;
  const T* const from = reinterpret_cast<const T*>(bytes.data());
  if (opening.place == WeightPlace::in_file) {
    weights.refer(weight, from, rows, columns);
  } else {
    pack_weight(weights, weight, from, rows, columns);
    file.release(bytes);
  }
  return true;
}

/// Packs a weight straight from `file`, or refers to the mapped bytes.
template <class T>
void take_parameter(PreparedWeights<T>& weights, const Opening& opening, const SafetensorsFile& file, const NameMap& names,
                    const ParameterInfo& info, std::span<const T> weight) {
  const auto parts = names.parts_in_file(info.path(), info.shape);
  if constexpr (std::is_same_v<T, float>) {
    if (take_codes(weights, opening, file, parts, info.shape, weight.data())) {
      return;
    }
  }
  if (parts.size() == 1 && take_values(weights, opening, file, parts[0], info.shape, weight.data())) {
    return;
  }
  std::vector<T> numbers(weight.size());
  read_parameter<T>(file, names, info, numbers);
  pack_numbers<T>(weights, info, weight.data(), numbers, opening.format.value_or(WeightFormat::float32));
}

}  // namespace detail

/// A model and the only copy of its large weights. Move it, but do not copy it.
template <class Model>
struct PreparedModel {
  Model model;
  PreparedWeights<typename Model::Scalar> weights;
};

namespace detail {

template <ConfiguredModel Model>
PreparedModel<Model> open_prepared(const SafetensorsFile& file, const Opening& opening) {
  using T = typename Model::Scalar;
  expect_format<T>("load_prepared", opening.format.value_or(WeightFormat::float32));
  const KernelChoice one_form_of_kernels;
  if (opening.place == WeightPlace::packed) {
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
          take_parameter<T>(opened.weights, opening, file, names, info, values);
        } else {
          read_parameter<T>(file, names, info, values);
        }
      },
      opened.model);
  prepare_layers(opened.weights, opened.model);
  if (opening.place == WeightPlace::in_file) {
    opened.weights.hold(std::make_shared<const SafetensorsFile>(file));
  }
  return opened;
}

}  // namespace detail

/// Loads the model in `file` and packs its projections and embeddings straight from the file. They keep the file's format, so
/// BF16 and I8 stay small in memory. `format` selects another format.
///
///     const auto opened = load_prepared<FlashLanguageModel<float>>("text.int8.safetensors");
///     Workspace<float> workspace;
///     workspace.use(opened.weights);
///     opened.model.forward(tokens, sequences, workspace);   // bit-equal to the model of load_model()
///
/// Every run needs a workspace that uses `weights`; the model cannot be trained or saved.
/// Errors: those of load_model(), and of prepare() for `format`.
/// Cost: one pass over the file. Memory: the packed weights and, while loading, one more weight and one mapped tensor. If the
/// system commits memory on first touch (Linux, macOS), the model's unpacked copies of these weights take address space only.
template <ConfiguredModel Model>
PreparedModel<Model> load_prepared(const SafetensorsFile& file, std::optional<WeightFormat> format = {}) {
  return detail::open_prepared<Model>(file, {.format = format});
}

/// Overload: opens the file at `path`.
template <ConfiguredModel Model>
PreparedModel<Model> load_prepared(const std::filesystem::path& path, std::optional<WeightFormat> format = {}) {
  return load_prepared<Model>(SafetensorsFile(path), format);
}

/// Opens the model in `file` with projections and embeddings read from the mapped file, which stays mapped as long as the
/// result lives. Opening is immediate at any size, processes share the memory, and the system may evict pages.
///
///     const auto opened = load_mapped<GmlpLanguageModel<float>>("text.safetensors");
///     Workspace<float> workspace;
///     workspace.use(opened.weights);
///     opened.model.forward(tokens, sequences, workspace);   // bit-equal to the model of load_model()
///
/// For programs that run once, rarely, or in many processes. Each matmul packs mapped weights anew, as without prepare(), so
/// long-running programs should use load_prepared(). Weights of a type other than the model's are packed as in load_prepared(),
/// as are unaligned weights and weights stacked from several tensors. Spatial weights and vectors are copied. Every run needs a
/// workspace that uses `weights`, and the model cannot be trained or saved. Do not modify or truncate the file while it is
/// mapped; replacing it, as save_model() does, is safe (MappedFile). Bytes given to SafetensorsFile::parse() must outlive the
/// result.
/// Errors: those of load_model(), except that the checksum is not verified, because that would read the whole file. If the file
/// may be damaged, call SafetensorsFile::verify() first.
/// Cost: reads the parts that are packed or copied; the rest is read on first use.
template <ConfiguredModel Model>
PreparedModel<Model> load_mapped(const SafetensorsFile& file) {
  return detail::open_prepared<Model>(file, {.place = detail::WeightPlace::in_file});
}

/// Overload: opens the file at `path`.
template <ConfiguredModel Model>
PreparedModel<Model> load_mapped(const std::filesystem::path& path) {
  return load_mapped<Model>(SafetensorsFile(path));
}

}  // namespace gated
