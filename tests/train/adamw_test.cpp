#include "gated/train/adamw.hpp"

#include <gtest/gtest.h>

#include <map>
#include <span>

#include "tests/core/numbers.hpp"
#include "tests/core/toy.hpp"
#include "tests/train/adamw_reference.hpp"
#include "tests/train/kinds.hpp"

namespace gated::adamw_test {
namespace {

using test::Kinds;
using test::message_of;

/// The largest |got - expected| / max(|expected|, 1e-3) over all parameters except the constant. Removes the compared values
/// from the start of `expected`.
template <class T>
double largest_error(const Kinds<T>& got, std::span<const T>& expected) {
  double largest = 0;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (info.role == Role::constant) {
          return;
        }
        for (const T value : values) {
          const auto wanted = static_cast<double>(expected[0]);
          const double error = std::fabs(static_cast<double>(value) - wanted) / std::max(std::fabs(wanted), 1e-3);
          largest = std::max(largest, error);
          expected = expected.subspan(1);
        }
      },
      got);
  return largest;
}

/// Repeats the ten steps of adamw_reference.py. `prepare` may change each gradient before its step.
template <class T, class Prepare>
void expect_like_torch(const char* name, const AdamWConfig& config, std::span<const T> expected, Prepare&& prepare) {
  Kinds<T> model = test::reference_start<T>();
  const Kinds<T> start = model;
  AdamW<Kinds<T>> optimizer(model, config);
  double error = 0;
  for (Index step = 0; step < 10; ++step) {
    Kinds<T> gradient = test::reference_gradient<T>(step);
    prepare(optimizer, gradient, step);
    optimizer.update(model, gradient, 0.03 / static_cast<double>(1 + step));
    if (step == 0 || step == 1 || step == 9) {
      error = std::max(error, largest_error(model, expected));
    }
  }
  EXPECT_EQ(optimizer.steps, 10);
  error = std::max(error, largest_error(optimizer.first, expected));
  error = std::max(error, largest_error(optimizer.second, expected));
  EXPECT_TRUE(expected.empty());
  EXPECT_LE(error, sizeof(T) == 4 ? 1e-6 : 1e-13) << name;
  ::testing::Test::RecordProperty(std::string(name) + (sizeof(T) == 4 ? "_float" : "_double"), text(error));
  EXPECT_TRUE(test::same_bits(model.constant, start.constant)) << "constants must not change";
}

template <class T>
void expect_like_torch(const char* name, const AdamWConfig& config, std::span<const T> expected) {
  expect_like_torch(name, config, expected, [](const auto&...) {});
}

TEST(AdamW, MatchesTorchWithoutDecay) {
  const AdamWConfig config{.weight_decay = 0};
  expect_like_torch<float>("plain", config, test::plain_float);
  expect_like_torch<double>("plain", config, test::plain_double);
}

TEST(AdamW, DecaysWeightsAndEmbeddingsByDefault) {
  const AdamWConfig config{.weight_decay = 0.1};
  expect_like_torch<float>("decay", config, test::decay_float);
  expect_like_torch<double>("decay", config, test::decay_double);
}

TEST(AdamW, DecaysTheConfiguredRoles) {
  const AdamWConfig config{.weight_decay = 0.1,
                           .decayed_roles = {Role::weight, Role::bias, Role::norm, Role::spatial, Role::position,
                                             Role::embedding, Role::memory, Role::constant}};
  expect_like_torch<float>("uniform", config, test::uniform_float);
  expect_like_torch<double>("uniform", config, test::uniform_double);
}

TEST(AdamW, HandlesGroupsLikeTorch) {
  const AdamWConfig config{.weight_decay = 0.1,
                           .groups = {{.path = "weight", .learning_rate_factor = 0.25, .weight_decay = 0.5},
                                      {.path = "bias", .learning_rate_factor = 2},
                                      {.path = "norm", .frozen = true}}};
  expect_like_torch<float>("groups", config, test::groups_float);
  expect_like_torch<double>("groups", config, test::groups_double);
}

