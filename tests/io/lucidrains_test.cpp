#include "gated/io/lucidrains.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/models/presets.hpp"

namespace gated::lucidrains_test {
namespace {

using test::expect_equal;
using test::expect_error;
using test::temporary;

constexpr Index n = 5, c = 6, f = 8;

template <class T>
Gmlp<T> random_trunk(GmlpConfig config = {}) {
  config.length = n, config.channels = c, config.hidden = f, config.depth = 2;
  Gmlp<T> model(config);
  test::randomize(model, 1);
  return model;
}

/// Collects the tensors of a file and writes it.
struct Tensors {
  std::string prefix = "";
  std::vector<TensorToWrite> list = {};

  template <class M>
  void add(const std::string& name, const M& values, std::vector<Index> shape) {
    list.push_back(test::tensor_of(prefix + name, values, std::move(shape)));
  }
  template <class M>
  void add_pair(const std::string& name, const M& layer, std::vector<Index> shape) {
    add(name + ".weight", layer.weight, shape);
    add(name + ".bias", layer.bias, {shape[0]});
  }

  SafetensorsFile written(const char* name = "model.safetensors") const {
    const auto path = temporary(name);
    write_safetensors(path, list);
    return SafetensorsFile(path);
  }
};

struct Version {
  std::string inner;          ///< names of the modules that wrap the block
  std::string spatial;        ///< name of the spatial weight in the gate, without ".weight"
  std::vector<Index> weight;  ///< shape of the spatial weight
  std::vector<Index> bias;
  bool leftover = false;  ///< the file also contains an unused convolution
};

const Version v0_1_5{"fn.fn.fn", "sgu", {1, n, n}, {1, n}}, v0_1_2{"fn.fn", "sgu", {1, n, n}, {1, n}},
    v0_1_0{"fn.fn", "sgu", {n, n}, {n}, true}, v0_0_18{"fn.fn", "sgu.proj", {n, n, 1}, {n}};

const Matrix<float> unused_weight = Matrix<float>::Ones(n, n);
const Vector<float> unused_bias = Vector<float>::Ones(n);

template <class T>
void add_trunk(Tensors& file, const Gmlp<T>& model, const Version& version) {
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const auto& block = model.blocks[i];
    const std::string layer = text("layers.", i, "."), inner = layer + version.inner + ".";
    file.add_pair(layer + "fn.norm", block.norm, {c});
    file.add_pair(inner + "proj_in.0", block.proj_in, {f, c});
    file.add_pair(inner + "sgu.norm", block.gate.norm, {f / 2});
    file.add(inner + version.spatial + ".weight", block.gate.proj.weight, version.weight);
    file.add(inner + version.spatial + ".bias", block.gate.proj.bias, version.bias);
    file.add_pair(inner + "proj_out", block.proj_out, {c, f / 2});
    if (version.leftover) {
      file.add(inner + "sgu.proj.weight", unused_weight, {n, n, 1});
      file.add(inner + "sgu.proj.bias", unused_bias, {n});
    }
    if (block.attention) {
      const Index a = block.attention->config.width;
      file.add(inner + "attn.to_qkv.weight", block.attention->qkv.weight, {3 * a, c});
      file.add_pair(inner + "attn.to_out", block.attention->proj_out, {f / 2, a});
    }
  }
}

TEST(Lucidrains, LoadsTrunksOfEveryVersion) {
  GmlpConfig with_attention;
  with_attention.attention_width = 3;
  for (const Version& version : {v0_1_5, v0_1_2, v0_1_0, v0_0_18}) {
    for (const GmlpConfig& config : {GmlpConfig{}, with_attention}) {
      const auto model = random_trunk<float>(config);
      Tensors tensors;
      add_trunk(tensors, model, version);
      const SafetensorsFile file = tensors.written();
      Gmlp<float> loaded(model.config);
      load_parameters(loaded, file, lucidrains_trunk_names(lucidrains_layout(file)));
      expect_equal(loaded, model);
    }
  }
}

TEST(Lucidrains, TheNewestVersionNeedsNoLayout) {
  const auto model = random_trunk<double>();
  Tensors tensors;
  add_trunk(tensors, model, v0_1_5);
  Gmlp<double> loaded(model.config);
  load_parameters(loaded, tensors.written(), lucidrains_trunk_names());
  expect_equal(loaded, model);
}

TEST(Lucidrains, LoadsLanguageModelsOfEveryVersion) {
  for (const Version& version : {v0_1_5, v0_1_2, v0_1_0, v0_0_18}) {
    GmlpLanguageModel<float> model({.vocabulary = 7,
                                    .head = {.form = HeadForm::untied, .bias = true},
                                    .trunk = {.length = n, .channels = c, .hidden = f, .depth = 2, .causal = true}});
    test::randomize(model, 1);
    Tensors tensors{.prefix = "net."};
    tensors.add("to_embed.weight", model.embedding.weight, {7, c});
    add_trunk(tensors, model.trunk, version);
    tensors.add_pair("to_logits.0", model.head->norm, {c});
    tensors.add_pair("to_logits.1", *model.head->output, {7, c});
    const SafetensorsFile file = tensors.written();
    NameMap names = lucidrains_language_model_names(lucidrains_layout(file, "net."));
    names.prefix = "net.";
    GmlpLanguageModel<float> loaded(model.config);
    load_parameters(loaded, file, names);
    expect_equal(loaded, model);
  }
}

TEST(Lucidrains, LoadsHeadsAndPositionScales) {
  const auto model =
      random_trunk<float>({.spatial = SpatialForm::scaled_toeplitz, .causal = true, .heads = 2, .token_shift = 1});
  Tensors tensors;
  add_trunk(tensors, model, {"fn.fn.fn", "sgu", {2, n}, {2, n}});
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string gate = text("layers.", i, ".fn.fn.fn.sgu.");
    tensors.add(gate + "circulant_pos_x", model.blocks[i].gate.proj.position_x, {2, n});
    tensors.add(gate + "circulant_pos_y", model.blocks[i].gate.proj.position_y, {2, n});
  }
  const SafetensorsFile file = tensors.written();
  Gmlp<float> loaded(model.config);
  load_parameters(loaded, file, lucidrains_trunk_names(lucidrains_layout(file)));
  expect_equal(loaded, model);
}

