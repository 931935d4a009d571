#pragma once

#include "gated/gated.hpp"
#include "tests/layers/randomize.hpp"

/// Random models with their signatures, which are the same in every build and on every machine. Change a signature only
/// deliberately, and say so in the release notes. ops/portable_test.cpp and bare_metal/main.cpp check them.

namespace gated::test {

constexpr GmlpConfig causal_gmlp{.length = 128, .channels = 40, .hidden = 72, .depth = 2, .causal = true};

template <class Model>
Model model_to_sign(const typename Model::Config& config) {
  Model model(config);
  randomize(model, 1);
  return model;
}

/// Calls `check(model, signature, signature_int8)` for each model. Models in double have no `signature_int8`.
template <class F>
void for_each_signed_model(const F& check) {
  check(model_to_sign<Gmlp<float>>(causal_gmlp), "4322a82df1902945", "e6a839b6f82586fb");
  check(model_to_sign<Gmlp<double>>(causal_gmlp), "fcfb91d1779864ec", "");
  GmlpConfig amlp = causal_gmlp;
  amlp.causal = false;
  amlp.attention_width = 16;
  check(model_to_sign<Gmlp<float>>(amlp), "04a13e986ae6a15a", "e6dc42f5cb0b5878");

  flash_presets::Sizes flash{.channels = 40, .query_key = 16, .chunk = 16, .causal = false};
  check(model_to_sign<Flash<float>>({.depth = 2, .block = flash_presets::lucidrains(flash)}), "a4926674115292c7",
        "9cdd7640aff83f11");
  flash.causal = true;
  check(model_to_sign<Flash<float>>({.depth = 2, .block = flash_presets::lucidrains(flash)}), "9305eed26dc050fa",
        "ee33d07dd0319de0");

  using Gau = Stack<GatedAttentionUnit<float>>;
  const gau_presets::Sizes gau{.channels = 40, .max_length = 128, .query_key = 16};
  check(model_to_sign<Gau>({.depth = 2, .block = gau_presets::gau_alpha(gau)}), "e2c0430ffaf46f69", "74966e3da50b8dc7");
  check(model_to_sign<Gau>({.depth = 2, .block = gau_presets::rtmcc(gau)}), "deef93c193946775", "998fc8cb7881255c");

  using Synthesizer = Stack<MixerBlock<SynthesizerAttention<float>, GluFeedForward<float>>>;
  check(model_to_sign<Synthesizer>({.depth = 1,
                                    .block = {.channels = 40,
                                              .token_mixer = {.heads = 2,
                                                              .max_length = 128,
                                                              .form = SynthesizerForm::dense,
                                                              .mixture = SynthesizerMixture::learned},
                                              .channel_mixer = {.hidden = 50}}}),
        "8004ec20c8a45c70", "92131d6cf66c237f");

  using LightConvs = Stack<LightConvBlock<float>>;
  LightConvs::Config convolution{.depth = 2,
                                 .block = {.channels = 40,
                                           .token_mixer = {.hidden = 80, .heads = 2, .kernel = 9, .causal = true},
                                           .channel_mixer = {.hidden = 50}}};
  check(model_to_sign<LightConvs>(convolution), "a396eec11ced578b", "af2a41dce4e74d71");
  convolution.block.token_mixer.form = ConvolutionForm::dynamic;
  check(model_to_sign<LightConvs>(convolution), "24d9a17fc13628b4", "4f999617fdbd4ee1");

  FnetSizes fnet_sizes{.channels = 26, .hidden = 40, .depth = 2, .vocabulary = 31, .max_length = 128};
  check(model_to_sign<Fnet<float>>(fnet(FnetHead::masked_words, fnet_sizes)), "e8b8c29559e34b02", "784724145e1053ab");
  fnet_sizes.max_length = 22;
  check(model_to_sign<Fnet<float>>(fnet(FnetHead::masked_words, fnet_sizes)), "e4eb452bdf8c8727", "233f439368595286");

  TinyTimeMixerConfig series{.series = 3,
                             .context = 21,
                             .patch = 6,
                             .stride = 4,
                             .horizon = 5,
                             .backbone = {.channels = 24, .depth = 1, .levels = 2},
                             .decoder = {.channels = 20, .depth = 1}};
  check(model_to_sign<TinyTimeMixer<float>>(series), "a1469a11c8067101", "aaf620737d554acb");
  series.resolutions = 4;
  series.known = {2};
  series.forecast_mixing.enabled = true;
  check(model_to_sign<TinyTimeMixer<float>>(series), "4ec28b71d057cfa0", "e5806681f753242d");

  // Norms of 64 channels or more sum them in several accumulators.
  check(model_to_sign<Gmlp<float>>({.length = 20, .channels = 90, .hidden = 60, .depth = 1}), "c0f9ed9a767f376f",
        "499d7aeb91479510");
  check(model_to_sign<TextTransformer<float>>(transformer_encoder({.vocabulary = 31,
                                                                   .channels = 16,
                                                                   .hidden = 24,
                                                                   .depth = 2,
                                                                   .heads = 2,
                                                                   .window = 8,
                                                                   .head = EncoderHead::classifier,
                                                                   .classes = 3})),
        "98eb75525fe74fe9", "bbf1f2a6e9e51678");
}

}  // namespace gated::test
