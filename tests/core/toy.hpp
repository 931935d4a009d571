#pragma once

#include <optional>
#include <vector>

#include "gated/core/parameters.hpp"

/// A toy model with every kind of field.

namespace gated::test {

struct ToyLinear {
  Matrix<float> weight;
  Vector<float> bias;  // may be absent

  ToyLinear(Index in, Index out, bool has_bias = true)
      : weight(Matrix<float>::Ones(out, in)), bias(Vector<float>::Ones(has_bias ? out : 0)) {}
  static constexpr auto fields() {
    return Fields(field("weight", &ToyLinear::weight, Role::weight), field("bias", &ToyLinear::bias, Role::bias));
  }
};

struct ToyBlock {
  ToyLinear proj;
  std::optional<ToyLinear> attention;

  static constexpr auto fields() { return Fields(field("proj", &ToyBlock::proj), field("attention", &ToyBlock::attention)); }
};

struct ToyModel {
  Matrix<float> patches = Matrix<float>::Ones(2, 12);  // convolution kernels
  std::vector<ToyBlock> blocks;
  std::optional<ToyLinear> head;

  Shape patches_shape() const { return {2, 3, 2, 2}; }
  static constexpr auto fields() {
    return Fields(field("patches.weight", &ToyModel::patches, Role::position, &ToyModel::patches_shape),
                  field("blocks", &ToyModel::blocks), field("head", &ToyModel::head));
  }
};

/// Two blocks, the second with attention, and a head without a bias.
inline ToyModel toy_model() {
  ToyModel model;
  model.blocks.push_back({ToyLinear(2, 3), std::nullopt});
  model.blocks.push_back({ToyLinear(2, 3), ToyLinear(4, 1)});
  model.head.emplace(2, 5, false);
  return model;
}

}  // namespace gated::test
