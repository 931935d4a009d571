#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/core/weight_format.hpp"
#include "gated/io/load_report.hpp"
#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"

/// @file
/// Reads and writes the parameters of a model.

namespace gated {

namespace detail {

/// Adapts `names` to `file`: clears `body` if no tensor name begins with `prefix` + `body`.
NameMap as_in(const SafetensorsFile& file, NameMap names);

/// Raises FileError unless every parameter of `model` has a tensor and every tensor a parameter.
template <class Model>
void expect_fit(Model& model, const SafetensorsFile& file, const NameMap& names) {
  std::vector<StatedParameter> parameters;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        using T = std::remove_const_t<typename decltype(values)::value_type>;
        parameters.push_back({info.path(), info.shape, info.role, values.size(), dtype_of<T>()});
      },
      model);
  expect_all_fit(parameters, file, names);
}

/// Reads one parameter of a model that has passed expect_fit().
template <class T>
void read_parameter(const SafetensorsFile& file, const NameMap& names, const ParameterInfo& info, std::span<T> values);

/// Collects the tensors that save_parameters() writes.
class ParametersToWrite {
 public:
  ParametersToWrite(const NameMap& names, std::optional<Dtype> dtype, WeightFormat weights);
  ParametersToWrite(const ParametersToWrite&) = delete;
  ParametersToWrite& operator=(const ParametersToWrite&) = delete;
  ~ParametersToWrite();

  template <class T>
  void add(const ParameterInfo& info, std::span<const T> values);
  void write(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace detail

/// Reads every parameter of `model` from `file`; `map` translates parameter paths to tensor names.
///
/// Loading is strict: each parameter needs a tensor of the same shape. Each tensor needs a parameter, unless the map ignores it
/// or ties it to another tensor. Tensors are F64, F32, F16 or BF16, rounded to the model's scalar type, or I8 with scales
/// (io/weight_tensors.hpp). The file may store shared tensors only once, as safetensors.torch.save_model() does in Python.
/// Constants, such as rotary frequencies, are read if the file stores them and computed otherwise.
/// Errors: one FileError of at most 12 lines for all missing, unexpected, mis-shaped and unconvertible tensors, with the count
/// and the first names of each kind. Tensors whose names differ only in the block number share a line. The error also names
/// the file's origin and the preset with these shapes, if recognized. FileError if SafetensorsFile::verify() fails.
/// ArgumentError as in NameMap::in_file(). After an error the model is unchanged.
/// Cost: one pass to read the file, one to verify its checksum and, if values may overflow (F64 to float), one to check them.
template <class Model>
void load_parameters(Model& model, const SafetensorsFile& file, const NameMap& map = {}) {
  file.verify();
  const NameMap names = detail::as_in(file, map);
  detail::expect_fit(model, file, names);
  for_each_parameter([&](const ParameterInfo& info, auto values) { detail::read_parameter(file, names, info, values); }, model);
}

/// Writes every parameter of `model` to a safetensors file at `path`, with the names and shapes from `names`. Loading with the
/// same map restores the model.
///
/// `dtype` is F64, F32, F16 or BF16; the default is the model's scalar type. If `weights` is a quantized format, projections
/// and embeddings have half or a quarter of their float32 size (io/weight_tensors.hpp). `metadata` is free text; save_model()
/// adds the entries that load_model() needs. save_parameters() adds a checksum, "gated.checksum", which is verified on loading.
/// Equal models and metadata give equal files. The write is atomic.
/// Errors: ArgumentError for a value that overflows `dtype` or, in a quantized format, is not finite; for two parameters with
/// the same name; for a checksum in `metadata`; and for weights stored outside the model (load_prepared(), load_mapped()).
/// FileError if the file cannot be written.
/// Cost: one pass for the checksum; values are copied only to convert them.
template <class Model>
void save_parameters(const Model& model, const std::filesystem::path& path,
                     const std::map<std::string, std::string>& metadata = {}, const NameMap& names = {},
                     std::optional<Dtype> dtype = std::nullopt, WeightFormat weights = WeightFormat::float32) {
  detail::ParametersToWrite file(names, dtype, weights);
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        using T = std::remove_const_t<typename decltype(values)::value_type>;
        file.add<T>(info, values);
      },
      model);
  file.write(path, metadata);
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/checkpoint.inl"
#endif
