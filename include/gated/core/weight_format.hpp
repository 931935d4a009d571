#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/parameters.hpp"
#include "gated/core/settings.hpp"

/// @file
/// Quantized weights: formats that take a half to a quarter of a float's memory.
///
/// A format determines the values that a weight can have, not how products are computed. Without an engine such as
/// int8_products(), results are bit-equal to those of a float weight with the decoded values.

namespace gated {

/// The storage format of a model's large weights.
enum class WeightFormat {
  float32,   ///< unchanged
  bf16,      ///< the upper half of a float, rounded to nearest even: 16 bits
  int8,      ///< q · s with an integer |q| ≤ 127 and a float s per 32 columns of a row: 9 bits per weight, 10 when packed
  int8_rows  ///< the same with one s per row: just over 8 bits per weight; the fastest with int8_products()
};

constexpr auto names_of(WeightFormat) { return words_for<WeightFormat>("float32", "bf16", "int8", "int8-rows"); }

/// True for parameters that can be quantized: projections and embeddings. Biases, norms, positions, spatial weights and
/// memories stay in float.
inline bool may_be_quantized(const ParameterInfo& info) {
  return (info.role == Role::weight || info.role == Role::embedding) && info.shape.rank() >= 2;
}

/// Bytes per code, the encoded form of a value.
constexpr Index code_bytes(WeightFormat format) {
  return format == WeightFormat::float32 ? 4 : format == WeightFormat::bf16 ? 2 : 1;
}

/// Number of columns that share a scale, in a row of `columns` columns.
constexpr Index group_size(WeightFormat format, Index columns) {
  return format == WeightFormat::int8 ? std::min<Index>(32, columns) : columns;
}

/// Number of scales in a row of `columns` columns.
constexpr Index scales_per_row(WeightFormat format, Index columns) {
  return format == WeightFormat::int8        ? (columns + 31) / 32
         : format == WeightFormat::int8_rows ? std::min<Index>(1, columns)
                                             : 0;
}

/// Decodes a value; reads `scale` only if the format has scales.
inline float decode(WeightFormat format, const std::byte* code, const float* scale) {
  if (format == WeightFormat::bf16) {
    std::uint16_t bits;
    std::memcpy(&bits, code, sizeof(bits));
    return Eigen::numext::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  return *scale * static_cast<float>(static_cast<std::int8_t>(*code));
}

/// A non-owning view of a quantized rows × columns weight: row-major, with any alignment.
struct WeightCodes {
  WeightFormat format = WeightFormat::bf16;
  Index rows = 0, columns = 0;
  const std::byte* codes = nullptr;
  const std::byte* scales = nullptr;  ///< rows × scales_per_row() floats, or nullptr

  float scale(Index row, Index group) const {
    float s;
    std::memcpy(&s, scales + (row * scales_per_row(format, columns) + group) * Index{sizeof(s)}, sizeof(s));
    return s;
  }
  /// The sum of the codes in a group of columns that share a scale.
  std::int32_t sum(Index row, Index group) const {
    const Index size = group_size(format, columns), first = group * size;
    std::int32_t sum = 0;
    for (Index column = first; column < std::min(first + size, columns); ++column) {
      sum += static_cast<std::int8_t>(codes[row * columns + column]);
    }
    return sum;
  }
  /// Decodes one value.
  float operator()(Index row, Index column) const {
    const std::byte* const code = codes + (row * columns + column) * code_bytes(format);
    const float s = scales == nullptr ? 0 : scale(row, column / group_size(format, columns));
    return decode(format, code, &s);
  }
  /// Decodes all values, row-major.
  template <class T>
  void read(std::span<T> to) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<T>((*this)(static_cast<Index>(i) / columns, static_cast<Index>(i) % columns));
    }
  }
};

/// Some rows of a weight, packed for matmul into the 32-bit words that dot-product instructions read. A word holds the codes of
/// one row for two columns (bf16) or four (int8). The words of all rows for the same columns are adjacent.
struct QuantizedPanel {
  WeightFormat format;
  Index group;               ///< number of columns that share a scale
  const float* scales;       ///< scales of all rows for the first group, then for the second group, …
  const std::int32_t* sums;  ///< sums of the codes that share a scale, in the order of `scales`; int8 only
  const std::byte* codes;

