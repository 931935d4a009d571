#include "gated/io/fairseq.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"

namespace gated::fairseq_test {
namespace {

using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::saved;
using test::tensor_of;

using Block = LightConvBlock<float>;

LightConvBlockConfig config_of(const LightConvConfig& mixer) { return fairseq_block(4, 5, mixer); }

TEST(Fairseq, EncoderLayersHaveTheNamesOfTheOriginal) {
  const auto block = random_layer<Block>(config_of({.hidden = 6, .heads = 2, .kernel = 3}));
  const Names others{"fc1.weight [5, 4]",      "fc1.bias [5]",      "fc2.weight [4, 5]",     "fc2.bias [4]",
                     "linear1.weight [12, 4]", "linear1.bias [12]", "linear2.weight [4, 6]", "linear2.bias [4]"};
  for (const auto& [first, second] : {std::pair("layer_norms.0", "layer_norms.1"), {"layer_norm1", "layer_norm2"}}) {
    const FairseqLayout layout{.token_norm = first, .channel_norm = second};
    Names expected = others;
    expected.insert("conv.weight [2, 1, 3]");
    for (const std::string norm : {first, second}) {
      expected.insert({norm + ".weight [4]", norm + ".bias [4]"});
    }
    const SafetensorsFile file = saved(block, fairseq_block_names(layout));
    EXPECT_EQ(listed(file), expected);
    EXPECT_EQ(fairseq_layout(file).token_norm, first);
    expect_loads(block, file, fairseq_block_names(fairseq_layout(file)));
  }
  const SafetensorsFile flat = saved(block, fairseq_block_names({.taps = ShapeForm::flatten_tail}));
  EXPECT_TRUE(listed(flat).count("conv.weight [2, 3]"));
  expect_loads(block, flat, fairseq_block_names(fairseq_layout(flat)));
}

TEST(Fairseq, DecoderLayersHaveTheNamesOfTheOriginal) {
  const auto block =
      random_layer<Block>(config_of({.heads = 2, .kernel = 3, .form = ConvolutionForm::dynamic, .glu = false, .causal = true}));
  FairseqLayout layout{.token_norm = "conv_layer_norm", .channel_norm = "final_layer_norm", .glu = false};
  const SafetensorsFile file = saved(block, fairseq_block_names(layout));
  EXPECT_EQ(listed(file), (Names{"conv_layer_norm.weight [4]", "conv_layer_norm.bias [4]", "linear1.weight [4, 4]",
                                 "linear1.bias [4]", "conv.weight_linear.weight [6, 4]", "linear2.weight [4, 4]",
                                 "linear2.bias [4]", "final_layer_norm.weight [4]", "final_layer_norm.bias [4]",
                                 "fc1.weight [5, 4]", "fc1.bias [5]", "fc2.weight [4, 5]", "fc2.bias [4]"}));
  expect_loads(block, file, fairseq_block_names(fairseq_layout(file)));
}

TEST(Fairseq, TheUnusedBiasOfDynamicLayersIsIgnored) {
  const auto block = random_layer<Block>(config_of({.heads = 2, .kernel = 3, .form = ConvolutionForm::dynamic}));
  const Vector<float> junk = Vector<float>::Constant(4, 1e18f);
  const SafetensorsFile file =
      test::changed(saved(block, fairseq_block_names()), {}, {}, {tensor_of("conv.conv_bias", junk, {1, 1, 4})});
  expect_loads(block, file, fairseq_block_names(fairseq_layout(file)));
}

TEST(Fairseq, ALayerIsLoadedFromAWholeModel) {
  const auto block = random_layer<Block>(config_of({.heads = 2, .kernel = 3}));
  NameMap names = fairseq_block_names();
  names.prefix = "encoder.layers.3.";
  const Vector<float> other = Vector<float>::Ones(4);
  const SafetensorsFile file = test::changed(
      saved(block, names), {}, {},
      {tensor_of("encoder.layers.0.conv.weight", other, {2, 1, 2}), tensor_of("encoder.embed_tokens.weight", other, {1, 4}),
       tensor_of("decoder.layers.3.linear1.bias", other, {4})});
  NameMap in_model = fairseq_block_names(fairseq_layout(file, "encoder.layers.3."));
  in_model.prefix = "encoder.layers.3.";
  in_model.ignored.insert(in_model.ignored.end(), {"encoder", "decoder"});
  expect_loads(block, file, in_model);
}

TEST(Fairseq, ConvolutionsHaveTheNamesOfTheOriginal) {
  using Conv = LightweightConvolution<float>;
  const auto learned = random_layer<Conv>({.channels = 6, .heads = 2, .kernel = 3, .bias = true});
  const auto names = fairseq_convolution_names(ConvolutionForm::lightweight);
  EXPECT_EQ(listed(saved(learned, names)), (Names{"weight [2, 1, 3]", "bias [6]"}));
  expect_loads(learned, saved(learned, names), names);
  const auto predicted = random_layer<Conv>(
      {.channels = 6, .heads = 2, .kernel = 3, .form = ConvolutionForm::dynamic, .score_bias = true, .bias = true});
  const auto dynamic_names = fairseq_convolution_names(ConvolutionForm::dynamic);
  EXPECT_EQ(listed(saved(predicted, dynamic_names)),
            (Names{"weight_linear.weight [6, 6]", "weight_linear.bias [6]", "conv_bias [6]"}));
  expect_loads(predicted, saved(predicted, dynamic_names), dynamic_names);
}

TEST(Fairseq, BlocksHaveTheOptionsOfThePaper) {
  const auto config = fairseq_block(512, 2048, {.heads = 8, .kernel = 31});
  EXPECT_EQ(config.channel_mixer.activation, Activation::relu);
  EXPECT_EQ(config.norm_position, NormPosition::post);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(fairseq_block(512, 2048, {.heads = 8}, NormPosition::pre).norm_position, NormPosition::pre);
}

}  // namespace
}  // namespace gated::fairseq_test
