#pragma once

#include <cmath>
#include <string>

#include "gated/core/weight_format.hpp"
#include "gated/io/safetensors.hpp"

/// @file
/// Weights in a quantized format, as safetensors files hold them.
///
/// A weight in bf16 is a tensor of BF16. One in int8 is a tensor of I8 in the weight's shape, called as the weight, and beside
/// it one of F32 with `.scale` after its name, rows × groups: number (row, column) of the weight is
///
///     float(name[row, column]) · name.scale[row, group]
///
/// where a weight of more than two dimensions has its first as rows and the others as columns. There is one group per row, or
/// groups of 32 columns, of which the last may be shorter.

namespace gated {

namespace detail {

/// What the scales of the tensor `name` are called.
inline std::string scale_name(std::string_view name) { return std::string(name) + ".scale"; }

/// The format of I8 with as many scales per row.
inline WeightFormat format_of_scales(Index scales, Index columns) {
  return scales == scales_per_row(WeightFormat::int8, columns) ? WeightFormat::int8 : WeightFormat::int8_rows;
}

/// Why the tensor `name` of I8 is no weight: "I8 without a tensor of scales x.scale"; empty if it is one.
inline std::string fault_of_codes(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.tensor(name);
  const std::string other = scale_name(name);
  const auto found = file.tensors().find(other);
  if (entry.shape.size() < 2 || found == file.tensors().end()) {
    return text("I8 without a tensor of scales ", printable(other));
  }
  const TensorEntry& scales = found->second;
  const Index rows = entry.shape[0], columns = rows == 0 ? 0 : static_cast<Index>(entry.count()) / rows;
  const Index groups = scales_per_row(WeightFormat::int8, columns), whole = scales_per_row(WeightFormat::int8_rows, columns);
  if (scales.dtype != Dtype::F32 ||
      (scales.shape != std::vector<Index>{rows, groups} && scales.shape != std::vector<Index>{rows, whole})) {
    const std::string other_form = groups == whole ? "" : " or " + describe_shape(std::vector<Index>{rows, whole});
    return text("I8 with scales ", name_of(scales.dtype), " ", describe_shape(scales.shape), ", expected F32 ",
                describe_shape(std::vector<Index>{rows, groups}), other_form);
  }
  for (const float scale : file.read<float>(other)) {
    if (!std::isfinite(scale * 128)) {
      return text("I8 with a scale of ", scale);
    }
  }
  return {};
}

/// The codes of part number `part` of `parts` of the tensor `name`, which is BF16, or I8 that fault_of_codes() has passed. They
/// refer to the file's bytes.
inline WeightCodes codes_in(const SafetensorsFile& file, const std::string& name, Index part = 0, Index parts = 1) {
  const TensorEntry& entry = file.tensor(name);
  const Index rows = entry.shape[0] / parts, columns = rows == 0 ? 0 : static_cast<Index>(entry.count()) / entry.shape[0];
  const auto section = [part, parts](std::span<const std::byte> bytes) {
    return bytes.data() + static_cast<Index>(bytes.size()) / parts * part;
  };
  WeightCodes codes{WeightFormat::bf16, rows, columns, section(entry.bytes), nullptr};
  if (entry.dtype == Dtype::I8) {
    const TensorEntry& scales = file.tensor(scale_name(name));
    codes.format = format_of_scales(scales.shape[1], columns);
    codes.scales = section(scales.bytes);
  }
  return codes;
}

}  // namespace detail

}  // namespace gated
