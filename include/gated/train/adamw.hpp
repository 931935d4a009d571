#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/parallel.hpp"
#include "gated/core/parameters.hpp"
#include "gated/core/path_pattern.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/kernel_calls.hpp"

/// @file
/// The optimiser.

namespace gated {

constexpr auto names_of(Role) {
  return words_for<Role>("weight", "bias", "norm", "spatial", "position", "embedding", "memory", "constant");
}

/// What is different for some parameters.
struct ParameterGroup {
  std::string path = {};            ///< "head" or "trunk.blocks.*.gate": the parameters or layers of this path; "" is all
  double learning_rate_factor = 1;  ///< multiplies the learning rate
  std::optional<double> weight_decay = {};  ///< instead of the optimiser's, for the same roles
  bool frozen = false;                      ///< these parameters do not change

  template <class G = ParameterGroup>
  static constexpr auto fields() {
    return std::tuple{setting("path", &G::path), setting("learning_rate_factor", &G::learning_rate_factor),
                      setting("weight_decay", &G::weight_decay), setting("frozen", &G::frozen)};
  }
};

/// The options of AdamW.
struct AdamWConfig {
  double learning_rate = 1e-3;  ///< of a step; the highest, where a schedule moves it
  double beta1 = 0.9;           ///< β₁, decay of the mean gradient
  double beta2 = 0.999;         ///< β₂, decay of the mean squared gradient
  double eps = 1e-8;            ///< ε, added to the root of the mean square
  double weight_decay = 0.01;   ///< λ; a step takes learning rate · λ of a parameter away
  /// Where weight decay applies. By default not to biases and norms, nor to what places tokens: position tables, spatial
  /// weights.
  std::vector<Role> decayed_roles = {Role::weight, Role::embedding, Role::memory};
  std::vector<ParameterGroup> groups = {};  ///< a parameter belongs to the first that has its path, or to none

  template <class C = AdamWConfig>
  static constexpr auto fields() {
    return std::tuple(setting("learning_rate", &C::learning_rate), setting("beta1", &C::beta1), setting("beta2", &C::beta2),
                      setting("eps", &C::eps), setting("weight_decay", &C::weight_decay),
                      setting("decayed_roles", &C::decayed_roles), setting("groups", &C::groups));
  }
};

namespace detail {

/// What the configuration comes to for one parameter.
struct ParameterRule {
  double learning_rate_factor = 1;
  double weight_decay = 0;
  bool frozen = false;
};

/// Whether `pattern` names `path` or a layer around it; "blocks.1" is no layer around "blocks.10.weight".
inline bool names_path(std::string_view pattern, std::string_view path) {
  return !pattern.ends_with('.') && match_pattern(pattern, path).has_value();
}

inline void check_adamw(const AdamWConfig& config) {
  const auto check = [](const std::string& name, double value, bool condition, const char* expected) {
    require<ArgumentError>(condition && std::isfinite(value), "AdamW: ", name, " is ", value, ", expected ", expected, ".");
  };
  check("learning_rate", config.learning_rate, config.learning_rate >= 0, "0 or more");
  check("beta1", config.beta1, config.beta1 >= 0 && config.beta1 < 1, "a number from 0 to below 1");
  check("beta2", config.beta2, config.beta2 >= 0 && config.beta2 < 1, "a number from 0 to below 1");
  check("eps", config.eps, config.eps >= double{std::numeric_limits<float>::min()}, "a number above 0 that a float can hold");
  check("weight_decay", config.weight_decay, config.weight_decay >= 0, "0 or more");
  for (const ParameterGroup& group : config.groups) {
    const double factor = group.learning_rate_factor;
    check(text("learning_rate_factor of group \"", group.path, "\""), factor, factor >= 0, "0 or more");
    const double decay = group.weight_decay.value_or(0);
    check(text("weight_decay of group \"", group.path, "\""), decay, decay >= 0, "0 or more");
  }
}

/// What became of a group: whether it names a parameter, is the first to name one, and one that decays.
struct GroupUse {
  bool named = false, won = false, decayed = false;
};

/// Raises ArgumentError for groups without effect; `known` are the first words of all paths.
inline void expect_used(const std::vector<ParameterGroup>& groups, const std::vector<GroupUse>& uses,
                        const std::string& known) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ParameterGroup& group = groups[i];
    require<ArgumentError>(uses[i].named, "AdamW: group \"", group.path,
                           "\" names no parameter that is trained; their paths begin with ", known, ".");
    require<ArgumentError>(uses[i].won, "AdamW: group \"", group.path,
                           "\" comes too late: each of its parameters belongs to an earlier group.");
    require<ArgumentError>(uses[i].decayed || group.weight_decay.value_or(0) == 0, "AdamW: group \"", group.path,
                           "\" asks for weight decay, but decayed_roles lists the role of none of its parameters.");
  }
}