/// The rule for each parameter of `model`, by path.
std::map<std::string, detail::ParameterRule> rules_of(const AdamWConfig& config, const test::ToyModel& model) {
  const auto rules = detail::resolve_groups(config, model);
  std::map<std::string, detail::ParameterRule> named;
  auto rule = rules.begin();
  for_each_parameter([&](const ParameterInfo& info, auto) { named[info.path()] = *rule++; }, model);
  return named;
}

TEST(ParameterGroups, MatchWholeComponentsAndTheFirstGroupWins) {
  test::ToyModel model = test::toy_model();
  for (int i = 2; i < 12; ++i) {
    model.blocks.push_back(model.blocks[0]);
  }
  const auto rules = rules_of({.groups = {{.path = "blocks.1.attention.weight", .learning_rate_factor = 3},
                                          {.path = "blocks.1", .learning_rate_factor = 2},
                                          {.path = "blocks", .weight_decay = 0.5},
                                          {.path = "", .frozen = true}}},
                              model);
  EXPECT_EQ(rules.at("blocks.1.attention.weight").learning_rate_factor, 3);
  EXPECT_EQ(rules.at("blocks.1.attention.weight").weight_decay, 0.01);
  EXPECT_EQ(rules.at("blocks.1.attention.bias").learning_rate_factor, 2);
  EXPECT_EQ(rules.at("blocks.1.attention.bias").weight_decay, 0);
  EXPECT_EQ(rules.at("blocks.1.proj.weight").learning_rate_factor, 2);
  for (const char* const block : {"blocks.0", "blocks.10", "blocks.11"}) {
    EXPECT_EQ(rules.at(text(block, ".proj.weight")).learning_rate_factor, 1) << block;
    EXPECT_EQ(rules.at(text(block, ".proj.weight")).weight_decay, 0.5) << block;
    EXPECT_EQ(rules.at(text(block, ".proj.bias")).weight_decay, 0) << block;
    EXPECT_FALSE(rules.at(text(block, ".proj.weight")).frozen);
  }
  EXPECT_TRUE(rules.at("head.weight").frozen);
  EXPECT_TRUE(rules.at("patches.weight").frozen);
}

TEST(ParameterGroups, AStarMatchesOneComponent) {
  const test::ToyModel model = test::toy_model();
  const auto rules = rules_of({.groups = {{.path = "blocks.*.proj", .learning_rate_factor = 2},
                                          {.path = "*.1", .learning_rate_factor = 3},
                                          {.path = "*.*", .learning_rate_factor = 4}}},
                              model);
  EXPECT_EQ(rules.at("blocks.0.proj.weight").learning_rate_factor, 2);
  EXPECT_EQ(rules.at("blocks.1.proj.bias").learning_rate_factor, 2);
  EXPECT_EQ(rules.at("blocks.1.attention.weight").learning_rate_factor, 3);
  EXPECT_EQ(rules.at("patches.weight").learning_rate_factor, 4);
  EXPECT_EQ(rules.at("head.weight").learning_rate_factor, 4);
  for (const char* const none : {"*.*.*.*.*", "blocks.*.gate", "*.proj", "**", "head.w*"}) {
    EXPECT_THROW(rules_of({.groups = {{.path = none}}}, model), ArgumentError) << none;
  }
}

TEST(ParameterGroups, AreCheckedByTheConstructor) {
  const test::ToyModel model = test::toy_model();
  const auto message = [&](std::vector<ParameterGroup> groups) {
    return message_of<ArgumentError>([&] { detail::resolve_groups({.groups = std::move(groups)}, model); });
  };
  EXPECT_EQ(message({{.path = "haed"}}),
            "AdamW: group \"haed\" matches no trained parameter. Trained parameters' paths begin with patches, blocks, head.");
  EXPECT_EQ(message({{.path = "head."}}),
            "AdamW: group \"head.\" matches no trained parameter. Trained parameters' paths begin with patches, blocks, head.");
  EXPECT_EQ(
      message({{.path = "blocks"}, {.path = "blocks.0"}}),
      "AdamW: group \"blocks.0\" has no effect: each of its parameters belongs to an earlier group. Put this group first.");
  EXPECT_EQ(message({{.path = "blocks.0.proj.bias", .weight_decay = 0.1}}),
            "AdamW: group \"blocks.0.proj.bias\" sets weight_decay, but decayed_roles lists none of its parameters' roles. "
            "Add a role, or drop weight_decay.");
  const Kinds<float> kinds;
  EXPECT_NE(message_of<ArgumentError>([&] { AdamW(kinds, {.groups = {{.path = "constant"}}}); }).find("no trained parameter"),
            std::string::npos);
}

