#pragma once

#include "gated/models/text_transformer.hpp"

/// @file
/// Sizes and options of published text transformers.

namespace gated {

/// Published decoders.
namespace decoder_presets {

/// llama2.c's TinyStories model stories260K: 260,032 parameters.
inline TextTransformerConfig stories_260k() {
  return transformer_decoder({.vocabulary = 512, .channels = 64, .hidden = 172, .depth = 5, .heads = 8, .key_value_heads = 4});
}
/// llama2.c's stories15M: 15,191,712 parameters.
inline TextTransformerConfig stories_15m() {
  return transformer_decoder({.vocabulary = 32000, .channels = 288, .hidden = 768, .depth = 6, .heads = 6});
}
/// llama2.c's stories42M: 41,689,600 parameters.
inline TextTransformerConfig stories_42m() {
  return transformer_decoder({.vocabulary = 32000, .channels = 512, .hidden = 1376, .depth = 8, .heads = 8});
}
/// llama2.c's stories110M: 109,529,856 parameters.
inline TextTransformerConfig stories_110m() {
  return transformer_decoder({.vocabulary = 32000, .channels = 768, .hidden = 2048, .depth = 12, .heads = 12});
}
/// SmolLM2-135M: 134,515,008 parameters.
inline TextTransformerConfig smollm2_135m() {
  return transformer_decoder({.vocabulary = 49152,
                              .channels = 576,
                              .hidden = 1536,
                              .depth = 30,
                              .heads = 9,
                              .key_value_heads = 3,
                              .rotary_base = 100000});
}
/// SmolLM2-360M: 361,821,120 parameters.
inline TextTransformerConfig smollm2_360m() {
  return transformer_decoder({.vocabulary = 49152,
                              .channels = 960,
                              .hidden = 2560,
                              .depth = 32,
                              .heads = 15,
                              .key_value_heads = 5,
                              .rotary_base = 100000});
}
/// TinyLlama-1.1B: 1,100,048,384 parameters.
inline TextTransformerConfig tinyllama_1_1b() {
  return transformer_decoder({.vocabulary = 32000,
                              .channels = 2048,
                              .hidden = 5632,
                              .depth = 22,
                              .heads = 32,
                              .key_value_heads = 4,
                              .head = HeadForm::untied});
}
/// Qwen2.5-0.5B: 494,032,768 parameters.
inline TextTransformerConfig qwen2_5_0_5b() {
  return transformer_decoder({.vocabulary = 151936,
                              .channels = 896,
                              .hidden = 4864,
                              .depth = 24,
                              .heads = 14,
                              .key_value_heads = 2,
                              .rotary_base = 1e6,
                              .eps = 1e-6,
                              .bias = true});
}
/// Qwen3-0.6B: 596,049,920 parameters.
inline TextTransformerConfig qwen3_0_6b() {
  return transformer_decoder({.vocabulary = 151936,
                              .channels = 1024,
                              .hidden = 3072,
                              .depth = 28,
                              .heads = 16,
                              .key_value_heads = 8,
                              .head_width = 128,
                              .rotary_base = 1e6,
                              .eps = 1e-6,
                              .query_key_norm = true});
}
/// Mistral-7B-v0.1: 7,241,732,096 parameters.
inline TextTransformerConfig mistral_7b() {
  return transformer_decoder({.vocabulary = 32000,
                              .channels = 4096,
                              .hidden = 14336,
                              .depth = 32,
                              .heads = 32,
                              .key_value_heads = 8,
                              .head = HeadForm::untied,
                              .window = 4096});
}

}  // namespace decoder_presets

/// Published encoders.
namespace encoder_presets {

/// ModernBERT-base: 149,014,272 parameters, 149,655,232 with the masked-LM head.
inline TextTransformerConfig modernbert_base(EncoderHead head = EncoderHead::none) {
  return transformer_encoder({.head = head});
}
/// ModernBERT-large: 394,781,696 parameters, 395,881,664 with the masked-LM head.
inline TextTransformerConfig modernbert_large(EncoderHead head = EncoderHead::none) {
  return transformer_encoder({.channels = 1024, .hidden = 2624, .depth = 28, .heads = 16, .head = head});
}
/// An Ettin encoder (arXiv:2507.11412) of any size: ModernBERT with one rotary base for all layers.
inline TextTransformerConfig ettin(Index channels, Index hidden, Index depth, Index heads, EncoderHead head) {
  return transformer_encoder(
      {.channels = channels, .hidden = hidden, .depth = depth, .heads = heads, .local_base = 160000, .head = head});
}
/// Ettin-17M: 16,797,440 parameters, 16,913,600 with the masked-LM head.
inline TextTransformerConfig ettin_17m(EncoderHead head = EncoderHead::none) { return ettin(256, 384, 7, 4, head); }
/// Ettin-32M: 31,883,136 parameters, 32,081,344 with the masked-LM head.
inline TextTransformerConfig ettin_32m(EncoderHead head = EncoderHead::none) { return ettin(384, 576, 10, 6, head); }
/// Ettin-68M: 68,144,640 parameters, 68,457,664 with the masked-LM head.
inline TextTransformerConfig ettin_68m(EncoderHead head = EncoderHead::none) { return ettin(512, 768, 19, 8, head); }
/// Ettin-150M: 149,014,272 parameters, 149,655,232 with the masked-LM head.
inline TextTransformerConfig ettin_150m(EncoderHead head = EncoderHead::none) { return ettin(768, 1152, 22, 12, head); }
/// Ettin-400M: 394,781,696 parameters, 395,881,664 with the masked-LM head.
inline TextTransformerConfig ettin_400m(EncoderHead head = EncoderHead::none) { return ettin(1024, 2624, 28, 16, head); }
/// Ettin-1B: 1,028,050,688 parameters, 1,031,314,112 with the masked-LM head.
inline TextTransformerConfig ettin_1b(EncoderHead head = EncoderHead::none) { return ettin(1792, 3840, 28, 28, head); }
/// granite-embedding-small-english-r2: 47,662,464 parameters. The embedding is the first token's state, scaled to length 1.
inline TextTransformerConfig granite_embedding_small_r2() {
  return transformer_encoder(
      {.channels = 384, .hidden = 1536, .depth = 12, .heads = 12, .global_base = 80000, .unit_length = true});
}

}  // namespace encoder_presets

}  // namespace gated
