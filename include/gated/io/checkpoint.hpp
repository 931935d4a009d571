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
/// Models from checkpoints, and checkpoints from models.

namespace gated {

namespace detail {

/// `names` as `file` has them: without `body` where no tensor begins with it.
NameMap as_in(const SafetensorsFile& file, NameMap names);

/// Raises FileError unless every parameter of `model` has its tensor, and every tensor its parameter.
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

/// Reads one parameter of a model that expect_fit() has passed.
template <class T>
void read_parameter(const SafetensorsFile& file, const NameMap& names, const ParameterInfo& info, std::span<T> values);

/// What save_parameters() writes, parameter by parameter.
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

/// Reads every parameter of `model` from `file`, whose tensors are called as `map` says.
///
/// Strict: each parameter has a tensor of its shape and a floating type (F64, F32, F16, BF16, rounded to the model's scalar),
/// or I8 with scales (io/weight_tensors.hpp), and each tensor a parameter, unless the map ignores it or ties it to another.
/// Tensors that a model shares may stand in the file once, as Python's save_model() leaves them. Constants, such as rotary
/// frequencies, are taken from files that store them and computed otherwise.
/// Errors: one FileError of at most 12 lines that counts the missing, unexpected, mis-shaped and unconvertible tensors, shows
/// the first of each, those that differ in the number of their block as one, and says by whom the file seems to be and which
/// preset has its shapes. FileError also for a file that SafetensorsFile::verify() finds damaged. The model is unchanged then.
/// ArgumentError if the map does not suit the model.
/// Cost: one pass over the file, one for a check sum, and one where values might not fit (F64 to float).
template <class Model>
void load_parameters(Model& model, const SafetensorsFile& file, const NameMap& map = {}) {
  file.verify();
  const NameMap names = detail::as_in(file, map);
  detail::expect_fit(model, file, names);
  for_each_parameter([&](const ParameterInfo& info, auto values) { detail::read_parameter(file, names, info, values); }, model);
}

/// Writes every parameter of `model` to a safetensors file at `path`, under the names and shapes that `names` gives; reading it
/// with the same map gives the model back.
///
/// `dtype` is F64, F32, F16 or BF16; without it, the model's own. With a small format in `weights`, the matrices that it
/// applies to are stored so instead (io/weight_tensors.hpp), in a half or a quarter of the bytes. `metadata` are texts of the
/// caller's choice; those that load_model() needs, save_model() writes. One more is a check sum, "gated.checksum", which
/// loading compares. Equal models and texts give equal files. The file is written completely or not at all.
/// Errors: ArgumentError if a value is too large for `dtype` or, in a small format, not finite, if two parameters get one name,
/// if `metadata` have a check sum, or if the model's weights are kept apart (load_prepared(), load_mapped()); FileError if the
/// file cannot be written.
/// Cost: nothing but the header is copied, unless a type differs from the model's; one pass for the check sum.
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
