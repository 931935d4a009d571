#include "gated/io/name_map.hpp"

#include <gtest/gtest.h>

#include "files.hpp"

namespace gated::name_map_test {
namespace {

std::string name_in(const NameMap& names, std::string_view path) { return names.in_file(path, {4, 4}).name; }

TEST(NameMap, KeepsNamesByDefault) {
  const FileTensor tensor = NameMap{}.in_file("trunk.blocks.3.proj_in.weight", {2, 3});
  EXPECT_EQ(tensor.name, "trunk.blocks.3.proj_in.weight");
  EXPECT_EQ(tensor.shape, (std::vector<Index>{2, 3}));
  EXPECT_FALSE(NameMap{}.ignores("anything"));
}

TEST(NameMap, TranslatesAClassifierToTimm) {
  const NameMap timm{.origin = "timm",
                     .rules = {{"patch_embedding", "stem.proj"},
                               {"trunk.blocks.*.norm", "blocks.*.norm"},
                               {"trunk.blocks.*.proj_in", "blocks.*.mlp_channels.fc1"},
                               {"trunk.blocks.*.proj_out", "blocks.*.mlp_channels.fc2"},
                               {"trunk.blocks.*", "blocks.*.mlp_channels"}}};
  EXPECT_EQ(name_in(timm, "patch_embedding.weight"), "stem.proj.weight");
  EXPECT_EQ(name_in(timm, "patch_embedding.bias"), "stem.proj.bias");
  EXPECT_EQ(name_in(timm, "trunk.blocks.3.norm.weight"), "blocks.3.norm.weight");
  EXPECT_EQ(name_in(timm, "trunk.blocks.13.proj_in.weight"), "blocks.13.mlp_channels.fc1.weight");
  EXPECT_EQ(name_in(timm, "trunk.blocks.3.gate.norm.weight"), "blocks.3.mlp_channels.gate.norm.weight");
  EXPECT_EQ(name_in(timm, "trunk.blocks.3.gate.proj.weight"), "blocks.3.mlp_channels.gate.proj.weight");
  EXPECT_EQ(name_in(timm, "trunk.blocks.3.proj_out.weight"), "blocks.3.mlp_channels.fc2.weight");
  EXPECT_EQ(name_in(timm, "norm.weight"), "norm.weight");
  EXPECT_EQ(name_in(timm, "head.weight"), "head.weight");
}

TEST(NameMap, ComparesWholeComponentsOnly) {
  const NameMap names{.rules = {{"head", "classifier"}, {"blocks.*.norm", "x.*"}}};
  EXPECT_EQ(name_in(names, "head.weight"), "classifier.weight");
  EXPECT_EQ(name_in(names, "head"), "classifier");
  EXPECT_EQ(name_in(names, "header.weight"), "header.weight");
  EXPECT_EQ(name_in(names, "blocks.0.norm1.weight"), "blocks.0.norm1.weight");
  EXPECT_EQ(name_in(names, "blocks.0"), "blocks.0");
}

TEST(NameMap, TheFirstRuleThatMatchesWins) {
  const NameMap names{.rules = {{"a.b", "first"}, {"a", "second"}, {"a.c", "never"}}};
  EXPECT_EQ(name_in(names, "a.b.w"), "first.w");
  EXPECT_EQ(name_in(names, "a.c.w"), "second.c.w");
}

TEST(NameMap, CopiesWildcardsAndDropsOrAddsComponents) {
  const NameMap names{.rules = {{"a.*.b.*", "*.x.*.y"}, {"drop", ""}, {"tied.*", "shared"}, {"", "inner"}}};
  EXPECT_EQ(name_in(names, "a.1.b.2.w"), "1.x.2.y.w");
  EXPECT_EQ(name_in(names, "drop.weight"), "weight");
  EXPECT_EQ(name_in(names, "tied.7.weight"), "shared.weight");
  EXPECT_EQ(name_in(names, "other"), "inner.other");
}

TEST(NameMap, PrefixesEveryName) {
  const NameMap names{.prefix = "model.", .rules = {{"head", "classifier"}}, .ignored = {"position_ids"}};
  EXPECT_EQ(name_in(names, "head.weight"), "model.classifier.weight");
  EXPECT_EQ(name_in(names, "norm.weight"), "model.norm.weight");
  EXPECT_TRUE(names.ignores("model.position_ids"));
}

TEST(NameMap, InsertsTheBodyPrefixExceptForTheHead) {
  NameMap names{
      .prefix = "model.",
      .body = "bert.",
      .heads = {"cls."},
      .rules = {{"head", "cls.predictions"}, {"blocks.*", "layers.*"}, {.ours = "all.*", .theirs = "tables.*", .shared = true}},
      .tied = {{"cls.decoder.weight", "embedding.weight"}},
      .ignored = {"position_ids", "cls.seq"}};
  const FileTensor embedding = names.in_file("embedding.weight", {4, 4});
  EXPECT_EQ(embedding.name, "model.bert.embedding.weight");
  EXPECT_EQ(embedding.elsewhere, (std::vector<std::string>{"model.cls.decoder.weight"}));
  EXPECT_EQ(name_in(names, "blocks.3.weight"), "model.bert.layers.3.weight");
  EXPECT_EQ(name_in(names, "head.bias"), "model.cls.predictions.bias");
  EXPECT_EQ(names.in_file("all.2", {4}).elsewhere, (std::vector<std::string>{"model.bert.tables.0"}));
  EXPECT_EQ(names.tied_to("model.cls.decoder.weight"), "model.bert.embedding.weight");
  EXPECT_TRUE(names.ignores("model.bert.position_ids"));
  EXPECT_TRUE(names.ignores("model.cls.seq.weight"));
  EXPECT_FALSE(names.ignores("model.bert.layers.0.weight"));
  names.body.clear();
  EXPECT_EQ(name_in(names, "blocks.3.weight"), "model.layers.3.weight");
  EXPECT_EQ(names.tied_to("model.cls.decoder.weight"), "model.embedding.weight");
}

TEST(NameMap, AddsRulesForALayer) {
  NameMap names;
  names.add("blocks.*.", "layers.*.", {{"norm", "ln"}, {"scale", "q", ShapeForm::append_one, {"k"}}});
  names.add("", "x.", {{"", "rest"}});
  EXPECT_EQ(name_in(names, "blocks.3.norm.weight"), "layers.3.ln.weight");
  const auto parts = names.parts_in_file("blocks.3.scale.weight", {2, 4});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].name, "layers.3.q.weight");
  EXPECT_EQ(parts[1].name, "layers.3.k.weight");
  EXPECT_EQ(parts[1].shape, (std::vector<Index>{4, 1}));
  EXPECT_EQ(name_in(names, "head"), "x.rest.head");
}

