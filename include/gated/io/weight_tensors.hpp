#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "gated/core/weight_format.hpp"
#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"

/// @file
/// Quantized weights in safetensors files.
///
/// A bf16 weight is a BF16 tensor. An int8 weight is two tensors: an I8 tensor `name` with the weight's name and shape, and an
/// F32 tensor `name.scale` of rows × groups scales. Element (row, column) of the weight is
///
///     float(name[row, column]) · name.scale[row, group]
///
/// where rows are the first dimension and columns all others. A group is a whole row, or 32 columns of a row; the last group of
/// a row may be shorter.

namespace gated {

namespace detail {

/// The name of the scales of tensor `name`.
inline std::string scale_name(std::string_view name) { return std::string(name) + ".scale"; }

/// The int8 format that has `scales` scales per row of `columns` columns.
inline WeightFormat format_of_scales(Index scales, Index columns) {
  return scales == scales_per_row(WeightFormat::int8, columns) ? WeightFormat::int8 : WeightFormat::int8_rows;
}

/// Why the I8 tensor `name` is not a valid weight, such as "I8 without the scale tensor x.scale"; empty if it is valid.
inline std::string fault_of_codes(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.tensor(name);
  const std::string other = scale_name(name);
  const auto found = file.tensors().find(other);
  if (entry.shape.size() < 2 || found == file.tensors().end()) {
    return text("I8 without the scale tensor ", printable(other));
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

/// A view of the codes of tensor `name` in the file, limited to the rows of `part`. Expects a BF16 tensor, or an I8 tensor that
/// has passed fault_of_codes().
inline WeightCodes codes_in(const SafetensorsFile& file, const std::string& name, const FileTensor& part) {
  const TensorEntry& entry = file.tensor(name);
  const Index all = entry.shape[0], rows = part.is_part() ? part.rows : all,
              columns = all == 0 ? 0 : static_cast<Index>(entry.count()) / all;
  const auto section = [&](std::span<const std::byte> bytes) { return part.part_of(bytes).data(); };
  WeightCodes codes{WeightFormat::bf16, rows, columns, section(entry.bytes), nullptr};
  if (entry.dtype == Dtype::I8) {
    const TensorEntry& scales = file.tensor(scale_name(name));
    codes.format = format_of_scales(scales.shape[1], columns);
    codes.scales = section(scales.bytes);
  }
  return codes;
}

/// True if `parts`, stacked by rows, form a whole weight of this shape. Always true for a single part.
inline bool are_rows(const std::vector<FileTensor>& parts, const Shape& shape) {
  Index rows = 0;
  for (const FileTensor& part : parts) {
    rows += part.is_part() ? part.rows : part.shape[0];
  }
  return parts.size() == 1 || rows == shape[0];
}

/// A copy of a weight's codes, gathered from rows of several tensors.
class GatheredCodes {
 public:
  /// Appends `rows`. Returns false if their format or number of columns differs from that of earlier rows.
  bool append(const WeightCodes& rows) {
    if (rows_ > 0 && (rows.format != format_ || rows.columns != columns_)) {
      return false;
    }
    codes_.insert(codes_.end(), rows.codes, rows.codes + rows.rows * rows.columns * code_bytes(rows.format));
    if (rows.scales != nullptr) {
      const Index count = rows.rows * scales_per_row(rows.format, rows.columns);
      scales_.insert(scales_.end(), rows.scales, rows.scales + count * Index{sizeof(float)});
    }
    format_ = rows.format;
    columns_ = rows.columns;
    rows_ += rows.rows;
    return true;
  }

  WeightCodes view() const { return {format_, rows_, columns_, codes_.data(), scales_.empty() ? nullptr : scales_.data()}; }

 private:
  WeightFormat format_ = WeightFormat::int8;
  Index rows_ = 0, columns_ = 0;
  std::vector<std::byte> codes_, scales_;
};

}  // namespace detail

}  // namespace gated
