#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "gated/layers/transformer_block.hpp"
#include "gated/models/language_model.hpp"

/// @file
/// Transformers with gated feed-forwards over text: Llama-style decoders and ModernBERT-style encoders.

namespace gated {

/// The options of a text transformer.
using TextTransformerConfig = LanguageModelConfig<StackConfig<GluTransformerBlockConfig>>;

/// Embeddings → attention and gated feed-forwards → norm → logits, hidden states or a vector per text. transformer_decoder()
/// and transformer_encoder() build its options; io/text_transformer.hpp loads published models. See LanguageModel.
///
///     TextTransformer<float> model(decoder_presets::smollm2_135m(), random);
///     auto state = model.start(2048);
///     model.extend(prompt, state, logits, workspace);
template <class T>
using TextTransformer = LanguageModel<Stack<GluTransformerBlock<T>>>;

/// The sizes and options of a Llama-style decoder: Llama, Mistral, Qwen2, Qwen3, and Qwen3 with gated attention.
struct DecoderSizes {
  Index vocabulary = 0;                      ///< V
  Index channels = 0;                        ///< C
  Index hidden = 0;                          ///< F
  Index depth = 0;                           ///< layers
  Index heads = 0;                           ///< H
  Index key_value_heads = 0;                 ///< G; 0 means H
  Index head_width = 0;                      ///< a; 0 means C / H
  double rotary_base = 10000;                ///< rotary base of all layers
  double eps = 1e-5;                         ///< ε of all norms
  HeadForm head = HeadForm::tied;            ///< no head, or logits with the embedding matrix (tied) or a separate one
  Activation activation = Activation::silu;  ///< activation of the feed-forward's gate
  bool bias = false;                         ///< bias of queries, keys, values and attention gates
  bool out_bias = false;                     ///< bias of the attention's output projection
  bool hidden_bias = false;                  ///< biases of the feed-forward
  bool query_key_norm = false;               ///< RMSNorm of each head's queries and keys
  AttentionGate gate = AttentionGate::none;  ///< gate on the heads' outputs
  Index window = 0;                          ///< tokens that a windowed layer sees; 0 for no windows
  std::vector<bool> windowed = {};           ///< which layers have the window, repeated cyclically; empty for all
};

namespace detail {

/// The options of a decoder layer, including the window.
inline GluTransformerBlockConfig decoder_block(const DecoderSizes& s) {
  return {.channels = s.channels,
          .token_norm = NormForm::rms_norm,
          .channel_norm = NormForm::rms_norm,
          .norm_eps = s.eps,
          .token_mixer = {.heads = s.heads,
                          .key_value_heads = s.key_value_heads,
                          .head_width = s.head_width,
                          .causal = true,
                          .window = s.window,
                          .rotary = Rotary::half,
                          .rotary_base = s.rotary_base,
                          .query_key_norm = s.query_key_norm ? NormForm::rms_norm : NormForm::none,
                          .query_key_norm_eps = s.eps,
                          .gate = s.gate,
                          .bias = s.bias,
                          .gate_bias = s.bias,
                          .out_bias = s.out_bias},
          .channel_mixer = {.hidden = s.hidden, .activation = s.activation, .bias = s.hidden_bias, .out_bias = s.hidden_bias}};
}

}  // namespace detail

/// h = E[token]; then h += attention(RMSNorm(h)) and h += SwiGLU(RMSNorm(h)) in each layer; logits = RMSNorm(h) Wᵀ
/// (arXiv:2302.13971). RoPE pairs channels i and i + a/2 of each head, as in Hugging Face's files.
inline TextTransformerConfig transformer_decoder(const DecoderSizes& s) {
  const GluTransformerBlockConfig block = detail::decoder_block(s);
  TextTransformerConfig config{.vocabulary = s.vocabulary,
                               .final_norm = NormForm::rms_norm,
                               .final_norm_eps = s.eps,
                               .head = {.form = s.head, .norm = NormForm::none},
                               .trunk = {.depth = s.depth, .block = block}};
  if (s.window > 0 && !s.windowed.empty()) {
    config.trunk.block.token_mixer.window = 0;
    config.trunk.others = {block};
    config.trunk.kinds.assign(s.windowed.begin(), s.windowed.end());
  }
  return config;
}

/// The output of an encoder.
enum class EncoderHead {
  none,          ///< hidden states, and one vector per text: LanguageModel::pooled()
  masked_words,  ///< masked-LM logits
  classifier     ///< hidden states, and class scores per text
};

/// The sizes and options of a ModernBERT-style encoder.
struct EncoderSizes {
  Index vocabulary = 50368;                       ///< V
  Index channels = 768;                           ///< C
  Index hidden = 1152;                            ///< F
  Index depth = 22;                               ///< layers
  Index heads = 12;                               ///< H
  Index global_every = 3;                         ///< n: if `local` is empty, layers 0, n, 2n, … are global
  std::vector<bool> local = {};                   ///< which layers see only a window; layers beyond its end are global
  Index window = 128;                             ///< local layers see ⌊window / 2⌋ tokens on each side
  double global_base = 160000;                    ///< rotary base of global layers
  double local_base = 10000;                      ///< rotary base of local layers
  double eps = 1e-5;                              ///< ε of all norms
  Activation activation = Activation::gelu;       ///< activation of the feed-forward's gate
  bool norm_bias = false;                         ///< bias of all norms
  bool attention_bias = false;                    ///< bias of the attention's projections
  bool hidden_bias = false;                       ///< bias of the feed-forward's projections
  EncoderHead head = EncoderHead::none;           ///< the output
  HeadForm decoder = HeadForm::tied;              ///< matrix of the masked-LM logits: tied to the embedding, or untied
  bool decoder_bias = true;                       ///< bias of the masked-LM logits
  Index classes = 2;                              ///< classes of the classifier
  TextPooling pooling = TextPooling::first;       ///< how pooled() reduces a text to one vector
  bool unit_length = false;                       ///< scale the pooled vector to length 1
  Activation head_activation = Activation::gelu;  ///< activation of the dense layer before the logits or class scores
  bool head_bias = false;                         ///< bias of the dense layer before the logits or class scores
};

namespace detail {

/// The options of an encoder's layers. StackConfig::kinds is 0 for global layers, 1 for local layers, and 2 for the first
/// layer, which lacks its first norm.
inline StackConfig<GluTransformerBlockConfig> encoder_trunk(const EncoderSizes& s, NormForm norm) {
  require<ArgumentError>(s.window >= 0 && (s.global_every > 0 || !s.local.empty()), "transformer_encoder: window = ", s.window,
                         " must not be negative, and global_every = ", s.global_every, " must be positive.");
  const GluTransformerBlockConfig global{
      .channels = s.channels,
      .token_norm = norm,
      .channel_norm = norm,
      .norm_eps = s.eps,
      .token_mixer = {.heads = s.heads,
                      .rotary = Rotary::half,
                      .rotary_base = s.global_base,
                      .bias = s.attention_bias,
                      .out_bias = s.attention_bias},
      .channel_mixer = {.hidden = s.hidden, .activation = s.activation, .bias = s.hidden_bias, .out_bias = s.hidden_bias}};
  GluTransformerBlockConfig local = global;
  local.token_mixer.window = std::max<Index>(s.window, 1);  // with a window of 0 or 1, a token sees only itself
  local.token_mixer.rotary_base = s.local_base;
  const auto is_local = [&](Index i) {
    return s.local.empty() ? i % s.global_every != 0 : i < std::ssize(s.local) && s.local[static_cast<std::size_t>(i)];
  };
  StackConfig<GluTransformerBlockConfig> trunk{.depth = s.depth, .block = global, .others = {local, local}};
  for (Index i = 0; i < s.depth; ++i) {
    trunk.kinds.push_back(i == 0 ? 2 : is_local(i) ? 1 : 0);
  }
  trunk.others[1] = s.depth > 0 && is_local(0) ? local : global;
  trunk.others[1].token_norm = NormForm::none;
  return trunk;
}

}  // namespace detail

/// ModernBERT (arXiv:2412.13663): h = LN(E[token]); then h += attention(LN(h)) and h += GeGLU(LN(h)) in each layer, the first
/// layer without its first norm; finally LN(h). Local layers see the tokens with |i - j| ≤ ⌊window / 2⌋.
inline TextTransformerConfig transformer_encoder(const EncoderSizes& s) {
  const NormForm norm = s.norm_bias ? NormForm::layer_norm : NormForm::layer_norm_no_bias;
  return {.vocabulary = s.vocabulary,
          .embedding_norm = norm,
          .embedding_norm_eps = s.eps,
          .final_norm = norm,
          .final_norm_eps = s.eps,
          .pooling = s.pooling,
          .pooler = s.head == EncoderHead::classifier,
          .pooler_activation = s.head_activation,
          .pooler_norm = norm,
          .pooler_norm_eps = s.eps,
          .pooler_bias = s.head_bias,
          .unit_length = s.unit_length,
          .classes = s.head == EncoderHead::classifier ? s.classes : 0,
          .head = {.form = s.head == EncoderHead::masked_words ? s.decoder : HeadForm::none,
                   .dense = true,
                   .dense_bias = s.head_bias,
                   .activation = s.head_activation,
                   .norm = norm,
                   .norm_eps = s.eps,
                   .bias = s.decoder_bias},
          .trunk = detail::encoder_trunk(s, norm)};
}

}  // namespace gated
