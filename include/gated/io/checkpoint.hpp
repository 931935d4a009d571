#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/core/unset.hpp"
#include "gated/io/load_report.hpp"
#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/io/safetensors_writer.hpp"
#include "gated/io/weight_tensors.hpp"

/// @file
/// Models from checkpoints, and checkpoints from models.

namespace gated {

namespace detail {

/// `names` as `file` has them: without `body` where no tensor begins with it.
inline NameMap as_in(const SafetensorsFile& file, NameMap names) {
  const std::string beginning = names.prefix + names.body;
  const auto found = file.tensors().lower_bound(beginning);
  if (found == file.tensors().end() || !found->first.starts_with(beginning)) {
    names.body.clear();
  }
  return names;
}

/// Tensors that hold several parameters below each other, while they are put together.
class JoinedTensors {
 public:
  void add(const FileTensor& part, Dtype dtype, std::span<const std::byte> bytes) {
    Joined& joined = by_name_[part.name];
    joined.shape = part.shape;
    joined.dtype = dtype;
    joined.bytes.resize(bytes.size() * static_cast<std::size_t>(part.parts));
    joined.missing.resize(static_cast<std::size_t>(part.parts), true);
    const auto index = static_cast<std::size_t>(part.part);
    require<ArgumentError>(joined.missing[index], "save_parameters: two parameters are part ", part.part, " of ", part.name,
                           ".");
    joined.missing[index] = false;
    std::copy(bytes.begin(), bytes.end(), joined.bytes.begin() + static_cast<std::ptrdiff_t>(index * bytes.size()));
  }

  /// Errors: ArgumentError where a part is missing.
  void append_to(std::vector<TensorToWrite>& tensors) const {
    for (const auto& [name, joined] : by_name_) {
      const auto missing = std::find(joined.missing.begin(), joined.missing.end(), true);
      require<ArgumentError>(missing == joined.missing.end(), "save_parameters: the model has no part ",
                             missing - joined.missing.begin(), " of ", name, ".");
      tensors.push_back({name, joined.dtype, joined.shape, joined.bytes});
    }
  }

 private:
  struct Joined {
    std::vector<Index> shape;
    Dtype dtype{};
    std::vector<std::byte> bytes;
    std::vector<bool> missing;
  };
  std::map<std::string, Joined> by_name_;
};

/// Raises FileError unless every parameter of `model` has its tensor, and every tensor its parameter.
template <class Model>
void expect_fit(Model& model, const SafetensorsFile& file, const NameMap& names) {
  LoadReport report(file, names);
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) { report.check<typename decltype(values)::value_type>(info, values.size()); },
      model);
  report.finish();
}

/// Reads one parameter of a model that expect_fit() has passed.
template <class T>
void read_parameter(const SafetensorsFile& file, const NameMap& names, const ParameterInfo& info, std::span<T> values) {
  const auto parts = names.parts_in_file(info.path(), info.shape);
  const std::size_t size = values.size() / parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto found = find_tensor(file, parts[i]);
    if (found == file.tensors().end()) {
      continue;  // a constant that this file does not store
    }
    const std::span<T> to = values.subspan(i * size, size);
    if (found->second.dtype == Dtype::I8) {
      codes_in(file, found->first, parts[i].part, parts[i].parts).read(to);
      continue;
    }
    const std::size_t size_in_file = found->second.bytes.size() / static_cast<std::size_t>(parts[i].parts);
    const auto bytes = found->second.bytes.subspan(static_cast<std::size_t>(parts[i].part) * size_in_file, size_in_file);
    convert<T>(found->second.dtype, bytes, to);
    file.release(bytes);
  }
}

}  // namespace detail

/// Reads every parameter of `model` from `file`, whose tensors are called as `map` says.
///
/// Strict: each parameter has a tensor of its shape and a floating type (F64, F32, F16, BF16, rounded to the model's scalar),
/// or I8 with scales (io/weight_tensors.hpp), and each tensor a parameter, unless the map ignores it or ties it to another.
/// Tensors that a model shares may stand in the file once, as Python's save_model() leaves them. Constants, such as rotary
/// frequencies, are taken from files that store them and computed otherwise.
/// Errors: one FileError of at most 12 lines that counts the missing, unexpected, mis-shaped and unconvertible tensors, shows
/// the first of each, those that differ in the number of their block as one, and says by whom the file seems to be and which
/// preset has its shapes. The model is unchanged then. ArgumentError if the map does not suit the model.
/// Cost: one pass over the file; two where values might not fit (F64 to float).
template <class Model>
void load_parameters(Model& model, const SafetensorsFile& file, const NameMap& map = {}) {
  const NameMap names = detail::as_in(file, map);
  detail::expect_fit(model, file, names);
  for_each_parameter([&](const ParameterInfo& info, auto values) { detail::read_parameter(file, names, info, values); }, model);
}

