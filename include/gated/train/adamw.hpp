#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/elementary.hpp"
#include "gated/core/parallel.hpp"
#include "gated/core/parameters.hpp"
#include "gated/core/path_pattern.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/kernel_calls.hpp"

/// @file
/// AdamW, the optimizer.

namespace gated {

constexpr auto names_of(Role) {
  return words_for<Role>("weight", "bias", "norm", "spatial", "position", "embedding", "memory", "constant");
}

/// Options for a group of parameters.
struct ParameterGroup {
  std::string path = {};            ///< "head" or "trunk.blocks.*.gate": all parameters at this path and below; "" selects all
  double learning_rate_factor = 1;  ///< multiplies the learning rate
  std::optional<double> weight_decay = {};  ///< replaces the optimizer's weight decay, for decayed_roles only
  bool frozen = false;                      ///< never updated

  template <class G = ParameterGroup>
  static constexpr auto fields() {
    return Fields(setting("path", &G::path), setting("learning_rate_factor", &G::learning_rate_factor),
                  setting("weight_decay", &G::weight_decay), setting("frozen", &G::frozen));
  }
};

/// The options of AdamW.
struct AdamWConfig {
  double learning_rate = 1e-3;  ///< η, or the highest rate of a schedule
  double beta1 = 0.9;           ///< β₁, decay rate of the gradient's moving average
  double beta2 = 0.999;         ///< β₂, decay rate of the squared gradient's moving average
  double eps = 1e-8;            ///< ε, added to the denominator
  double weight_decay = 0.01;   ///< λ; a step subtracts η λ p
  /// Roles with weight decay. The default excludes biases, norms, position tables and spatial weights.
  std::vector<Role> decayed_roles = {Role::weight, Role::embedding, Role::memory};
  std::vector<ParameterGroup> groups = {};  ///< a parameter belongs to the first group that matches its path, if any

  template <class C = AdamWConfig>
  static constexpr auto fields() {
    return Fields(setting("learning_rate", &C::learning_rate), setting("beta1", &C::beta1), setting("beta2", &C::beta2),
                  setting("eps", &C::eps), setting("weight_decay", &C::weight_decay),
                  setting("decayed_roles", &C::decayed_roles), setting("groups", &C::groups));
  }
};

namespace detail {

/// The options that apply to one parameter.
struct ParameterRule {
  double learning_rate_factor = 1;
  double weight_decay = 0;
  bool frozen = false;
};

/// True if `pattern` matches `path` or the path of an enclosing layer. "blocks.1" does not enclose "blocks.10.weight".
inline bool names_path(std::string_view pattern, std::string_view path) {
  return !pattern.ends_with('.') && match_pattern(pattern, path).has_value();
}

inline void check_adamw(const AdamWConfig& config) {
  const auto check = [](const std::string& name, double value, bool condition, const char* expected) {
    require<ArgumentError>(condition && std::isfinite(value), "AdamW: ", name, " is ", value, ", expected ", expected, ".");
  };
  check("learning_rate", config.learning_rate, config.learning_rate >= 0, "0 or more");
  check("beta1", config.beta1, config.beta1 >= 0 && config.beta1 < 1, "0 ≤ beta1 < 1");
  check("beta2", config.beta2, config.beta2 >= 0 && config.beta2 < 1, "0 ≤ beta2 < 1");
  check("eps", config.eps, config.eps >= double{std::numeric_limits<float>::min()},
        "at least 1.18e-38, the smallest normal float");
  check("weight_decay", config.weight_decay, config.weight_decay >= 0, "0 or more");
  for (const ParameterGroup& group : config.groups) {
    const double factor = group.learning_rate_factor;
    check(text("learning_rate_factor of group \"", group.path, "\""), factor, factor >= 0, "0 or more");
    const double decay = group.weight_decay.value_or(0);
    check(text("weight_decay of group \"", group.path, "\""), decay, decay >= 0, "0 or more");
  }
}

/// How a group is used. `named`: it matches a parameter. `won`: for some parameter, it is the first group that matches.
/// `decayed`: for some parameter whose role has weight decay, it is the first group that matches.
struct GroupUse {
  bool named = false, won = false, decayed = false;
};

/// Raises ArgumentError for groups without effect. `known` lists the first path components of all trained parameters.
inline void expect_used(const std::vector<ParameterGroup>& groups, const std::vector<GroupUse>& uses,
                        const std::string& known) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ParameterGroup& group = groups[i];
    require<ArgumentError>(uses[i].named, "AdamW: group \"", group.path,
                           "\" matches no trained parameter. Trained parameters' paths begin with ", known, ".");
    require<ArgumentError>(uses[i].won, "AdamW: group \"", group.path,
                           "\" has no effect: each of its parameters belongs to an earlier group. Put this group first.");
    require<ArgumentError>(
        uses[i].decayed || group.weight_decay.value_or(0) == 0, "AdamW: group \"", group.path,
        "\" sets weight_decay, but decayed_roles lists none of its parameters' roles. Add a role, or drop weight_decay.");
  }
}

