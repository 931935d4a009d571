#include <gtest/gtest.h>

#include "gated/core/summary.hpp"
#include "gated/models/branchformer.hpp"
#include "gated/models/pose_head.hpp"
#include "gated/models/presets.hpp"

namespace gated::parameter_counts_test {
namespace {

/// The number of parameters. With HollowWeights, weights reserve address space but no memory.
template <class Model>
Index count_whole(const typename Model::Config& config) {
  const detail::HollowWeights hollow;
  return parameter_count(Model(config));
}

template <class Model>
Index count_at_depth(typename Model::Config config, Index depth) {
  config.trunk.depth = depth;
  return count_whole<Model>(config);
}

/// The number of parameters, extrapolated from models of one and two blocks, because the largest model needs 4 GB.
template <class Model>
Index count(const typename Model::Config& config) {
  const Index one = count_at_depth<Model>(config, 1), two = count_at_depth<Model>(config, 2);
  return one + (config.trunk.depth - 1) * (two - one);
}

Index count(const GmlpImageClassifierConfig& config) { return count<GmlpImageClassifier<float>>(config); }
Index count(const GmlpLanguageModelConfig& config) { return count<GmlpLanguageModel<float>>(config); }

/// `count` in millions, rounded to two decimals.
double millions(Index count) { return std::round(static_cast<double>(count) / 1e4) / 100; }

TEST(ParameterCounts, MatchTimm) {
  EXPECT_EQ(count(gmlp_ti16_224()), 5'867'328);
  EXPECT_EQ(count(gmlp_s16_224()), 19'422'656);
  EXPECT_EQ(count(gmlp_b16_224()), 73'075'392);
}

TEST(ParameterCounts, MatchThePublishedMixers) {
  const auto expect = [](const auto& config, Index expected) {
    using Model = ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float>;
    EXPECT_EQ(count<Model>(config), expected);
    EXPECT_EQ(count_whole<Model>(config), expected);
  };
  expect(mixer_s32_224(), 19'104'624);
  expect(mixer_s16_224(), 18'528'264);
  expect(mixer_b32_224(), 60'293'428);
  expect(mixer_b16_224(), 59'880'472);
  expect(mixer_b16_224(21843), 75'908'739);
  expect(mixer_b16_224(11221), 67'740'421);
  expect(mixer_l32_224(), 206'939'264);
  expect(mixer_l16_224(), 208'196'168);
  expect(mixer_l16_224(21843), 229'560'243);
  expect(vit_ff_tiny_224(), 7'676'332);
  expect(vit_ff_base_224(), 61'943'020);
  expect(vit_ff_large_224(), 206'363'576);
  expect(gmixer_12_224(), 12'701'080);
  expect(gmixer_24_224(), 24'721'096);
  expect(resmlp_12_224(), 15'350'872);
  expect(resmlp_12_224(0), 14'965'872);
  expect(resmlp_24_224(), 30'020'680);
  expect(resmlp_24_224(0), 29'635'680);
  expect(resmlp_36_224(), 44'690'488);
  expect(resmlp_big_24_224(), 129'138'280);
}

TEST(ParameterCounts, MatchKeywordMlp) {
  EXPECT_EQ(count(kw_mlp()), 424'811);
  EXPECT_EQ(count(kw_mlp(12)), 424'811 - 23 * 65);
}

TEST(ParameterCounts, MatchTheHeadsOfRtmpose) {
  const auto count = [](const PoseHeadConfig& config) { return count_whole<PoseHead<float>>(config); };
  EXPECT_EQ(count(rtmpose_t_head()), 988'307);
  EXPECT_EQ(count(rtmpose_s_head()), 1'094'931);
  EXPECT_EQ(count(rtmpose_m_head()), 1'308'179);
  EXPECT_EQ(count(rtmpose_l_head()), 1'521'427);
  EXPECT_EQ(count(rtmpose_m_head(17, {384, 288})), 1'438'227);
  EXPECT_EQ(count(rtmpose_m_head(133)), 5'673'607);
  EXPECT_EQ(count(rtmpose_x_head()), 2'429'212);
}

TEST(ParameterCounts, ExtrapolationFromTwoBlocksIsExact) {
  EXPECT_EQ(parameter_count(GmlpImageClassifier<float>(gmlp_ti16_224())), 5'867'328);
  EXPECT_EQ(count_whole<GmlpImageClassifier<float>>(gmlp_s16_224()), 19'422'656);
  EXPECT_EQ(count_whole<GmlpImageClassifier<float>>(gmlp_b16_224()), 73'075'392);
  EXPECT_EQ(count_whole<GmlpLanguageModel<float>>(amlp_large()), 315'627'960);
}

TEST(ParameterCounts, MatchThePaperWithClassTokenAndPreLogits) {
  const auto paper = [](GmlpImageClassifierConfig config) {
    config.pooling = Pooling::class_token;
    config.pre_logits = true;
    return count(config);
  };
  EXPECT_EQ(paper(gmlp_ti16_224()), 5'895'788);
  EXPECT_EQ(paper(gmlp_s16_224()), 19'500'524);
  EXPECT_EQ(paper(gmlp_b16_224()), 73'350'380);
}

TEST(ParameterCounts, ExcludeADisabledHead) {
  EXPECT_EQ(count(gmlp_s16_224(0)), 19'422'656 - 1000 * 257);
  EXPECT_EQ(count(gmlp_s16_224(10)), 19'422'656 - 990 * 257);
}

TEST(ParameterCounts, MatchThePaperForLargerImages) {
  GmlpImageClassifierConfig config = gmlp_b16_224(0);
  config.image = {384, 384};
  EXPECT_EQ(count(config), 81'374'592);  // 81 M in the paper, without a head
  config.trunk.channels = 1024;
  config.trunk.hidden = 6144;
  EXPECT_EQ(count(config), 294'336'384);  // 294 M, gMLP-L
}

TEST(ParameterCounts, MatchThePaperForLanguageModels) {
  struct Row {
    GmlpLanguageModelConfig config;
    double printed;  // as printed in the paper, in millions
    Index exact;
  };
  for (const auto& [config, printed, exact] :
       {Row{gmlp_base(), 130, 130'073'552}, Row{amlp_base(), 109, 108'791'516}, Row{gmlp_large(), 365, 365'274'528},
        Row{amlp_large(), 316, 315'627'960}, Row{gmlp_xlarge(), 941, 940'582'768}}) {
    EXPECT_EQ(count(config), exact);
    EXPECT_EQ(std::round(millions(exact)), printed);
  }
}

TEST(ParameterCounts, GrowWithDenseSpatialWeights) {
  const auto dense = [](GmlpLanguageModelConfig config) {
    config.trunk.spatial = SpatialForm::dense;
    return std::round(millions(count(config)) * 10) / 10;
  };
  EXPECT_EQ(dense(gmlp_base()), 142.6);
  EXPECT_EQ(dense(amlp_base()), 118.2);
  EXPECT_EQ(dense(gmlp_large()), 390.3);
  EXPECT_EQ(dense(amlp_large()), 334.4);
}

TEST(ParameterCounts, MatchThePaperAtEveryDepth) {
  EXPECT_EQ(millions(count(gmlp_of_depth(18))), 59.00);
  EXPECT_EQ(millions(count(gmlp_of_depth(36))), 101.61);
  EXPECT_EQ(millions(count(gmlp_of_depth(72))), 186.83);
  EXPECT_EQ(millions(count(gmlp_of_depth(144))), 357.28);
}

TEST(ParameterCounts, MatchTheAblationForUnsplitGates) {
  for (const GateForm form : {GateForm::linear, GateForm::additive, GateForm::multiplicative}) {
    GmlpLanguageModelConfig config = gmlp_of_depth(36);
    config.trunk.gate = form;
    config.trunk.hidden = 2048;
    EXPECT_EQ(millions(count(config)), 92.17) << name_of(form);
  }
}

TEST(ParameterCounts, MatchThePublishedBranchformers) {
  const auto expect = [](const BranchformerConfig& config, Index in_layers) {
    EXPECT_EQ(count<Branchformer<float>>(config), in_layers + 2 * config.trunk.block.channels);  // plus the final norm
  };
  expect(branchformer_presets::wenet_aishell(), 33'022'976);
  expect(branchformer_presets::wenet_aishell(true), 33'022'976);
  expect(branchformer_presets::espnet_librispeech(), 108'660'736);
  expect(branchformer_presets::owsm_v3_1_medium(), 531'468'288);
}

TEST(ParameterCounts, IncludeAnUntiedOutput) {
  GmlpLanguageModelConfig config = gmlp_base();
  config.head = {.form = HeadForm::untied, .bias = true};
  EXPECT_EQ(count(config), count(gmlp_base()) + 32000 * 513);
  config.head.bias = false;
  EXPECT_EQ(count(config), count(gmlp_base()) + 32000 * 512);
}

TEST(Summary, ListsEveryParameterOfAPreset) {
  Random random(1);
  const std::string table = summary(GmlpImageClassifier<float>(gmlp_ti16_224(), random));
  for (const char* const line :
       {"patch_embedding.weight            [128, 3, 16, 16]     98,304\n",
        "patch_embedding.bias              [128]                   128\n",
        "trunk.blocks.0.proj_in.weight     [768, 128]           98,304\n",
        "trunk.blocks.29.gate.norm.bias    [384]                   384\n",
        "trunk.blocks.29.gate.proj.weight  [1, 196, 196]        38,416\n",
        "trunk.blocks.29.proj_out.weight   [128, 384]           49,152\n",
        "head.weight                       [1000, 128]         128,000  all zero: outputs only its bias until trained\n",
        "306 tensors                                         5,867,328\n"}) {
    EXPECT_NE(table.find(line), std::string::npos) << "missing: " << line << "in:\n" << table.substr(0, 900);
  }
  EXPECT_EQ(table.find("never set"), std::string::npos);
  const std::string empty = summary(GmlpImageClassifier<float>(gmlp_ti16_224()));
  EXPECT_NE(empty.find("head.weight                       [1000, 128]         128,000  never set\n"), std::string::npos);
}

}  // namespace
}  // namespace gated::parameter_counts_test
