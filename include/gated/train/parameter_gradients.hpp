#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "gated/core/parameters.hpp"

/// @file
/// The map from parameters to gradients.

namespace gated {

/// Maps the address of a parameter to its gradient. The gradients of a model are stored in an object of the model's type.
template <class T>
class ParameterGradients {
 public:
  /// Maps the parameters of `model` to those of `gradient`.
  /// Errors: ArgumentError if the two differ in structure.
  template <class Model>
  void assign(const Model& model, Model& gradient) {
    clear();
    for_each_parameter(
        [&](const ParameterInfo& info, auto values, auto gradients) {
          if (info.role != Role::constant) {
            pairs_.push_back({values.data(), gradients.data()});
          }
        },
        model, gradient);
    std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return std::less<>{}(a.value, b.value); });
  }

  /// Empties the map.
  void clear() {
    pairs_.clear();
    reached_ = false;
  }

  /// True if find() has found a gradient since assign(), or if the map is empty.
  bool reached() const { return reached_ || pairs_.empty(); }

  /// The gradient of the parameter at this address; nullptr if the parameter is not trained.
  T* find(const T* parameter) {
    const auto found = std::lower_bound(pairs_.begin(), pairs_.end(), parameter,
                                        [](const Pair& p, const T* wanted) { return std::less<>{}(p.value, wanted); });
    if (parameter == nullptr || found == pairs_.end() || found->value != parameter) {
      return nullptr;
    }
    reached_ = true;
    return found->gradient;
  }

 private:
  struct Pair {
    const T* value;
    T* gradient;
  };
  std::vector<Pair> pairs_;  // sorted by `value`
  bool reached_ = false;
};

}  // namespace gated
