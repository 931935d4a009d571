#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/core/settings.hpp"
#include "gated/layers/external_attention.hpp"
#include "gated/layers/gated_cross_attention.hpp"
#include "gated/layers/light_conv.hpp"
#include "gated/layers/synthesizer_attention.hpp"
#include "gated/layers/transformer_block.hpp"
#include "gated/models/branchformer.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/fnet.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/pose_head.hpp"
#include "gated/models/roformer.hpp"
#include "gated/models/sampling.hpp"
#include "gated/models/speech_denoiser.hpp"
#include "gated/models/speech_separator.hpp"
#include "gated/models/text_transformer.hpp"
#include "gated/models/tiny_time_mixer.hpp"
#include "tests/core/numbers.hpp"

namespace gated::huge_sizes_test {
namespace {

constexpr int bits = std::numeric_limits<Index>::digits;

/// Collects the names and addresses of all integers in a configuration.
template <class Config>
void collect(Config& config, const std::string& key, std::vector<std::pair<std::string, Index*>>& out) {
  for_each_setting(
      [&](const char* name, auto& member) {
        using Member = std::remove_reference_t<decltype(member)>;
        const std::string path = key + "." + name;
        if constexpr (gated::detail::HasSettings<Member>) {
          collect(member, path, out);
        } else if constexpr (std::is_same_v<Member, Index>) {
          out.emplace_back(path, &member);
        } else if constexpr (std::is_same_v<Member, std::array<Index, 2>>) {
          out.emplace_back(path + "[0]", &member[0]);
          out.emplace_back(path + "[1]", &member[1]);
        }
      },
      config);
}

/// Sets one size of `config` at a time to `size`, and expects that the model is built or refused with a gated::Error.
template <class Model>
void expect_our_errors(const typename Model::Config& config, Index size) {
  typename Model::Config changed = config;
  std::vector<std::pair<std::string, Index*>> sizes;
  collect(changed, Model::name, sizes);
  ASSERT_FALSE(sizes.empty());
  for (const auto& [name, value] : sizes) {
    SCOPED_TRACE(text(name, " = ", size));
    const Index before = *value;
    *value = size;
    try {
      Model model(changed);
    } catch (const Error& error) {
      EXPECT_EQ(std::string_view(error.what()).find("std::"), std::string_view::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    *value = before;
  }
}

/// Calls expect_our_errors() for small models that cover every kind of size.
void for_each_model(Index size) {
  const GmlpConfig trunk{.length = 4, .channels = 4, .hidden = 8, .depth = 1, .attention_width = 2};
  GmlpConfig toeplitz = trunk;
  toeplitz.spatial = SpatialForm::toeplitz;
  toeplitz.causal = true;
  toeplitz.token_shift = 1;
  expect_our_errors<Gmlp<float>>(trunk, size);
  expect_our_errors<Gmlp<double>>(toeplitz, size);
  expect_our_errors<GmlpLanguageModel<float>>(
      {.vocabulary = 5, .token_types = 2, .position = PositionForm::learned, .max_length = 4, .trunk = trunk}, size);
  expect_our_errors<GmlpLanguageModel<float>>(
      {.vocabulary = 5, .position = PositionForm::sinusoid_table, .max_length = 4, .trunk = trunk}, size);
  expect_our_errors<GmlpImageClassifier<float>>(
      {.image = {4, 4}, .patch = {2, 2}, .image_channels = 1, .classes = 3, .trunk = trunk}, size);
  expect_our_errors<FlashLanguageModel<float>>(
      {.vocabulary = 5, .trunk = {.depth = 1, .block = {.channels = 4, .value = 8, .query_key = 2}}}, size);
  expect_our_errors<GauEncoder<float>>({.vocabulary = 5,
                                        .trunk = {.depth = 1,
                                                  .block = {.channels = 4,
                                                            .value = 8,
                                                            .query_key = 2,
                                                            .max_length = 4,
                                                            .relative_bias = RelativeBiasForm::toeplitz}}},
                                       size);
  expect_our_errors<LanguageModel<Stack<TransformerBlock<float>>>>(
      {.vocabulary = 5, .trunk = {.depth = 1, .block = {.channels = 4, .token_mixer = {.heads = 2}}}}, size);
  expect_our_errors<TextTransformer<float>>(transformer_decoder({.vocabulary = 5,
                                                                 .channels = 4,
                                                                 .hidden = 4,
                                                                 .depth = 1,
                                                                 .heads = 2,
                                                                 .key_value_heads = 1,
                                                                 .head_width = 2,
                                                                 .query_key_norm = true,
                                                                 .gate = AttentionGate::per_channel,
                                                                 .window = 3}),
                                            size);
  expect_our_errors<Roformer<float>>({.trunk = roformer_layers({.channels = 4, .heads = 2, .head_width = 2, .hidden = 4})},
                                     size);
  expect_our_errors<Fnet<float>>(
      fnet(FnetHead::masked_words, {.channels = 4, .hidden = 8, .depth = 1, .vocabulary = 5, .max_length = 4}), size);
  expect_our_errors<TinyTimeMixer<float>>({.series = 2,
                                           .context = 12,
                                           .patch = 4,
                                           .stride = 4,
                                           .horizon = 2,
                                           .resolutions = 2,
                                           .backbone = {.channels = 4, .depth = 1},
                                           .decoder = {.channels = 4, .depth = 1, .mixes_series = true},
                                           .forecast_mixing = {.enabled = true, .context = 1, .depth = 1}},
                                          size);
  for (const auto form : {SynthesizerForm::random, SynthesizerForm::factorized_random, SynthesizerForm::dense,
                          SynthesizerForm::factorized_dense}) {
    expect_our_errors<SynthesizerAttention<float>>(
        {.channels = 4, .heads = 2, .max_length = 4, .form = form, .rank = 2, .factors = {2, 2}}, size);
  }
  expect_our_errors<ExternalAttention<float>>({.channels = 4, .heads = 2, .memories = 3}, size);
  expect_our_errors<PoseHead<float>>(
      {.feature_channels = 2,
       .features = {2, 2},
       .input = {4, 4},
       .key_points = 3,
       .kernel = 3,
       .unit = {.channels = 4, .value = 8, .query_key = 2, .max_length = 3, .relative_bias = RelativeBiasForm::toeplitz}},
      size);
  for (const auto form : {ConvolutionForm::lightweight, ConvolutionForm::dynamic}) {
    expect_our_errors<LightConvBlock<float>>(
        {.channels = 4, .token_mixer = {.heads = 2, .form = form, .causal = true}, .channel_mixer = {.hidden = 4}}, size);
    expect_our_errors<LightweightConvolution<float>>({.channels = 4, .heads = 2, .form = form, .bias = true}, size);
  }
  expect_our_errors<GatedCrossAttention<float>>({.channels = 4, .value = 8, .query_key = 2}, size);
}

/// Calls expect_our_errors() for small speech models.
void for_each_speech_model(Index size) {
  for (const bool dilated : {false, true}) {
    const MossFormer2Config trunk{.depth = 1,
                                  .block = {.channels = 4,
                                            .attention = {.query_key = 2, .kernel = 3},
                                            .fsmn = {.inner = 2, .order = 2, .kernel = 3, .dilated = dilated}}};
    expect_our_errors<MossFormer2<float>>(trunk, size);
    expect_our_errors<MaskNetwork<float>>({.features = 3, .outputs = 2, .trunk = trunk}, size);
    expect_our_errors<SpeechSeparator<float>>({.window = 4, .masks = {.features = 4, .outputs = 4, .trunk = trunk}}, size);
  }
  expect_our_errors<SpeechDenoiser<float>>(
      {.length = 16,
       .hop = 8,
       .blocks = {.depth = 1, .block = {.channels = 4, .inner = 2, .order = 2, .kernel = 3, .causal = true}}},
      size);
  for (const auto position : {ScorePosition::none, ScorePosition::key, ScorePosition::offset}) {
    expect_our_errors<Branchformer<float>>(
        {.trunk = {.depth = 1,
                   .block = {.channels = 4, .heads = 2, .position = position, .gate_kernel = 3, .merge_kernel = 3}}},
        size);
  }
}

TEST(HugeSizes, RaiseOnlyGatedErrors) {
  for (const Index size :
       {Index{1} << (bits - 23), Index{1} << (bits - 13), Index{1} << (bits - 1), std::numeric_limits<Index>::max()}) {
    for_each_model(size);
    for_each_speech_model(size);
  }
}

TEST(HugeSizes, NegativeSizesRaiseOnlyGatedErrors) {
  for (const Index size : {Index{-1}, -(Index{1} << (bits - 23)), std::numeric_limits<Index>::min()}) {
    for_each_model(size);
  }
}

/// False on 32 bits, where a process may be able to allocate any byte count that fits an Index.
constexpr bool is_refused_by_bytes = sizeof(void*) >= 8;

TEST(HugeSizes, AreRefusedWithAByteCount) {
  if (!is_refused_by_bytes) {
    GTEST_SKIP();
  }
  constexpr Index huge = Index{1} << (bits - 13);  // 2^50 on 64 bits
  const auto expect = [](const std::string& message, std::string_view start) {
    EXPECT_TRUE(message.starts_with(start)) << message;
    EXPECT_TRUE(message.ends_with(" bytes, which cannot be allocated. Choose smaller sizes.")) << message;
  };
  expect(test::message_of<MemoryError>([] { Linear<float>(4, huge); }), text("Linear: ", huge, " × 4 elements take "));
  expect(test::message_of<MemoryError>([] { Linear<double>(huge, huge); }),
         text("Linear: ", huge, " × ", huge, " elements take more than ", Count::most));
  expect(test::message_of<MemoryError>([] { Norm<float>(huge, 1e-6); }), text("Norm: ", huge, " × 1 elements take "));
  expect(test::message_of<MemoryError>([] { Gmlp<float>({.length = 2, .channels = 2, .hidden = 2, .depth = huge}); }),
         text("Stack: ", huge, " × 1 elements take "));
  expect(test::message_of<MemoryError>([] { Sampler<float> sampler(huge); }), text("Sampler: ", huge, " × 1 elements take "));
}

TEST(HugeSizes, HugeStatesAreRefusedWithAByteCount) {
  if (!is_refused_by_bytes) {
    GTEST_SKIP();
  }
  Random random(1);
  const GatedAttentionUnit<float> gau(
      {.channels = 4, .value = 8, .query_key = 2, .score_scale = ScoreScale::sqrt_width, .causal = true}, random);
  const SelfAttention<float> attention({.channels = 4, .heads = 2, .causal = true}, random);
  for (const Index capacity : {Index{1} << (bits - 13), Index{1} << (bits - 1), std::numeric_limits<Index>::max() - 1}) {
    for (const auto& message : {test::message_of<MemoryError>([&] { (void)gau.start(capacity); }),
                                test::message_of<MemoryError>([&] { (void)attention.start(capacity); })}) {
      EXPECT_NE(message.find(text("start: ", capacity, " × ")), std::string::npos) << message;
      EXPECT_TRUE(message.ends_with(" bytes, which cannot be allocated. Choose smaller sizes.")) << message;
    }
  }
}

}  // namespace
}  // namespace gated::huge_sizes_test
