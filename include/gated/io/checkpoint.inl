#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include "gated/core/unset.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/convert.hpp"
#include "gated/io/safetensors_writer.hpp"
#include "gated/io/weight_tensors.hpp"

namespace gated {

namespace detail {

GATED_INLINE NameMap as_in(const SafetensorsFile& file, NameMap names) {
  const std::string beginning = names.prefix + names.body;
  const auto found = file.tensors().lower_bound(beginning);
  if (found == file.tensors().end() || !found->first.starts_with(beginning)) {
    names.body.clear();
  }
  return names;
}

/// Assembles tensors in which several parameters are stacked.
class JoinedTensors {
 public:
  void add(const FileTensor& part, Dtype dtype, std::span<const std::byte> bytes) {
    Joined& joined = by_name_[part.name];
    joined.shape = part.shape;
    joined.dtype = dtype;
    const std::size_t row = bytes.size() / static_cast<std::size_t>(part.rows);
    joined.bytes.resize(row * static_cast<std::size_t>(part.shape[0]));
    joined.missing.resize(static_cast<std::size_t>(part.shape[0]), true);
    for (Index i = part.first; i < part.first + part.rows; ++i) {
      require<ArgumentError>(joined.missing[static_cast<std::size_t>(i)], "save_parameters: two parameters map to row ", i,
                             " of ", part.name, ". Give each its own rows in the name map.");
      joined.missing[static_cast<std::size_t>(i)] = false;
    }
    std::copy(bytes.begin(), bytes.end(),
              joined.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(part.first) * row));
  }

  /// Errors: ArgumentError if a part is missing.
  void append_to(std::vector<TensorToWrite>& tensors) const {
    for (const auto& [name, joined] : by_name_) {
      const auto missing = std::find(joined.missing.begin(), joined.missing.end(), true);
      require<ArgumentError>(missing == joined.missing.end(), "save_parameters: no parameter maps to row ",
                             missing - joined.missing.begin(), " of ", name, ". Add a rule to the name map.");
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

template <class T>
void read_parameter(const SafetensorsFile& file, const NameMap& names, const ParameterInfo& info, std::span<T> values) {
  const auto parts = names.parts_in_file(info.path(), info.shape);
  std::size_t done = 0;
  for (const FileTensor& part : parts) {
    const auto found = find_tensor(file, part);
    const std::span<T> to = values.subspan(std::exchange(done, done + part.count()), part.count());
    if (found == file.tensors().end()) {
      continue;  // a constant that this file does not store
    }
    const auto bytes = part.part_of(found->second.bytes);
    if (found->second.dtype == Dtype::I8) {
      codes_in(file, found->first, part).read(to);
    } else {
      convert<T>(found->second.dtype, bytes, to);
    }
    file.release(bytes);
  }
}

struct ParametersToWrite::Parts {
  const NameMap& names;
  std::optional<Dtype> dtype;
  WeightFormat weights;
  std::vector<TensorToWrite> tensors = {};
  std::deque<EncodedWeight> codes = {};
  std::vector<std::vector<std::byte>> converted = {};
  JoinedTensors joined = {};

  /// Adds the bytes of a parameter that the file stores as `parts`.
  void store(const std::vector<FileTensor>& parts, Dtype stored, std::span<const std::byte> bytes) {
    std::size_t count = 0, done = 0;
    for (const FileTensor& part : parts) {
      count += part.count();
    }
    for (const FileTensor& part : parts) {
      const std::size_t size = count == 0 ? 0 : bytes.size() / count * part.count();
      const auto ours = bytes.subspan(std::exchange(done, done + size), size);
      if (part.is_part()) {
        joined.add(part, stored, ours);
      } else {
        tensors.push_back({part.name, stored, part.shape, ours});
      }
    }
  }
};

GATED_INLINE ParametersToWrite::ParametersToWrite(const NameMap& names, std::optional<Dtype> dtype, WeightFormat weights)
    : parts_(new Parts{.names = names, .dtype = dtype, .weights = weights}) {
  if (dtype) {
    require<ArgumentError>(is_floating(*dtype), "save_parameters: dtype is ", name_of(*dtype),
                           ", expected F64, F32, F16 or BF16.");
  }
}

GATED_INLINE ParametersToWrite::~ParametersToWrite() = default;

template <class T>
void ParametersToWrite::add(const ParameterInfo& info, std::span<const T> values) {
  const WeightFormat weights = parts_->weights;
  expect_format<T>("save_parameters", weights);
  require<ArgumentError>(values.empty() || !is_elsewhere(values.front()), "save_parameters: ", info.path(),
                         " is stored outside the model, by load_prepared() or load_mapped(). Save a model from load_model().");
  auto tensors = parts_->names.parts_in_file(info.path(), info.shape);
  if constexpr (std::is_same_v<T, float>) {
    if (weights != WeightFormat::float32 && may_be_quantized(info) && are_rows(tensors, info.shape)) {
      const EncodedWeight& encoded = parts_->codes.emplace_back(detail::encoded("save_parameters", info, values, weights));
      parts_->store(tensors, weights == WeightFormat::bf16 ? Dtype::BF16 : Dtype::I8, encoded.bytes());
      if (!encoded.scales().empty()) {
        for (FileTensor& tensor : tensors) {
          tensor.name = scale_name(tensor.name);
          tensor.shape = {tensor.shape[0], scales_per_row(weights, encoded.codes().columns)};
        }
        parts_->store(tensors, Dtype::F32, std::as_bytes(std::span(encoded.scales())));
      }
      return;
    }
  }
  std::span<const std::byte> bytes = std::as_bytes(values);
  const Dtype stored = parts_->dtype.value_or(dtype_of<T>());
  if (stored != dtype_of<T>()) {
    auto rounded = bytes_of<T>(values, stored);
    require<ArgumentError>(rounded.has_value(), "save_parameters: ", info.path(), " holds values too large for ",
                           name_of(stored), ". Choose a wider dtype.");
    bytes = parts_->converted.emplace_back(std::move(*rounded));
  }
  parts_->store(tensors, stored, bytes);
}

GATED_INLINE void ParametersToWrite::write(const std::filesystem::path& path,
                                           const std::map<std::string, std::string>& metadata) {
  const NameMap& names = parts_->names;
  std::vector<TensorToWrite>& tensors = parts_->tensors;
  parts_->joined.append_to(tensors);
  if (std::none_of(tensors.begin(), tensors.end(), [&](const TensorToWrite& tensor) {
        return names.heads.empty() || (tensor.name.starts_with(names.prefix) &&
                                       names.is_of_head(std::string_view(tensor.name).substr(names.prefix.size())));
      })) {
    for (TensorToWrite& tensor : tensors) {
      tensor.name.erase(names.prefix.size(), names.body.size());  // names in a file without a head omit `body`
    }
  }
  require<ArgumentError>(metadata.count(checksum_key) == 0, "save_parameters: metadata contains \"", checksum_key,
                         "\", which save_parameters() writes. Remove it.");
  SafetensorsContents contents{{metadata.begin(), metadata.end()}, {}};
  for (const TensorToWrite& tensor : tensors) {
    contents.tensors.insert({tensor.name, {tensor.dtype, tensor.shape, tensor.bytes}});
  }
  auto texts = metadata;
  texts[checksum_key] = checksum_of(contents, [](std::span<const std::byte>) {});
  write_safetensors(path, std::move(tensors), texts);
}

}  // namespace detail

}  // namespace gated
