#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "gated/core/error.hpp"
#include "gated/core/matrix.hpp"

namespace gated {

/// "[256, 196]"
inline std::string describe_shape(std::span<const Index> shape) {
  std::string out = "[";
  for (const Index size : shape) {
    out += out.size() > 1 ? text(", ", size) : text(size);
  }
  return out + "]";
}

/// The shape of a tensor in a checkpoint, with at most four dimensions. In memory a parameter is a matrix or a vector.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Index> sizes) : rank_(sizes.size()) {
    require<ArgumentError>(rank_ <= sizes_.size(), "Shape: ", rank_, " dimensions, expected at most ", sizes_.size(), ".");
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  }

  std::size_t rank() const { return rank_; }
  Index operator[](std::size_t i) const { return sizes_[i]; }
  const Index* begin() const { return sizes_.data(); }
  const Index* end() const { return sizes_.data() + rank_; }

  /// The number of elements: the product of the sizes, 1 for a scalar.
  Index count() const {
    Index product = 1;
    for (const Index size : *this) {
      product *= size;
    }
    return product;
  }

  /// "[256, 196]"
  std::string describe() const { return describe_shape({begin(), end()}); }

  friend bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::array<Index, 4> sizes_{};
  std::size_t rank_ = 0;
};

}  // namespace gated
