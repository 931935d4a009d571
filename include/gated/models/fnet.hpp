#pragma once

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/fourier_mixing.hpp"
#include "gated/layers/mixer_block.hpp"
#include "gated/models/language_model.hpp"

/// @file
/// FNet: an encoder that mixes tokens by Fourier transform.

namespace gated {

/// An FNet block: y = norm₁(x + Re(F_n x F_d)), then norm₂(y + feed-forward(y)); F_n and F_d are DFT matrices. This post-norm
/// form needs norm_position = post, as set by fnet_encoder(); the default is pre-norm.
template <class T>
using FnetBlock = MixerBlock<FourierMixing<T>, FeedForward<T>>;
/// The options of an FNet block.
using FnetBlockConfig = MixerBlockConfig<FourierMixingConfig, FeedForwardConfig>;

/// A stack of FNet blocks: Hugging Face's FNetEncoder.
template <class T>
using FnetEncoder = Stack<FnetBlock<T>>;

/// The options of an FNet.
using FnetConfig = LanguageModelConfig<StackConfig<FnetBlockConfig>>;

/// FNet (arXiv:2105.03824) as in Hugging Face Transformers; io/hugging_face.hpp loads its checkpoints.
///
///     Fnet<float> model(fnet_base());                                        // FNetForMaskedLM
///     Matrix<float> logits = model.forward(tokens, Sequences::of_lengths({12, 7}), workspace);
///
/// Masks are not supported: the transform mixes all tokens of a sequence. In a ragged batch, each text is transformed over its
/// own tokens. The original pads all texts of a batch to one length and treats padding like words, so its results depend on
/// the padded length. To reproduce its results, pad each text with id 3 to 512 tokens, as in training. See LanguageModel.
template <class T>
using Fnet = LanguageModel<FnetEncoder<T>>;

/// The output of an FNet.
enum class FnetHead {
  none,          ///< hidden states and a pooler: FNetModel
  masked_words,  ///< masked-LM logits: FNetForMaskedLM
  pretraining    ///< masked-LM logits and next-sentence prediction: FNetForPreTraining
};

/// The sizes of an FNet; the defaults are those of google/fnet-base.
struct FnetSizes {
  Index channels = 768;      ///< C
  Index hidden = 3072;       ///< F
  Index depth = 12;          ///< blocks
  Index vocabulary = 32000;  ///< V
  Index max_length = 512;    ///< positions
  Index token_types = 4;     ///< segment types
};

/// The blocks of Hugging Face's FNet.
inline StackConfig<FnetBlockConfig> fnet_encoder(const FnetSizes& sizes = {}) {
  return {.depth = sizes.depth,
          .block = {.channels = sizes.channels,
                    .norm_position = NormPosition::post,
                    .norm_eps = 1e-12,
                    .channel_mixer = {.hidden = sizes.hidden, .activation = Activation::gelu_tanh}}};
}

/// Hugging Face's FNet of any size.
inline FnetConfig fnet(FnetHead head, const FnetSizes& sizes = {}) {
  return {.vocabulary = sizes.vocabulary,
          .token_types = sizes.token_types,
          .position = PositionForm::learned,
          .max_length = sizes.max_length,
          .embedding_norm = NormForm::layer_norm,
          .embedding_norm_eps = 1e-12,
          .embedding_projection = true,
          .pooler = true,
          .classes = head == FnetHead::pretraining ? 2 : 0,
          .head = {.form = head == FnetHead::none ? HeadForm::none : HeadForm::tied,
                   .dense = true,
                   .activation = Activation::gelu_tanh,
                   .norm_eps = 1e-12,
                   .bias = true},
          .trunk = fnet_encoder(sizes)};
}

/// google/fnet-base: 83,485,184 parameters with the masked-LM head.
inline FnetConfig fnet_base(FnetHead head = FnetHead::masked_words) { return fnet(head); }
/// google/fnet-large: 238,029,056 parameters with the masked-LM head.
inline FnetConfig fnet_large(FnetHead head = FnetHead::masked_words) {
  return fnet(head, {.channels = 1024, .hidden = 4096, .depth = 24});
}

}  // namespace gated