TEST(NameMap, IgnoresNamesByPattern) {
  const NameMap names{.ignored = {"blocks.*.position_ids", "decoder"}};
  EXPECT_TRUE(names.ignores("blocks.3.position_ids"));
  EXPECT_TRUE(names.ignores("decoder.weight"));
  EXPECT_FALSE(names.ignores("blocks.position_ids"));
  EXPECT_FALSE(names.ignores("blocks.3.position_ids_2"));
  EXPECT_FALSE(names.ignores("decoders.weight"));
  EXPECT_FALSE(names.ignores(""));
}

TEST(NameMap, ShapeFormsDetermineTheShapeInTheFile) {
  const auto shape_of = [](ShapeForm form, const Shape& shape) {
    return NameMap{.rules = {{"", "", form}}}.in_file("w", shape).shape;
  };
  EXPECT_EQ(shape_of(ShapeForm::same, {1, 2, 3}), (std::vector<Index>{1, 2, 3}));
  EXPECT_EQ(shape_of(ShapeForm::flatten_tail, {32, 3, 4, 4}), (std::vector<Index>{32, 48}));
  EXPECT_EQ(shape_of(ShapeForm::flatten_tail, {32, 48}), (std::vector<Index>{32, 48}));
  EXPECT_EQ(shape_of(ShapeForm::flatten_tail, {32}), (std::vector<Index>{32}));  // a bias under the same rule
  EXPECT_EQ(shape_of(ShapeForm::pointwise_convolution, {1, 9, 9}), (std::vector<Index>{9, 9, 1}));
  EXPECT_EQ(shape_of(ShapeForm::drop_leading_one, {1, 9, 9}), (std::vector<Index>{9, 9}));
  EXPECT_EQ(shape_of(ShapeForm::append_one, {9, 9}), (std::vector<Index>{9, 9, 1}));
  EXPECT_EQ(shape_of(ShapeForm::append_two_ones, {9, 9}), (std::vector<Index>{9, 9, 1, 1}));
}

TEST(NameMap, RefusesInvalidRules) {
  const auto apply = [](NameMap::Rule rule, const Shape& shape) {
    return [=] { NameMap{.rules = {rule}}.in_file("a.w", shape); };
  };
  test::expect_error<ArgumentError>(apply({"a", "*.b"}, {1}), {"*.b has more * than a"});
  test::expect_error<ArgumentError>(apply({"a", "b", ShapeForm::drop_leading_one}, {2, 9, 9}),
                                    {"drops a leading dimension of 1", "a.w [2, 9, 9]"});
  test::expect_error<ArgumentError>(apply({"a", "b", ShapeForm::pointwise_convolution}, {9, 9}),
                                    {"drops a leading dimension of 1", "a.w [9, 9]"});
  test::expect_error<ArgumentError>(
      [] {
        const NameMap map{.rules = {{.ours = "qkv", .theirs = "q", .stacked_with = {"k", "v"}}}};
        (void)map.parts_in_file("qkv.w", {12, 4});
      },
      {"qkv.w [12, 4] is not a stack of 3 tensors: its first dimension is 12, expected 3.", "use Rule::pieces"});
}

}  // namespace
}  // namespace gated::name_map_test