  /// Number of readable bytes required after the last panel: AMX reads whole tiles of 16 words per row.
  static constexpr Index read_past = 2048;
  /// Size of a word in bytes.
  static constexpr Index word = 4;
  /// Number of columns in a word.
  static constexpr Index columns_of_word(WeightFormat format) { return word / code_bytes(format); }
  /// Byte offset of a code in a panel of `rows` rows.
  static constexpr Index place(WeightFormat format, Index rows, Index row, Index column) {
    const Index together = columns_of_word(format);
    return word * (column / together * rows + row) + code_bytes(format) * (column % together);
  }
  /// Size of a panel's codes in bytes.
  static constexpr Index bytes(WeightFormat format, Index rows, Index columns) {
    const Index together = columns_of_word(format);
    return (columns + together - 1) / together * rows * word;
  }
};

/// A quantized weight that owns its memory.
class EncodedWeight {
 public:
  /// Quantizes with rounding to nearest even. For int8, s = max|x| / 127 over a group, and q = x / s, rounded. Returns nullopt
  /// if a value is not finite, or too large for the format.
  static std::optional<EncodedWeight> of(const float* weight, Index rows, Index columns, WeightFormat format) {
    EncodedWeight result(rows, columns, format);
    return result.encode(weight) ? std::optional(std::move(result)) : std::nullopt;
  }

  WeightCodes codes() const { return {format_, rows_, columns_, codes_.data(), std::as_bytes(std::span(scales_)).data()}; }
  std::span<const std::byte> bytes() const { return codes_; }
  const std::vector<float>& scales() const { return scales_; }

 private:
  EncodedWeight(Index rows, Index columns, WeightFormat format)
      : format_(format),
        rows_(rows),
        columns_(columns),
        codes_(static_cast<std::size_t>(rows * columns * code_bytes(format))),
        scales_(static_cast<std::size_t>(rows * scales_per_row(format, columns))) {}

  bool encode(const float* weight) {
    if (format_ == WeightFormat::bf16) {
      for (Index i = 0; i < rows_ * columns_; ++i) {
        const auto rounded = static_cast<Eigen::bfloat16>(weight[i]);
        if (!std::isfinite(static_cast<float>(rounded))) {
          return false;
        }
        std::memcpy(codes_.data() + 2 * i, &rounded, 2);
      }
      return true;
    }
    const Index group = group_size(format_, columns_);
    float* scale = scales_.data();
    for (Index row = 0; row < rows_; ++row) {
      for (Index first = 0; first < columns_; first += group, ++scale) {
        const Index at = row * columns_ + first;
        if (!encode_group(weight + at, std::min(group, columns_ - first), *scale, codes_.data() + at)) {
          return false;
        }
      }
    }
    return true;
  }

  static bool encode_group(const float* x, Index count, float& scale, std::byte* codes) {
    float largest = 0;
    for (Index i = 0; i < count; ++i) {
      if (!std::isfinite(x[i])) {
        return false;
      }
      largest = std::max(largest, std::abs(x[i]));
    }
    scale = largest / 127;
    if (!std::isfinite(scale * 127)) {
      return false;
    }
    for (Index i = 0; i < count; ++i) {
      const float q = scale == 0 ? 0 : std::clamp(std::nearbyint(x[i] / scale), -127.0f, 127.0f);
      codes[i] = static_cast<std::byte>(static_cast<std::int8_t>(q));
    }
    return true;
  }

  WeightFormat format_;
  Index rows_, columns_;
  std::vector<std::byte> codes_;
  std::vector<float> scales_;
};

namespace detail {

/// Raises ArgumentError for a quantized format if T is not float.
template <class T>
void expect_format(Where where, WeightFormat format) {
  require<ArgumentError>(format == WeightFormat::float32 || sizeof(T) == sizeof(float), where, ": weights in ", name_of(format),
                         " need a model in float, not double.");
}

/// Quantizes a parameter.
/// Errors: ArgumentError for a value that is not finite, or too large for the format.
inline EncodedWeight encoded(Where where, const ParameterInfo& info, std::span<const float> values, WeightFormat format) {
  const Index rows = info.shape[0];
  auto result = EncodedWeight::of(values.data(), rows, static_cast<Index>(values.size()) / rows, format);
  require<ArgumentError>(result.has_value(), where, ": ", info.path(), " holds values that are not finite, or too large for ",
                         name_of(format), ". Load or initialize the weights first; if they are set, use float32.");
  return std::move(*result);
}

}  // namespace detail

}  // namespace gated
