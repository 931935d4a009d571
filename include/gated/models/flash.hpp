#pragma once

#include "gated/layers/gated_attention_unit.hpp"
#include "gated/layers/mixed_chunk_attention.hpp"
#include "gated/models/language_model.hpp"
#include "gated/models/stack.hpp"

/// @file
/// FLASH and FLASH-Quad (arXiv:2202.10447): trunk, language model and text encoder.

namespace gated {

/// The options of a stack of FLASH layers.
using FlashConfig = StackConfig<MixedChunkAttentionConfig>;

/// A stack of mixed-chunk attention layers (arXiv:2202.10447, §3): see Stack.
///
///     Flash<float> model({.depth = 12, .block = flash_presets::lucidrains({.channels = 512})}, random);
///     Matrix<float> y = model.forward(x, Sequences::single(4096), workspace);
///
/// Scratch memory is that of one layer and grows linearly with the sequence length N (tests/models/flash_memory_test.cpp).
/// With N = 32,768, 512 channels, value = 1024, query_key = 128 and chunk = 256, a causal layer needs 491 MB, or 558 MB on
/// two threads. A matrix of N × N scores would need 4,295 MB.
template <class T>
using Flash = Stack<MixedChunkAttention<T>>;

/// The options of a FLASH language model.
using FlashLanguageModelConfig = LanguageModelConfig<FlashConfig>;

/// Embedding + scaled sinusoid → FLASH layers → norm → logits (lucidrains' FLASHTransformer). The length of a stream is
/// unlimited; its state has constant size. See LanguageModel.
///
///     FlashLanguageModel<float> model({.vocabulary = 256,
///                                      .position = PositionForm::sinusoid,
///                                      .trunk = {.block = flash_presets::lucidrains({.channels = 256})}}, random);
template <class T>
using FlashLanguageModel = LanguageModel<Flash<T>>;

/// The options of a GAU encoder.
using GauEncoderConfig = LanguageModelConfig<StackConfig<GatedAttentionUnitConfig>>;

/// Embeddings (words, segments, positions) → norm → gated attention units → hidden states or masked-LM logits
/// (arXiv:2202.10447), as in JunnYu's FLASH-Quad and GAU-α. io/junnyu.hpp loads their checkpoints. See LanguageModel.
///
///     GauEncoder<float> model({.vocabulary = 12000,
///                              .head = {.form = HeadForm::none},
///                              .trunk = {.depth = 24, .block = gau_presets::gau_alpha({.channels = 768})}}, random);
///     Matrix<float> hidden = model.forward(tokens, Sequences::of_lengths({12, 7}), workspace);
template <class T>
using GauEncoder = LanguageModel<Stack<GatedAttentionUnit<T>>>;

}  // namespace gated
