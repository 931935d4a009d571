#pragma once

#include <array>
#include <charconv>
#include <cstring>

#include "gated/core/matrix_view.hpp"
#include "gated/core/weight_format.hpp"
#include "gated/io/safetensors_view.hpp"

/// @file
/// Weights read in place from a safetensors file in memory, without a heap.

namespace gated::detail {

/// The name of a tensor, in an array of fixed size.
class TensorName {
 public:
  TensorName(const char* start) { append(start); }

  TensorName& append(std::string_view part) {
    require<ArgumentError>(part.size() <= text_.size() - size_, "TensorName: a name has more than ", text_.size(), " bytes.");
    std::memcpy(text_.data() + size_, part.data(), part.size());
    size_ += part.size();
    return *this;
  }
  TensorName& append(Index number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return append({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  TensorName operator+(std::string_view part) const {
    TensorName longer = *this;
    longer.append(part);
    return longer;
  }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 96> text_{};
  std::size_t size_ = 0;
};

/// A rows × columns weight in a file: F32, BF16, or I8 with scales (io/weight_tensors.hpp). The file's bytes must outlive the
/// weight.
/// Cost: every access decodes its value anew.
class WeightInFile {
 public:
  WeightInFile() = default;
  /// Errors: FileError if the tensor is missing or has a different size or an unsupported dtype.
  WeightInFile(const SafetensorsView& file, const TensorName& name, Index rows, Index columns) {
    const TensorView found = file.find(name.text());
    require<FileError>(found && Count(found.rows) * found.columns == Count(rows) * columns, name.text(), ": the file has ",
                       found ? found.rows : 0, " × ", found ? found.columns : 0, " values, expected ", rows, " × ", columns,
                       ". Open it with the configuration that it was written with.");
    const bool is_i8 = found.dtype == Dtype::I8;
    require<FileError>(is_i8 || found.dtype == Dtype::F32 || found.dtype == Dtype::BF16, name.text(), ": the dtype is ",
                       name_of(found.dtype), ", expected F32, BF16 or I8.");
    is_float_ = found.dtype == Dtype::F32;
    codes_ = {is_i8 ? WeightFormat::int8 : WeightFormat::bf16, rows, columns, found.bytes.data(), nullptr};
    if (is_i8) {
      const TensorView scales = file.find((name + ".scale").text());
      const Index groups = scales_per_row(WeightFormat::int8, columns);
      require<FileError>(scales && scales.dtype == Dtype::F32 && scales.rows == rows && found.rows == rows &&
                             (scales.columns == groups || scales.columns == 1),
                         name.text(), ": I8 with scales of ", scales.rows, " × ", scales.columns, ", expected F32 of ", rows,
                         " × ", groups, " or ", rows, " × 1.");
      codes_.format = scales.columns == groups ? WeightFormat::int8 : WeightFormat::int8_rows;
      codes_.scales = scales.bytes.data();
    }
  }

  Index rows() const { return codes_.rows; }
  Index columns() const { return codes_.columns; }

  float operator()(Index row, Index column) const {
    if (!is_float_) {
      return codes_(row, column);
    }
    float value;
    std::memcpy(&value, codes_.codes + (row * columns() + column) * Index{sizeof(value)}, sizeof(value));
    return value;
  }

  /// Decodes rows `first` … first + to.rows() - 1 of the weight into `to`.
  void read(Index first, const MatrixView<float>& to) const {
    for (Index i = 0; i < to.rows(); ++i) {
      for (Index j = 0; j < columns(); ++j) {
        to.data[i * to.stride + j] = (*this)(first + i, j);
      }
    }
  }
  /// Decodes all values.
  void read(float* to) const { read(0, {to, rows(), columns(), columns()}); }

 private:
  bool is_float_ = true;
  WeightCodes codes_;
};

}  // namespace gated::detail