/// One rule per parameter, in the order of for_each_parameter().
template <class Model>
std::vector<ParameterRule> resolve_groups(const AdamWConfig& config, const Model& model) {
  std::vector<GroupUse> uses(config.groups.size());
  std::vector<ParameterRule> rules;
  std::string known, last;  // first path components: all so far, and the latest one
  for_each_parameter(
      [&](const ParameterInfo& info, auto) {
        ParameterRule& rule = rules.emplace_back();
        if (info.role == Role::constant) {
          rule.frozen = true;
          return;
        }
        const std::string path = info.path();
        if (const std::string word = path.substr(0, path.find('.')); word != last) {
          known += (known.empty() ? "" : ", ") + word;
          last = word;
        }
        const auto& roles = config.decayed_roles;
        const bool decayed = std::find(roles.begin(), roles.end(), info.role) != roles.end();
        rule.weight_decay = decayed ? config.weight_decay : 0;
        bool taken = false;
        for (std::size_t i = 0; i < uses.size(); ++i) {
          const ParameterGroup& group = config.groups[i];
          if (!names_path(group.path, path)) {
            continue;
          }
          uses[i].named = true;
          if (!std::exchange(taken, true)) {
            uses[i].won = true;
            uses[i].decayed = uses[i].decayed || decayed;
            rule = {group.learning_rate_factor, decayed ? group.weight_decay.value_or(config.weight_decay) : 0, group.frozen};
          }
        }
      },
      model);
  expect_used(config.groups, uses, known);
  return rules;
}

}  // namespace detail

/// AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2), as PyTorch computes it.
///
///     p ← p - η λ p
///     m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
///     p ← p - η / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + ε)
///
/// with learning rate η, weight decay λ and update number t, counted from 1. λ applies to the roles in
/// AdamWConfig::decayed_roles; constants never change. The moments m and v have the model's type, and are saved and
/// loaded like a model. Arithmetic is in the model's scalar type; results are bit-equal for any thread count.
///
///     AdamW optimizer(model, {.weight_decay = 0.1, .groups = {{.path = "embedding", .learning_rate_factor = 0.1}}});
///     optimizer.update(model, gradient, 3e-4);
///
/// Errors: ArgumentError for invalid settings, for groups without effect, and for models of different structure. A failed call
/// changes nothing.
/// Cost: one pass over the model, the gradient and both moments; update() allocates nothing.
template <class Model>
struct AdamW {
  using Scalar = typename Model::Scalar;

  Model first;      ///< m: the moving average of the gradient
  Model second;     ///< v: the moving average of its square
  Index steps = 0;  ///< t: updates so far

  /// Starts with zero moments.
  /// Errors: ArgumentError for invalid options.
  explicit AdamW(const Model& model, AdamWConfig config = {}) : first(zeros_like(model)), second(first) {
    detail::check_adamw(config);
    rules_ = detail::resolve_groups(config, model);
    config_ = std::move(config);
  }

  static constexpr auto fields() { return Fields(field("first", &AdamW::first), field("second", &AdamW::second)); }

  const AdamWConfig& config() const { return config_; }

  /// One update of `model` with learning rate `rate`, for instance from a schedule.
  void update(Model& model, const Model& gradient, double rate, const Threads& threads = {}) {
    require<ArgumentError>(rate >= 0 && std::isfinite(rate), "AdamW::update: the learning rate is ", rate,
                           ", expected 0 or more.");
    for_each_parameter([](const ParameterInfo&, auto...) {}, model, gradient, first, second);  // raises before any change
    const detail::KernelChoice one_form_of_kernels;
    ++steps;
    const auto t = static_cast<double>(steps);
    const double correction1 = 1 - elementary::pow(config_.beta1, t);
    const double correction2 = 1 - elementary::pow(config_.beta2, t);
    auto rule = rules_.begin();
    for_each_parameter(
        [&](const ParameterInfo&, auto p, auto g, auto m, auto v) {
          const detail::ParameterRule& own = *rule++;
          if (own.frozen) {
            return;
          }
          const double eta = rate * own.learning_rate_factor;
          const AdamWFactors<Scalar> step{.decay = static_cast<Scalar>(1 - rounded(eta * own.weight_decay)),
                                          .beta1 = static_cast<Scalar>(config_.beta1),
                                          .new1 = static_cast<Scalar>(1 - config_.beta1),
                                          .beta2 = static_cast<Scalar>(config_.beta2),
                                          .new2 = static_cast<Scalar>(1 - config_.beta2),
                                          .size = static_cast<Scalar>(eta / correction1),
                                          .root = static_cast<Scalar>(1 / std::sqrt(correction2)),
                                          .eps = static_cast<Scalar>(config_.eps)};
          const auto count = static_cast<Index>(p.size());
          parallel_for(threads, (count + piece - 1) / piece, [&](Index task, Index) {
            const Index begin = task * piece;
            kernels<OptimizerKernels<Scalar>>().adamw_step(step, std::min(piece, count - begin), p.data() + begin,
                                                           g.data() + begin, m.data() + begin, v.data() + begin);
          });
        },
        model, gradient, first, second);
  }

  /// One update with the configuration's learning rate.
  void update(Model& model, const Model& gradient) { update(model, gradient, config_.learning_rate); }

  /// Zeroes the gradients of frozen parameters and constants, to keep them out of the gradient norm.
  void zero_frozen(Model& gradient) const {
    auto rule = rules_.begin();
    for_each_parameter(
        [&](const ParameterInfo&, auto g) {
          if ((rule++)->frozen) {
            std::fill(g.begin(), g.end(), Scalar{0});
          }
        },
        gradient);
  }

 private:
  static constexpr Index piece = 1 << 14;  // scalars per task: four such arrays fit a core's cache

  AdamWConfig config_;
  std::vector<detail::ParameterRule> rules_;
};

}  // namespace gated