TEST(Lucidrains, LoadsVisionModels) {
  GmlpImageClassifier<float> model({.image = {4, 10},
                                    .patch = {4, 2},
                                    .image_channels = 3,
                                    .classes = 7,
                                    .norm_eps = 1e-5,
                                    .trunk = {.channels = c, .hidden = f, .depth = 2}});
  ASSERT_EQ(model.tokens_per_image(), n);
  test::randomize(model, 1);
  Tensors tensors;
  tensors.add_pair("to_patch_embed.1", model.patch_embedding, {c, 3 * 4 * 2});
  add_trunk(tensors, model.trunk, v0_1_2);
  tensors.add_pair("to_logits.0", model.norm, {c});
  tensors.add_pair("to_logits.2", *model.head, {7, c});
  const SafetensorsFile file = tensors.written();
  GmlpImageClassifier<float> loaded(model.config);
  load_parameters(loaded, file, lucidrains_vision_names(lucidrains_layout(file)));
  expect_equal(loaded, model);
}

TEST(Lucidrains, LoadsPartsOfAModel) {
  const auto trunk = random_trunk<float>({.attention_width = 3});
  const GmlpBlock<float>& block = trunk.blocks[0];
  Tensors tensors;
  tensors.add_pair("proj_in.0", block.proj_in, {f, c});
  tensors.add_pair("sgu.norm", block.gate.norm, {f / 2});
  tensors.add("sgu.weight", block.gate.proj.weight, {1, n, n});
  tensors.add("sgu.bias", block.gate.proj.bias, {1, n});
  tensors.add_pair("proj_out", block.proj_out, {c, f / 2});
  tensors.add("attn.to_qkv.weight", block.attention->qkv.weight, {9, c});
  tensors.add_pair("attn.to_out", block.attention->proj_out, {f / 2, 3});
  GmlpBlock<float> loaded(block.config), expected = block;
  loaded.norm = expected.norm = {};
  load_parameters(loaded, tensors.written(), lucidrains_block_names());
  expect_equal(loaded, expected);

  Tensors gate;
  gate.add_pair("norm", block.gate.norm, {f / 2});
  gate.add("weight", block.gate.proj.weight, {1, n, n});
  gate.add("bias", block.gate.proj.bias, {1, n});
  SpatialGatingUnit<float> loaded_gate(block.gate.config);
  load_parameters(loaded_gate, gate.written(), lucidrains_gate_names());
  expect_equal(loaded_gate, block.gate);
}

TEST(Lucidrains, RefusesVersionsBefore0_0_16) {
  const auto model = random_trunk<float>();
  Tensors tensors;
  add_trunk(tensors, model, v0_0_18);
  tensors.add("layers.0.fn.fn.sgu.attn.to_qkv.weight", unused_weight, {n, n});
  const SafetensorsFile file = tensors.written();
  expect_error<FileError>([&] { lucidrains_layout(file); },
                          {"layers.0.fn.fn.sgu.attn.to_qkv.weight", "g-mlp-pytorch before 0.0.16", "not supported"});
}

TEST(Lucidrains, RefusesUnusedConvolutionsInNewVersions) {
  const auto model = random_trunk<float>();
  Version odd = v0_1_5;
  odd.leftover = true;
  Tensors tensors;
  add_trunk(tensors, model, odd);
  const SafetensorsFile file = tensors.written();
  Gmlp<float> loaded(model.config);
  expect_error<FileError>([&] { load_parameters(loaded, file, lucidrains_trunk_names(lucidrains_layout(file))); },
                          {"names of g-mlp-pytorch", "4 unexpected", "layers.*.fn.fn.fn.sgu.proj.bias"});
  expect_equal(loaded, Gmlp<float>(model.config));
}

TEST(Lucidrains, KeywordMlpHasTheOriginalTensorNames) {
  auto config = kw_mlp(3);
  config.image = {5, 4};
  config.patch = {1, 4};
  config.trunk.channels = 6;
  config.trunk.hidden = 8;
  config.trunk.depth = 1;
  GmlpImageClassifier<float> model(config);
  test::randomize(model, 1);
  const SafetensorsFile file = test::saved(model, kw_mlp_names());
  const std::string block = "layers.0.fn.fn.";
  test::Names names{"to_patch_embed.1.weight [6, 4]", "to_patch_embed.1.bias [6]", "layers.0.fn.norm.weight [6]",
                    "layers.0.fn.norm.bias [6]",      "to_logits.0.weight [6]",    "to_logits.0.bias [6]",
                    "to_logits.2.weight [3, 6]",      "to_logits.2.bias [3]"};
  for (const char* const name :
       {"proj_in.0.weight [8, 6]", "proj_in.0.bias [8]", "sgu.norm.weight [4]", "sgu.norm.bias [4]",
        "sgu.proj.weight [5, 5, 1]", "sgu.proj.bias [5]", "proj_out.weight [6, 4]", "proj_out.bias [6]"}) {
    names.insert(block + name);
  }
  EXPECT_EQ(test::listed(file), names);
  test::expect_loads(model, file, kw_mlp_names());
}

}  // namespace
}  // namespace gated::lucidrains_test
