#pragma once

#include <vector>

#include "gated/core/parameter_budget.hpp"
#include "gated/models/gmlp.hpp"
#include "tests/layers/literal.hpp"

/// Configurations of small gMLPs, and helpers, for the tests of all models.

namespace gated::test {

inline constexpr Index small_length = 12, small_channels = 10;

/// Configurations of two blocks. Each changes one option of the first configuration; the last changes many at once.
inline std::vector<GmlpConfig> small_gmlps(bool causal) {
  const GmlpConfig plain{.length = small_length, .channels = small_channels, .hidden = 24, .depth = 2, .causal = causal};
  std::vector<GmlpConfig> configs(7, plain);
  configs[1].spatial = SpatialForm::toeplitz;
  configs[2].spatial = SpatialForm::scaled_toeplitz;
  configs[3].heads = 4;
  configs[4].attention_width = 5;
  configs[5].token_shift = 2;
  configs[6].spatial = SpatialForm::toeplitz;
  configs[6].gate = GateForm::additive;
  configs[6].heads = 3;
  configs[6].attention_width = 5;
  configs[6].attention_bias = true;
  configs[6].token_shift = 1;
  configs[6].norm_position = NormPosition::post;
  configs[6].gate_activation = Activation::tanh;
  return configs;
}

/// Describes a configuration in the messages of failed tests.
inline std::string describe(const GmlpConfig& c) {
  return text(name_of(c.spatial), ", ", name_of(c.gate), ", heads ", c.heads, ", attention ", c.attention_width, ", shift ",
              c.token_shift, ", norm ", name_of(c.norm_position), c.causal ? ", causal" : "");
}

/// A model with random parameters far from their initial values, so that every term of its formula has an effect.
template <class Model>
Model random_model(const typename Model::Config& config, std::uint64_t seed = 1) {
  Model model(config);
  randomize(model, seed);
  return model;
}

/// Number of elements in all parameters of `model`.
template <class Model>
Index counted_values(const Model& model) {
  Index count = 0;
  for_each_parameter([&](const ParameterInfo&, auto values) { count += static_cast<Index>(values.size()); }, model);
  return count;
}

/// Checks that building a model charges the ParameterBudget for about as many values as the model has: building succeeds with
/// a budget of twice that number, and fails with a quarter of it. Biases are not charged.
template <class Model>
void expect_fair_spending(const typename Model::Config& config) {
  const Index values = counted_values(Model(config));
  const auto build = [&](Index most) {
    const ParameterBudget budget(most, "too many values");
    Model model(config);
  };
  EXPECT_NO_THROW(build(2 * values)) << values << " values";
  if (values > 0) {
    EXPECT_EQ(message_of<FileError>([&] { build(values / 4); }), "too many values") << values << " values";
  }
}

/// A matrix of equal sentinels: is_sentinel() detects any write to it.
template <class T>
Matrix<T> sentinel(Index rows, Index columns) {
  return Matrix<T>::Constant(rows, columns, 77);
}
template <class T>
bool is_sentinel(const Matrix<T>& x) {
  return (x.array() == 77).all();
}

}  // namespace gated::test
