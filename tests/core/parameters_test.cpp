#include "gated/core/parameters.hpp"

#include <gtest/gtest.h>

#include "gated/core/sublayers.hpp"
#include "tests/core/numbers.hpp"
#include "tests/core/toy.hpp"

namespace gated::parameters_test {
namespace {

using test::toy_model;
using test::ToyLinear;
using test::ToyModel;

std::vector<std::string> paths_of(const ToyModel& model) {
  std::vector<std::string> paths;
  for_each_parameter([&](const ParameterInfo& info, auto) { paths.push_back(info.path()); }, model);
  return paths;
}

TEST(ForEachLayer, VisitsTheModelAndEachLayerOnce) {
  const ToyModel model = toy_model();
  std::vector<const void*> met;
  for_each_layer([&](const auto& layer) { met.push_back(&layer); }, model);
  EXPECT_EQ(met, (std::vector<const void*>{&model, &model.blocks[0], &model.blocks[0].proj, &model.blocks[1],
                                           &model.blocks[1].proj, &*model.blocks[1].attention, &*model.head}));
}

TEST(Shape, ReportsSizesAndElementCount) {
  const Shape shape{256, 3, 16, 16};
  EXPECT_EQ(shape.rank(), 4u);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.count(), 256 * 3 * 16 * 16);
  EXPECT_EQ(shape.describe(), "[256, 3, 16, 16]");
  EXPECT_EQ((Shape{7}).describe(), "[7]");
}

TEST(Shape, OfAScalarHasOneElement) {
  EXPECT_EQ(Shape().count(), 1);
  EXPECT_EQ(Shape().describe(), "[]");
  EXPECT_EQ((Shape{4, 0}).count(), 0);
}

TEST(Shape, IsEqualOnlyIfAllSizesAreEqual) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{3, 2}));
  EXPECT_FALSE((Shape{2}) == (Shape{2, 1}));
  EXPECT_FALSE(Shape() == (Shape{0}));
}

TEST(Shape, RefusesFiveDimensions) {
  EXPECT_EQ(test::message_of<ArgumentError>([] { Shape{1, 2, 3, 4, 5}; }), "Shape: 5 dimensions, expected at most 4.");
}

TEST(ForEachParameter, UsesCheckpointNames) {
  EXPECT_EQ(
      paths_of(toy_model()),
      (std::vector<std::string>{"patches.weight", "blocks.0.proj.weight", "blocks.0.proj.bias", "blocks.1.proj.weight",
                                "blocks.1.proj.bias", "blocks.1.attention.weight", "blocks.1.attention.bias", "head.weight"}));
}

TEST(ForEachParameter, SkipsAbsentParameters) {
  ToyModel model = toy_model();
  model.head.reset();
  model.blocks.clear();
  EXPECT_EQ(paths_of(model), std::vector<std::string>{"patches.weight"});
}

TEST(ForEachParameter, ReportsShapeAndRole) {
  const ToyModel model = toy_model();
  for_each_parameter(
      [](const ParameterInfo& info, auto values) {
        EXPECT_EQ(info.shape.count(), static_cast<Index>(values.size())) << info.path();
        if (info.path() == "patches.weight") {
          EXPECT_EQ(info.shape, (Shape{2, 3, 2, 2}));
          EXPECT_EQ(info.role, Role::position);
        } else if (info.path() == "blocks.0.proj.weight") {
          EXPECT_EQ(info.shape, (Shape{3, 2}));
          EXPECT_EQ(info.role, Role::weight);
        } else if (info.path() == "blocks.0.proj.bias") {
          EXPECT_EQ(info.shape, (Shape{3}));
          EXPECT_EQ(info.role, Role::bias);
        }
      },
      model);
}

TEST(ForEachParameter, PassesSpansOfTheModelsMemory) {
  ToyModel model = toy_model();
  for_each_parameter([](const ParameterInfo&, std::span<float> values) { values[0] = 9; }, model);
  EXPECT_EQ(model.patches(0, 0), 9);
  EXPECT_EQ(model.blocks[1].attention->bias(0), 9);
  EXPECT_EQ(model.head->weight(0, 0), 9);
  EXPECT_EQ(model.head->weight(0, 1), 1);
}