/// One rule for each parameter, in the order of for_each_parameter().
template <class Model>
std::vector<ParameterRule> resolve_groups(const AdamWConfig& config, const Model& model) {
  std::vector<GroupUse> uses(config.groups.size());
  std::vector<ParameterRule> rules;
  std::string known, last;  // the first words of all paths
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
///     p ← p - η / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + eps)
///
/// with the learning rate η, the weight decay λ and the number of updates t, this one included. λ applies to the roles in
/// AdamWConfig::decayed_roles; constants never change. The moments m and v are models, so that they are saved and loaded like
/// one. Arithmetic is in the model's scalar, and the same bits for any thread count.
///
///     AdamW optimizer(model, {.weight_decay = 0.1, .groups = {{.path = "embedding", .learning_rate_factor = 0.1}}});
///     optimizer.update(model, gradient, 3e-4);
///
/// Errors: ArgumentError for settings that make no sense, groups that name no parameter or only parameters of earlier groups,
/// and models of another structure; nothing is changed then.
/// Cost: one pass over four models; no allocation in update().
template <class Model>
struct AdamW {
  using Scalar = typename Model::Scalar;

  Model first;      ///< m: the moving average of the gradient
  Model second;     ///< v: the moving average of its square
  Index steps = 0;  ///< t: updates so far

  /// Moments of zero.
  /// Errors: ArgumentError for options that make no sense.
  explicit AdamW(const Model& model, AdamWConfig config = {}) : first(zeros_like(model)), second(first) {
    detail::check_adamw(config);
    rules_ = detail::resolve_groups(config, model);
    config_ = std::move(config);
  }

  static constexpr auto fields() { return std::tuple{field("first", &AdamW::first), field("second", &AdamW::second)}; }

  const AdamWConfig& config() const { return config_; }

  /// One update of `model` with the learning rate `rate`, which a schedule gives.
  void update(Model& model, const Model& gradient, double rate, const Threads& threads = {}) {
    require<ArgumentError>(rate >= 0 && std::isfinite(rate), "AdamW::update: the learning rate is ", rate,
                           ", expected 0 or more.");
    for_each_parameter([](const ParameterInfo&, auto...) {}, model, gradient, first, second);  // all fit, or nothing changes
    ++steps;
    const auto t = static_cast<double>(steps);
    const double correction1 = 1 - std::pow(config_.beta1, t);
    const double correction2 = 1 - std::pow(config_.beta2, t);
    auto rule = rules_.begin();
    for_each_parameter(
        [&](const ParameterInfo&, auto p, auto g, auto m, auto v) {
          const detail::ParameterRule& own = *rule++;
          if (own.frozen) {
            return;
          }
          const double eta = rate * own.learning_rate_factor;
          const AdamWFactors<Scalar> step{.kept = static_cast<Scalar>(1 - eta * own.weight_decay),
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

  /// Sets the gradient of what does not change to zero, so that it does not count in the norm.
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
  static constexpr Index piece = 1 << 14;  // scalars that one task takes: four such arrays fit a core's cache

  AdamWConfig config_;
  std::vector<detail::ParameterRule> rules_;
};

}  // namespace gated
