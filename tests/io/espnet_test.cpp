#include "gated/io/espnet.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/io/origin.hpp"
#include "gated/models/branchformer.hpp"

namespace gated::espnet_test {
namespace {

using test::changed;
using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::saved;

constexpr BranchformerLayerConfig small{.channels = 6,
                                        .heads = 3,
                                        .hidden = 10,
                                        .gate_hidden = 8,
                                        .gate_kernel = 5,
                                        .merge_kernel = 3,
                                        .linear_after_convolution = true};

const Names gating{
    "channel_proj1.0.weight [8, 6]", "channel_proj1.0.bias [8]", "csgu.norm.weight [4]",      "csgu.norm.bias [4]",
    "csgu.conv.weight [4, 1, 5]",    "csgu.conv.bias [4]",       "csgu.linear.weight [4, 4]", "csgu.linear.bias [4]",
    "channel_proj2.weight [6, 4]",   "channel_proj2.bias [6]"};

Names with_prefix(const std::string& prefix, const Names& names, Names more = {}) {
  for (const std::string& name : names) {
    more.insert(prefix + name);
  }
  return more;
}

/// The tensors of an E-Branchformer layer, as "name [shape]".
Names layer() {
  Names names = with_prefix("cgmlp.", gating);
  for (const char* const norm : {"norm_ff_macaron", "norm_mha", "norm_mlp", "norm_ff", "norm_final"}) {
    names.insert({text(norm, ".weight [6]"), text(norm, ".bias [6]")});
  }
  for (const char* const forward : {"feed_forward_macaron", "feed_forward"}) {
    names.insert({text(forward, ".w_1.weight [10, 6]"), text(forward, ".w_1.bias [10]"), text(forward, ".w_2.weight [6, 10]"),
                  text(forward, ".w_2.bias [6]")});
  }
  for (const char* const linear : {"linear_q", "linear_k", "linear_v", "linear_out"}) {
    names.insert({text("attn.", linear, ".weight [6, 6]"), text("attn.", linear, ".bias [6]")});
  }
  names.insert({"attn.linear_pos.weight [6, 6]", "attn.pos_bias_u [3, 2]", "attn.pos_bias_v [3, 2]",
                "depthwise_conv_fusion.weight [12, 1, 3]", "depthwise_conv_fusion.bias [12]", "merge_proj.weight [6, 12]",
                "merge_proj.bias [6]"});
  return names;
}

TEST(Espnet, LayersHaveTheNamesOfTheOriginal) {
  const auto mlp = random_layer<ConvolutionalGatingMlp<float>>(small.gating());
  const SafetensorsFile mlp_file = saved(mlp, espnet_gating_names());
  EXPECT_EQ(listed(mlp_file), gating);
  expect_loads(mlp, mlp_file, espnet_gating_names());
  const auto whole = random_layer<BranchformerLayer<double>>(small);
  const SafetensorsFile file = saved(whole, espnet_layer_names());
  EXPECT_EQ(listed(file), layer());
  expect_loads(whole, file, espnet_layer_names());
}

TEST(Espnet, AnEncoderLoadsFromTheFileOfAWholeModel) {
  const BranchformerConfig config{.trunk = {.depth = 2, .block = small}};
  const auto encoder = random_layer<Branchformer<float>>(config);
  const SafetensorsFile file = saved(encoder, espnet_names());
  Names names = with_prefix("encoder.encoders.0.", layer(), with_prefix("encoder.encoders.1.", layer()));
  names.insert({"encoder.after_norm.weight [6]", "encoder.after_norm.bias [6]"});
  EXPECT_EQ(listed(file), names);

  const Matrix<float> numbers = Matrix<float>::Ones(4, 6);
  const auto other = [&](const char* name) { return test::tensor_of(name, numbers, {4, 6}); };
  const std::vector<TensorToWrite> shared{other("decoder.decoders.0.norm1.weight"), other("ctc.ctc_lo.weight"),
                                          other("encoder.embed.conv.0.weight")};
  auto of_espnet = shared, of_wenet = shared;
  of_espnet.insert(of_espnet.end(), {other("frontend.logmel.melmat"), other("normalize.mean")});
  of_wenet.insert(of_wenet.end(), {other("encoder.embed.pos_enc.pe"), other("encoder.global_cmvn.istd")});
  for (const auto& [more, writer] : {std::pair(of_espnet, "ESPnet"), std::pair(of_wenet, "WeNet")}) {
    const SafetensorsFile whole = changed(file, {}, {}, more);
    const Origin* const origin = origin_of(whole);
    ASSERT_NE(origin, nullptr);
    EXPECT_STREQ(origin->writer, writer);
    EXPECT_EQ(names_of(whole, *origin).prefix, "encoder.");
    expect_loads(encoder, whole, names_of(whole, *origin));
    expect_loads(encoder, whole, espnet_names());
  }
}

TEST(Espnet, UnknownTensorsOfAnEncoderAreReported) {
  const BranchformerConfig config{.trunk = {.depth = 1, .block = small}};
  const auto encoder = random_layer<Branchformer<float>>(config);
  const Matrix<float> numbers = Matrix<float>::Ones(4, 6);
  const SafetensorsFile file =
      changed(saved(encoder, espnet_names()), {}, {}, {test::tensor_of("encoder.conditioning_layer.weight", numbers, {4, 6})});
  Branchformer<float> loaded(config);
  const std::string what = test::error_of<FileError>([&] { load_parameters(loaded, file, espnet_names()); });
  EXPECT_NE(what.find("encoder.conditioning_layer.weight"), std::string::npos) << what;
}

}  // namespace
}  // namespace gated::espnet_test