TEST(AdamW, RefusesInvalidSettings) {
  const Kinds<float> model;
  const double nan = std::nan("");
  for (const AdamWConfig& config :
       {AdamWConfig{.learning_rate = -1}, AdamWConfig{.learning_rate = nan}, AdamWConfig{.beta1 = 1},
        AdamWConfig{.beta2 = -0.1}, AdamWConfig{.eps = 0}, AdamWConfig{.eps = 1e-60}, AdamWConfig{.weight_decay = -1},
        AdamWConfig{.groups = {{.learning_rate_factor = -1}}}, AdamWConfig{.groups = {{.weight_decay = nan}}}}) {
    EXPECT_THROW(AdamW(model, config), ArgumentError);
  }
  EXPECT_EQ(message_of<ArgumentError>([&] { AdamW(model, {.beta1 = 1}); }), "AdamW: beta1 is 1, expected 0 ≤ beta1 < 1.");
}

TEST(AdamW, RefusesWrongShapesAndNaNRatesWithoutAnyChange) {
  Kinds<float> model = test::reference_start<float>();
  const Kinds<float> start = model;
  AdamW optimizer(model);
  Kinds<float> other;
  other.embedding = Matrix<float>::Ones(5, 2);  // only the shape of the embedding differs
  EXPECT_THROW(optimizer.update(model, other), ArgumentError);
  EXPECT_THROW(optimizer.update(model, start, std::nan("")), ArgumentError);
  EXPECT_EQ(optimizer.steps, 0);
  EXPECT_TRUE(test::same_bits(model.weight, start.weight));
  EXPECT_TRUE(test::same_bits(optimizer.first.weight, Matrix<float>::Zero(3, 5).eval()));
}

TEST(AdamW, ZeroesTheGradientOfFrozenParameters) {
  const AdamW optimizer(Kinds<float>{}, {.groups = {{.path = "norm", .frozen = true}}});
  Kinds<float> gradient = test::reference_gradient<float>(0);
  const Kinds<float> before = gradient;
  optimizer.zero_frozen(gradient);
  EXPECT_TRUE(test::same_bits(gradient.norm, Vector<float>::Zero(5).eval()));
  EXPECT_TRUE(test::same_bits(gradient.constant, Vector<float>::Zero(3).eval()));
  EXPECT_TRUE(test::same_bits(gradient.weight, before.weight));
  EXPECT_TRUE(test::same_bits(gradient.embedding, before.embedding));
}

/// The weight `start` after two updates with the gradient `upstream`.
Matrix<float> updated(const Matrix<float>& start, const Matrix<float>& upstream, const Threads& threads) {
  Kinds<float> model, gradient;
  model.weight = start;
  gradient.weight = upstream;
  AdamW optimizer(model);
  optimizer.update(model, gradient, 1e-2, threads);
  optimizer.update(model, gradient, 1e-2, threads);
  return model.weight;
}

TEST(AdamW, BitsDoNotDependOnThreadsOrNeighbours) {
  for (const Index columns : {1, 16384, 100003}) {
    const auto start = test::random_matrix<float>(1, columns, 1);
    const auto upstream = test::random_matrix<float>(1, columns, 2);
    const Matrix<float> one = updated(start, upstream, Threads{1});
    for (const int threads : {2, 3, 7}) {
      EXPECT_TRUE(test::same_bits(updated(start, upstream, Threads{threads}), one))
          << threads << " threads, " << columns << " columns";
    }
    for (const Index column : {0, 16383, 16384, 65537, 100002}) {
      if (column < columns) {
        const Matrix<float> alone = updated(start.col(column), upstream.col(column), Threads{1});
        EXPECT_TRUE(test::same_bits(one.col(column), alone)) << column << " of " << columns;
      }
    }
  }
}

}  // namespace
}  // namespace gated::adamw_test
