#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "gated/core/parameters.hpp"

/// @file
/// Where the gradient of each parameter goes.

namespace gated {

/// The numbers of a gradient, which is a model, by the addresses of the parameters to which they belong.
template <class T>
class ParameterGradients {
 public:
  /// Of `model`, whose gradient is `gradient`.
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

  /// Forgets all.
  void clear() {
    pairs_.clear();
    reached_ = false;
  }

  /// True if a gradient was asked for since assign(), or there is none.
  bool reached() const { return reached_ || pairs_.empty(); }

  /// The gradient of the parameter at this address; nullptr for one that is not trained.
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
  std::vector<Pair> pairs_;  // by address of the value
  bool reached_ = false;
};

}  // namespace gated