/// Writes every parameter of `model` to a safetensors file at `path`, under the names and shapes that `names` gives; reading it
/// with the same map gives the model back.
///
/// `dtype` is F64, F32, F16 or BF16; without it, the model's own. With a small format in `weights`, the matrices that it
/// applies to are stored so instead (io/weight_tensors.hpp), in a half or a quarter of the bytes. `metadata` are texts of the
/// caller's choice; those that load_model() needs, save_model() writes. The file is written completely or not at all.
/// Errors: ArgumentError if a value is too large for `dtype` or, in a small format, not finite, if two parameters get one name,
/// or if the model's weights are kept apart (load_prepared(), load_mapped()); FileError if the file cannot be written.
/// Cost: nothing but the header is copied, unless a type differs from the model's.
template <class Model>
void save_parameters(const Model& model, const std::filesystem::path& path,
                     const std::map<std::string, std::string>& metadata = {}, const NameMap& names = {},
                     std::optional<Dtype> dtype = std::nullopt, WeightFormat weights = WeightFormat::float32) {
  if (dtype) {
    require<ArgumentError>(is_floating(*dtype), "save_parameters: dtype is ", name_of(*dtype),
                           ", expected F64, F32, F16 or BF16.");
  }
  std::vector<TensorToWrite> tensors;
  std::deque<EncodedWeight> codes;
  std::vector<std::vector<std::byte>> converted;
  detail::JoinedTensors joined;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        using T = std::remove_const_t<typename decltype(values)::value_type>;
        detail::expect_format<T>("save_parameters", weights);
        require<ArgumentError>(
            values.empty() || !is_elsewhere(values.front()), "save_parameters: ", info.path(),
            " is kept apart from the model, by load_prepared() or load_mapped(). Save a model that load_model() opened.");
        auto parts = names.parts_in_file(info.path(), info.shape);
        const auto store = [&](Dtype stored, std::span<const std::byte> bytes) {
          const std::size_t size = bytes.size() / parts.size();
          for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto ours = bytes.subspan(i * size, size);
            if (parts[i].parts > 1) {
              joined.add(parts[i], stored, ours);
            } else {
              tensors.push_back({parts[i].name, stored, parts[i].shape, ours});
            }
          }
        };
        if constexpr (std::is_same_v<T, float>) {
          if (weights != WeightFormat::float32 && may_be_small(info) && parts.size() == 1) {
            const EncodedWeight& encoded = codes.emplace_back(detail::encoded("save_parameters", info, values, weights));
            store(weights == WeightFormat::bf16 ? Dtype::BF16 : Dtype::I8, encoded.bytes());
            if (!encoded.scales().empty()) {
              parts[0].name = detail::scale_name(parts[0].name);
              parts[0].shape = {info.shape[0] * parts[0].parts, scales_per_row(weights, encoded.codes().columns)};
              store(Dtype::F32, std::as_bytes(std::span(encoded.scales())));
            }
            return;
          }
        }
        std::span<const std::byte> bytes = std::as_bytes(values);
        const Dtype stored = dtype.value_or(dtype_of<T>());
        if (stored != dtype_of<T>()) {
          auto rounded = bytes_of<T>(values, stored);
          require<ArgumentError>(rounded.has_value(), "save_parameters: ", info.path(), " holds values that are too large for ",
                                 name_of(stored), ".");
          bytes = converted.emplace_back(std::move(*rounded));
        }
        store(stored, bytes);
      },
      model);
  joined.append_to(tensors);
  if (std::none_of(tensors.begin(), tensors.end(),
                   [&](const TensorToWrite& tensor) { return tensor.name.starts_with(names.prefix + names.head); })) {
    for (TensorToWrite& tensor : tensors) {
      tensor.name.erase(names.prefix.size(), names.body.size());  // no larger model, so the body's own names
    }
  }
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace gated