TEST(ForEachParameter, PassesConstSpansForConstModels) {
  ToyModel model = toy_model();
  const ToyModel other = model;
  for_each_parameter(
      [](const ParameterInfo&, auto values, auto others) {
        EXPECT_TRUE((std::is_same_v<decltype(values), std::span<float>>));
        EXPECT_TRUE((std::is_same_v<decltype(others), std::span<const float>>));
      },
      model, other);
}

TEST(ForEachParameter, WalksSeveralModelsInLockstep) {
  ToyModel model = toy_model();
  const ToyModel gradient = toy_model();
  ToyModel moment = toy_model();
  int parameters = 0;
  for_each_parameter(
      [&](const ParameterInfo&, auto values, auto gradients, auto moments) {
        ASSERT_EQ(values.size(), gradients.size());
        ASSERT_EQ(values.size(), moments.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          moments[i] = 2 * gradients[i];
          values[i] -= moments[i];
        }
        ++parameters;
      },
      model, gradient, moment);
  EXPECT_EQ(parameters, 8);
  EXPECT_EQ(model.blocks[0].proj.bias(2), -1);
  EXPECT_EQ(moment.head->weight(4, 1), 2);
}

/// Expects that for_each_parameter() refuses a toy model and a copy modified by `change`, in either order.
template <class Change>
void expect_different(Change change, const std::string& where) {
  const ToyModel model = toy_model();
  ToyModel other = model;
  change(other);
  const auto nothing = [](const auto&...) {};
  const std::string expected = "The models (or a model and its gradient) differ in structure at " + where +
                               ". Build all from equal configurations; build a gradient with zeros_like(model).";
  EXPECT_EQ(test::message_of<ArgumentError>([&] { for_each_parameter(nothing, model, other); }), expected);
  EXPECT_EQ(test::message_of<ArgumentError>([&] { for_each_parameter(nothing, other, model); }), expected);
  EXPECT_EQ(test::message_of<ArgumentError>([&] { for_each_parameter(nothing, model, model, other); }), expected);
}

TEST(ForEachParameter, RefusesModelsOfDifferentStructure) {
  expect_different([](ToyModel& m) { m.blocks.pop_back(); }, "blocks");
  expect_different([](ToyModel& m) { m.head.reset(); }, "head");
  expect_different([](ToyModel& m) { m.blocks[1].attention.reset(); }, "blocks.1.attention");
  expect_different([](ToyModel& m) { m.blocks[1].proj.weight.resize(3, 4); }, "blocks.1.proj.weight");
  expect_different([](ToyModel& m) { m.blocks[0].proj.weight.resize(2, 3); }, "blocks.0.proj.weight");  // same element count
  expect_different([](ToyModel& m) { m.blocks[0].proj.bias.resize(0); }, "blocks.0.proj.bias");
  expect_different([](ToyModel& m) { m.head->bias.resize(5); }, "head.bias");
}

TEST(ParameterCount, CountsScalars) {
  EXPECT_EQ(parameter_count(toy_model()), 24 + (6 + 3) + (6 + 3 + 4 + 1) + 10);
  EXPECT_EQ(parameter_count(ToyLinear(0, 0)), 0);
}

TEST(ZerosLike, CopiesTheStructureButNotTheValues) {
  const ToyModel model = toy_model();
  const ToyModel zeros = zeros_like(model);
  EXPECT_EQ(paths_of(zeros), paths_of(model));
  for_each_parameter(
      [](const ParameterInfo& info, auto zero, auto value) {
        for (std::size_t i = 0; i < value.size(); ++i) {
          EXPECT_EQ(zero[i], 0) << info.path();
          EXPECT_EQ(value[i], 1) << info.path();
        }
      },
      zeros, model);
}

}  // namespace
}  // namespace gated::parameters_test
