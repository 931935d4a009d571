#pragma once

#include <string>
#include <vector>

#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/text_transformer.hpp"
#include "gated/train/recording.hpp"
#include "tests/train/steps.hpp"

/// Small language models of each kind, with many options enabled, and texts to run them on.

namespace gated::test {

inline constexpr Index vocabulary = 6;

/// A text of several sequences.
struct Text {
  Sequences sequences;
  std::vector<Index> tokens, types;
  std::vector<std::uint8_t> mask;

  explicit Text(const Sequences& split) : sequences(split) {
    Random random(7);
    for (Index i = 0; i < split.total(); ++i) {
      tokens.push_back(static_cast<Index>(random.uniform() * vocabulary));
      types.push_back(static_cast<Index>(random.uniform() * 3));
      mask.push_back(i % 4 == 1 ? 0 : 1);
    }
  }
};

/// Sequences of 7, 0, 1 and 5 tokens: whole and partial chunks of 3 tokens, an empty sequence, and a single token. Id 0, one of
/// the six, is padding for small_encoder().
inline const Text short_text{Sequences::of_lengths({7, 0, 1, 5})};
/// A text long enough for threads to share the work.
inline const Text long_text{Sequences::of_lengths({150, 90})};

/// Runs a model on a text: operator() records it on a tape and ignores x, and forward() runs inference.
struct OnText {
  const Text* text;
  bool masks = false, types = false;

  Mask mask() const { return masks ? Mask(text->mask) : Mask(); }
  Tokens type_ids() const { return types ? Tokens(text->types) : Tokens(); }

  template <class T, class Model>
  Variable operator()(Tape<T>& tape, const Model& model, Variable) const {
    return record(tape, model, text->tokens, text->sequences, mask(), type_ids());
  }
  template <class T, class Model>
  Matrix<T> forward(const Model& model, Workspace<T>& workspace) const {
    return model.forward(text->tokens, text->sequences, workspace, mask(), type_ids());
  }
  template <class T>
  Matrix<T> no_input() const {
    return Matrix<T>(text->sequences.total(), 0);
  }
};

inline GmlpLanguageModelConfig small_gmlp(Index length) {
  return {.vocabulary = vocabulary,
          .head = {.form = HeadForm::untied, .norm = NormForm::layer_norm},
          .trunk = {.length = length,
                    .channels = 6,
                    .hidden = 8,
                    .depth = 2,
                    .length_policy = LengthPolicy::slice,
                    .causal = true,
                    .heads = 2,
                    .attention_width = 3,
                    .token_shift = 1}};
}

inline FlashLanguageModelConfig small_flash(Index length, bool causal = true) {
  return {.vocabulary = vocabulary,
          .position = PositionForm::sinusoid,
          .max_length = length,
          .head = {.norm = NormForm::layer_norm, .bias = true},
          .trunk = {.depth = 2,
                    .block = {.channels = 6,
                              .value = 5,
                              .query_key = 4,
                              .chunk = 3,
                              .rotary = Rotary::interleaved,
                              .token_shift = true,
                              .causal = causal}}};
}

inline GauEncoderConfig small_encoder(Index length) {
  return {.vocabulary = vocabulary,
          .token_types = 3,
          .position = PositionForm::sinusoid_table,
          .max_length = length,
          .embedding_norm = NormForm::layer_norm,
          .pad_token = 0,
          .head = {.dense = true, .norm = NormForm::layer_norm, .bias = true},
          .trunk = {.depth = 2,
                    .block = {.channels = 6,
                              .value = 5,
                              .query_key = 4,
                              .max_length = length,
                              .relative_bias = RelativeBiasForm::toeplitz,
                              .rotary = Rotary::half}}};
}

template <class T>
using TransformerLanguageModel = LanguageModel<Stack<TransformerBlock<T>>>;

inline LanguageModelConfig<StackConfig<TransformerBlockConfig>> small_transformer(AttentionForm form) {
  return {.vocabulary = vocabulary,
          .token_types = 3,
          .position = PositionForm::sinusoid,
          .trunk = {.depth = 2,
                    .block = {.channels = 6,
                              .token_mixer = {.heads = 3, .form = form, .chunk = 3, .causal = true},
                              .channel_mixer = {.hidden = 7}}}};
}

/// A Llama-style decoder: RMSNorm, RoPE, two query heads per key head, and a window in the second layer.
inline TextTransformerConfig small_decoder() {
  return transformer_decoder({.vocabulary = vocabulary,
                              .channels = 6,
                              .hidden = 7,
                              .depth = 2,
                              .heads = 4,
                              .key_value_heads = 2,
                              .head_width = 4,
                              .window = 3,
                              .windowed = {false, true}});
}

template <class Model, class Config = typename Model::Config>
Model shaken(const Config& config) {
  Model model(config);
  shake(model, 3);
  return model;
}

/// Calls `f(model, run)` for a language model of each kind, with masks and token types if the model takes them.
template <class T, class F>
void for_each_text_model(const Text& text, const F& f) {
  const Index length = text.sequences.longest() + 2;
  const auto call = [&](const char* name, const auto& model, const OnText& run) {
    SCOPED_TRACE(testing::Message() << name << (run.masks ? " with mask" : "") << (run.types ? " with types" : ""));
    f(model, run);
  };
  call("gMLP", shaken<GmlpLanguageModel<T>>(small_gmlp(length)), {&text});
  call("FLASH", shaken<FlashLanguageModel<T>>(small_flash(length)), {&text});
  call("FLASH", shaken<FlashLanguageModel<T>>(small_flash(length, false)), {&text, true});
  call("GAU encoder", shaken<GauEncoder<T>>(small_encoder(length)), {&text, false, true});
  call("GAU encoder", shaken<GauEncoder<T>>(small_encoder(length)), {&text, true});
  call("Transformer", shaken<TransformerLanguageModel<T>>(small_transformer(AttentionForm::softmax)), {&text, true, true});
  call("Llama", shaken<TextTransformer<T>>(small_decoder()), {&text});
  call("FLASH Transformer", shaken<TransformerLanguageModel<T>>(small_transformer(AttentionForm::mixed_chunk)), {&text, true});
}

}  // namespace gated::test
