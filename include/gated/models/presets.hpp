#pragma once

#include "gated/models/gmlp.hpp"
#include "gated/models/mixer_image_classifiers.hpp"

/// @file
/// Published configurations, under their published names.

namespace gated {

/// The vision models of the gMLP paper (Table 1) as shipped by timm: 30 blocks of hidden width 6·C, mean pooling, eps 1e-6 in
/// block norms and 1e-5 in gate norms.
inline GmlpImageClassifierConfig timm_gmlp(Index channels, Index classes = 1000) {
  return {.classes = classes, .trunk = {.channels = channels, .hidden = 6 * channels, .depth = 30, .norm_eps = 1e-6}};
}

/// timm's gmlp_ti16_224: 5,867,328 parameters.
inline GmlpImageClassifierConfig gmlp_ti16_224(Index classes = 1000) { return timm_gmlp(128, classes); }
/// timm's gmlp_s16_224: 19,422,656 parameters; the only gMLP for which timm publishes weights (top-1 79.65 %).
inline GmlpImageClassifierConfig gmlp_s16_224(Index classes = 1000) { return timm_gmlp(256, classes); }
/// timm's gmlp_b16_224: 73,075,392 parameters.
inline GmlpImageClassifierConfig gmlp_b16_224(Index classes = 1000) { return timm_gmlp(512, classes); }

/// The sizes of MLP-Mixers, gMixers, ResMLPs and ViT-FF.
struct MixerSizes {
  Index depth = 0;            ///< blocks
  Index channels = 0;         ///< C
  Index patch = 16;           ///< side of a patch in pixels
  double layer_scale = 1e-4;  ///< initial branch scale of a ResMLP
};

/// The mean of ImageNet's pixels, by channel.
inline const PerChannel imagenet_mean{0.485, 0.456, 0.406};
/// The standard deviation of ImageNet's pixels, by channel.
inline const PerChannel imagenet_deviation{0.229, 0.224, 0.225};

/// timm's MLP-Mixers: token MLPs of hidden width C/2, channel MLPs of 4·C, LayerNorm eps 1e-6 (arXiv:2105.01601, Table 1).
inline MixerImageClassifierConfig timm_mixer(const MixerSizes& sizes, Index classes = 1000) {
  const Index channels = sizes.channels;
  return {.patch = {sizes.patch, sizes.patch},
          .classes = classes,
          .trunk = {.depth = sizes.depth,
                    .block = {.channels = channels,
                              .norm_eps = 1e-6,
                              .token_mixer = {.hidden = channels / 2},
                              .channel_mixer = {.hidden = 4 * channels}}}};
}

/// timm's gMixers: SwiGLU of hidden width C/2 over the tokens and 2·C over the channels.
inline GmixerImageClassifierConfig timm_gmixer(const MixerSizes& sizes, Index classes = 1000) {
  const Index channels = sizes.channels;
  return {.patch = {sizes.patch, sizes.patch},
          .classes = classes,
          .pixel_mean = imagenet_mean,
          .pixel_deviation = imagenet_deviation,
          .trunk = {.depth = sizes.depth,
                    .block = {.channels = channels,
                              .norm_eps = 1e-6,
                              .token_mixer = {.hidden = channels / 2},
                              .channel_mixer = {.hidden = 2 * channels}}}};
}

/// timm's ResMLPs: affine maps instead of all norms, and scaled branches (arXiv:2105.03404, §2).
inline ResmlpImageClassifierConfig timm_resmlp(const MixerSizes& sizes, Index classes = 1000) {
  return {.patch = {sizes.patch, sizes.patch},
          .classes = classes,
          .norm = NormForm::affine,
          .pixel_mean = imagenet_mean,
          .pixel_deviation = imagenet_deviation,
          .trunk = {.depth = sizes.depth,
                    .block = {.channels = sizes.channels,
                              .token_norm = NormForm::affine,
                              .channel_norm = NormForm::affine,
                              .layer_scale = sizes.layer_scale,
                              .channel_mixer = {.hidden = 4 * sizes.channels}}}};
}

/// ViT-FF, a stack of feed-forward layers (arXiv:2105.02723): channel MLPs of hidden width 4·C, then token MLPs of 4·N after a
/// norm over the tokens. It has a class token. The grid of learned positions is 14 × 14 whatever the patch size.
inline MixerImageClassifierConfig vit_ff(const MixerSizes& sizes, Index classes = 1000) {
  MixerImageClassifierConfig config{.patch = {sizes.patch, sizes.patch},
                                    .classes = classes,
                                    .pooling = Pooling::class_token,
                                    .position_grid = {14, 14},
                                    .pixel_mean = imagenet_mean,
                                    .pixel_deviation = imagenet_deviation,
                                    .trunk = {.depth = sizes.depth,
                                              .block = {.channels = sizes.channels,
                                                        .channels_first = true,
                                                        .token_norm = NormForm::none,
                                                        .norm_eps = 1e-6,
                                                        .token_mixer = {.norm = true, .norm_eps = 1e-6},
                                                        .channel_mixer = {.hidden = 4 * sizes.channels}}}};
  config.trunk.block.token_mixer.hidden = 4 * config.tokens();
  return config;
}

/// ViT-FF's linear_tiny: 7,676,332 parameters.
inline auto vit_ff_tiny_224(Index classes = 1000) { return vit_ff({.depth = 12, .channels = 192}, classes); }
/// ViT-FF's linear_base: 61,943,020 parameters.
inline auto vit_ff_base_224(Index classes = 1000) { return vit_ff({.depth = 12, .channels = 768}, classes); }
/// ViT-FF's linear_large: 206,363,576 parameters.
inline auto vit_ff_large_224(Index classes = 1000) { return vit_ff({.depth = 24, .channels = 1024, .patch = 32}, classes); }

/// timm's mixer_s32_224: 19,104,624 parameters.
inline auto mixer_s32_224(Index classes = 1000) { return timm_mixer({.depth = 8, .channels = 512, .patch = 32}, classes); }
/// timm's mixer_s16_224: 18,528,264 parameters.
inline auto mixer_s16_224(Index classes = 1000) { return timm_mixer({.depth = 8, .channels = 512}, classes); }
/// timm's mixer_b32_224: 60,293,428 parameters.
inline auto mixer_b32_224(Index classes = 1000) { return timm_mixer({.depth = 12, .channels = 768, .patch = 32}, classes); }
/// timm's mixer_b16_224: 59,880,472 parameters.
inline auto mixer_b16_224(Index classes = 1000) { return timm_mixer({.depth = 12, .channels = 768}, classes); }
/// timm's mixer_l32_224: 206,939,264 parameters.
inline auto mixer_l32_224(Index classes = 1000) { return timm_mixer({.depth = 24, .channels = 1024, .patch = 32}, classes); }
/// timm's mixer_l16_224: 208,196,168 parameters.
inline auto mixer_l16_224(Index classes = 1000) { return timm_mixer({.depth = 24, .channels = 1024}, classes); }
/// timm's gmixer_12_224: 12,701,080 parameters.
inline auto gmixer_12_224(Index classes = 1000) { return timm_gmixer({.depth = 12, .channels = 384}, classes); }
/// timm's gmixer_24_224: 24,721,096 parameters.
inline auto gmixer_24_224(Index classes = 1000) { return timm_gmixer({.depth = 24, .channels = 384}, classes); }
/// timm's resmlp_12_224: 15,350,872 parameters.
inline auto resmlp_12_224(Index classes = 1000) { return timm_resmlp({.depth = 12, .channels = 384}, classes); }
/// timm's resmlp_24_224: 30,020,680 parameters.
inline auto resmlp_24_224(Index classes = 1000) {
  return timm_resmlp({.depth = 24, .channels = 384, .layer_scale = 1e-5}, classes);
}
/// timm's resmlp_36_224: 44,690,488 parameters.
inline auto resmlp_36_224(Index classes = 1000) {
  return timm_resmlp({.depth = 36, .channels = 384, .layer_scale = 1e-6}, classes);
}
/// timm's resmlp_big_24_224: 129,138,280 parameters.
inline auto resmlp_big_24_224(Index classes = 1000) {
  return timm_resmlp({.depth = 24, .channels = 768, .patch = 8, .layer_scale = 1e-6}, classes);
}

/// KW-MLP, which spots keywords in a second of speech (arXiv:2110.07749): 424,811 parameters for 35 keywords.
///
/// Each row of the image is a frame of 40 MFCCs, and also a patch: pass a row-major matrix of 98 frames × 40 coefficients.
/// The original cuts the transposed image, [1, 40, 98], into patches of [40, 1] (`.image = {40, 98}, .patch = {40, 1}`).
/// Both forms have equal tokens, weights and results.
inline GmlpImageClassifierConfig kw_mlp(Index classes = 35) {
  return {.image = {98, 40},
          .patch = {1, 40},
          .image_channels = 1,
          .classes = classes,
          .norm_eps = 1e-5,
          .pixel_mean = 0,
          .pixel_deviation = 1,
          .trunk = {.channels = 64, .hidden = 256, .depth = 12, .norm_position = NormPosition::res_post, .drop_path = 0.1}};
}

/// The sizes of a language model of the gMLP paper.
struct PaperLanguageModel {
  Index depth = 0;            ///< blocks
  Index channels = 512;       ///< C
  Index hidden = 3072;        ///< F
  Index attention_width = 0;  ///< width of the tiny attention; 0 for gMLP
  Index length = 512;         ///< N
};

/// The language models of the gMLP paper (Tables 3 to 5): 512 tokens (128 in Table 4), Toeplitz spatial weights, a vocabulary
/// of 32,000, a tied head, no position embedding. Their parameter counts match the paper's in all printed digits.
inline GmlpLanguageModelConfig paper_language_model(const PaperLanguageModel& sizes) {
  return {.vocabulary = 32000,
          .trunk = {.length = sizes.length,
                    .channels = sizes.channels,
                    .hidden = sizes.hidden,
                    .depth = sizes.depth,
                    .spatial = SpatialForm::toeplitz,
                    .attention_width = sizes.attention_width,
                    .attention_bias = true}};
}

/// gMLP-base: 130 M parameters.
inline GmlpLanguageModelConfig gmlp_base() { return paper_language_model({.depth = 48}); }
/// aMLP-base: 109 M parameters.
inline GmlpLanguageModelConfig amlp_base() { return paper_language_model({.depth = 36, .attention_width = 64}); }
/// gMLP-large: 365 M parameters.
inline GmlpLanguageModelConfig gmlp_large() { return paper_language_model({.depth = 96, .channels = 768}); }
/// aMLP-large: 316 M parameters.
inline GmlpLanguageModelConfig amlp_large() {
  return paper_language_model({.depth = 72, .channels = 768, .attention_width = 128});
}
/// gMLP-xlarge: 941 M parameters.
inline GmlpLanguageModelConfig gmlp_xlarge() { return paper_language_model({.depth = 144, .channels = 1024, .hidden = 4096}); }
/// The models of Table 4, for 128 tokens: 59, 102, 187 and 357 M parameters at depth 18, 36, 72 and 144.
inline GmlpLanguageModelConfig gmlp_of_depth(Index depth) { return paper_language_model({.depth = depth, .length = 128}); }

}  // namespace gated
