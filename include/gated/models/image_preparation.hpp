#pragma once

#include <algorithm>
#include <array>

#include "gated/core/matrix.hpp"
#include "gated/core/words.hpp"

/// @file
/// Options of image preparation.

namespace gated {

/// One value for all channels, or one each for red, green and blue: `PerChannel mean = 0.5`,
/// `PerChannel mean = {0.485, 0.456, 0.406}`.
class PerChannel {
 public:
  PerChannel(double all) : values_{all, all, all} {}
  PerChannel(double red, double green, double blue) : values_{red, green, blue} {}

  /// The value of a channel.
  double operator[](Index channel) const { return values_[static_cast<std::size_t>(std::min<Index>(channel, 2))]; }
  /// True if all channels have the same value.
  bool is_uniform() const { return values_[0] == values_[1] && values_[1] == values_[2]; }

  const double* begin() const { return values_.data(); }
  const double* end() const { return values_.data() + values_.size(); }
  friend bool operator==(const PerChannel&, const PerChannel&) = default;

 private:
  std::array<double, 3> values_;
};

/// Resampling filter for pictures, always with antialiasing.
enum class Interpolation {
  bicubic,  ///< Keys' kernel, four pixels wide
  bilinear  ///< a triangular kernel, two pixels wide
};

constexpr auto names_of(Interpolation) { return words_for<Interpolation>("bicubic", "bilinear"); }

}  // namespace gated
