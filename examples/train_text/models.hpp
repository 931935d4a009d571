#pragma once

#include "common/byte_models.hpp"
#include "options.hpp"

namespace text {

/// The mask token's id; bytes are 0 … 255.
inline constexpr gated::Index mask_token = 256;

/// The size of the vocabulary: the bytes and, if --mlm is given, the mask.
inline gated::Index vocabulary_of(const Options& options) { return options.mlm ? mask_token + 1 : 256; }

/// gMLP, or aMLP if options.attention is set. All models here are causal unless --mlm is given. One width of each model is
/// fitted to bring its parameter count closest to options.parameters; in gMLP it is F, the hidden width.
/// Errors: ArgumentError if even the narrowest model has more parameters.
gated::GmlpLanguageModelConfig gmlp_config(const Options& options);

/// FLASH. The fitted width is E, the width of gate and value. All positions are relative (RoPE, the bias of the local scores,
/// token shift), so a text may be longer than a training sequence.
gated::FlashLanguageModelConfig flash_config(const Options& options);

/// Gated attention units with quadratic scores: A = relu²(q kᵀ / N + B) with rotary positions and a Toeplitz bias B, as in the
/// FLASH paper. N is the maximum length, so streams and batches have equal scores. The fitted width is E, the value width.
gated::GauEncoderConfig gau_config(const Options& options);

/// A Transformer with rotary positions and a Toeplitz bias for each head. The fitted width is the feed-forward's hidden width.
TransformerModel::Config transformer_config(const Options& options);

}  // namespace text
