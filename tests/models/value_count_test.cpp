#include "gated/models/value_count.hpp"

#include <gtest/gtest.h>

#include "gated/models/gau_presets.hpp"
#include "gated/models/presets.hpp"
#include "gmlps.hpp"

namespace gated {
namespace {

/// The values that a model has, all of them built.
template <template <class> class Model, class Config>
Index built(const Config& config) {
  const Model<float> model(config);
  Index count = 0;
  for_each_parameter([&](const ParameterInfo&, auto values) { count += static_cast<Index>(values.size()); }, model);
  return count;
}

TEST(ValueCount, OfAGmlpIsWhatIsBuilt) {
  std::vector<GmlpConfig> configs = test::small_gmlps(true);
  configs.push_back({.length = 1, .channels = 1, .hidden = 2, .depth = 0});
  configs.push_back({.length = 3, .channels = 2, .hidden = 6, .depth = 3, .gate = GateForm::linear, .heads = 2});
  for (const GmlpConfig& config : configs) {
    EXPECT_EQ(value_count(config).value(), built<Gmlp>(config)) << test::describe(config);
    for (const bool both : {false, true}) {
      const GmlpLanguageModelConfig text{.vocabulary = 5, .final_norm = both, .tied = !both, .trunk = config};
      EXPECT_EQ(value_count(text).value(), built<GmlpLanguageModel>(text)) << test::describe(config);
    }
  }
}

TEST(ValueCount, OfAnImageClassifierIsWhatIsBuilt) {
  for (const Readout readout : {Readout::mean, Readout::class_token, Readout::tokens}) {
    for (const Index classes : {0, 7}) {
      const GmlpImageClassifierConfig config{.image = {8, 12},
                                             .patch = {4, 2},
                                             .image_channels = 2,
                                             .classes = classes,
                                             .readout = readout,
                                             .stem_norm = classes == 0,
                                             .pre_logits = classes > 0,
                                             .trunk = {.channels = 3, .hidden = 4, .depth = 2, .attention = 5}};
      EXPECT_EQ(value_count(config).value(), built<GmlpImageClassifier>(config)) << name_of(readout) << ' ' << classes;
    }
  }
  EXPECT_EQ(value_count(gmlp_s16_224()).value(), 19'422'656);
}

/// Every norm, layout, position and bias, and heads of both kinds.
TEST(ValueCount, OfTheAttentionModelsIsWhatIsBuilt) {
  for (const NormForm norm :
       {NormForm::none, NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms}) {
    for (const RelativeBiasForm bias : {RelativeBiasForm::none, RelativeBiasForm::t5, RelativeBiasForm::toeplitz}) {
      for (const PositionForm position : {PositionForm::none, PositionForm::sinusoid, PositionForm::sinusoid_table}) {
        for (const bool both : {false, true}) {
          const auto layout = both ? ProjectionLayout::fused : ProjectionLayout::separate;
          const LanguageModelHeadConfig head{.dense = both, .norm = norm, .tied = !both, .bias = norm != NormForm::none};
          const MixedChunkAttentionConfig mixed{.channels = 6,
                                                .value = 5,
                                                .query_key = 4,
                                                .chunk = 3,
                                                .projection = layout,
                                                .norm = norm,
                                                .relative_bias = bias,
                                                .rotary = both ? Rotary::half : Rotary::none,
                                                .rotary_dimensions = norm == NormForm::rms ? 2 : 0};
          const FlashLanguageModelConfig flash{.vocabulary = 9,
                                               .position = position,
                                               .max_length = 7,
                                               .with_head = norm != NormForm::rms,
                                               .head = head,
                                               .trunk = {.depth = 2, .layer = mixed}};
          EXPECT_EQ(value_count(flash).value(), built<FlashLanguageModel>(flash));
          EXPECT_EQ(value_count(flash.trunk).value(), built<Flash>(flash.trunk));
          const GatedAttentionUnitConfig unit{.channels = 6,
                                              .value = 5,
                                              .query_key = 4,
                                              .max_length = 8,
                                              .projection = layout,
                                              .bias = both,
                                              .offset_bias = !both,
                                              .norm = norm,
                                              .relative_bias = bias,
                                              .rotary = both ? Rotary::interleaved : Rotary::none,
                                              .residual = both ? Residual::scaled : Residual::plain};
          EXPECT_EQ(value_count(unit).value(), built<GatedAttentionUnit>(unit));
          const GauEncoderConfig encoder{.vocabulary = 9,
                                         .token_types = both ? 2 : 0,
                                         .position = position,
                                         .max_length = 7,
                                         .embedding_norm = norm,
                                         .depth = 2,
                                         .layer = unit,
                                         .with_head = !both,
                                         .head = head};
          EXPECT_EQ(value_count(encoder).value(), built<GauEncoder>(encoder));
        }
      }
    }
  }
  const GatedAttentionUnitConfig narrowing{
      .channels = 6, .value = 5, .query_key = 4, .out = 3, .norm_position = NormPosition::post, .residual = Residual::none};
  EXPECT_EQ(value_count(narrowing).value(), built<GatedAttentionUnit>(narrowing));
}

TEST(ValueCount, OfAGatedCrossAttentionIsWhatIsBuilt) {
  for (const NormForm norm : {NormForm::layer_norm, NormForm::scale_norm}) {
    for (const bool option : {false, true}) {
      const GatedCrossAttentionConfig config{.channels = 6,
                                             .key_channels = option ? 3 : 0,
                                             .value_channels = option ? 2 : 0,
                                             .value = 5,
                                             .query_key = 4,
                                             .bias = option,
                                             .norm = norm,
                                             .residual = option ? Residual::scaled : Residual::none};
      EXPECT_EQ(value_count(config).value(), built<GatedCrossAttention>(config));
    }
  }
}

TEST(ValueCount, OfATransformerBlockIsWhatIsBuilt) {
  for (const auto attention : {TransformerAttention::softmax, TransformerAttention::mixed_chunk}) {
    for (const Index hidden : {0, 5}) {
      const TransformerBlockConfig config{.channels = 6, .heads = 2, .feed_forward = hidden, .attention = attention};
      EXPECT_EQ(value_count(config).value(), built<TransformerBlock>(config));
    }
  }
}

TEST(ValueCount, StaysAtTheLargestIndex) {
  GmlpConfig config{.length = Count::most / 2, .channels = 4, .hidden = 4};
  EXPECT_EQ(value_count(config), Count::most);
  config.depth = -1;  // which no constructor takes
  EXPECT_EQ(value_count(config).value(), 0);
}

}  // namespace
}  // namespace gated
