#pragma once

#include "common/byte_models.hpp"
#include "options.hpp"

namespace text {

/// What stands in a text for a byte that is to be found: the word after the 256 bytes.
inline constexpr gated::Index mask_token = 256;

/// The words of a model: the bytes, and with --mlm the mask.
inline gated::Index vocabulary_of(const Options& options) { return options.mlm ? mask_token + 1 : 256; }

/// gMLP, or with attention aMLP, as options describe it. It is causal unless it is to fill in masked bytes, as all models here
/// are. The hidden width F is the one that comes nearest to options.parameters.
/// Errors: ArgumentError if even the narrowest has more.
gated::GmlpLanguageModelConfig gmlp_config(const Options& options);

/// FLASH, likewise; the width that is chosen is E, of gate and value. Positions are relative only (RoPE, the bias of the local
/// scores, token shift), so that a text may be longer than a sequence in training.
gated::FlashLanguageModelConfig flash_config(const Options& options);

/// Gated attention units with quadratic scores: A = relu²(q kᵀ / N + B) with rotary positions and a Toeplitz bias B, as in the
/// FLASH paper, but divided by the longest sequence N so that a stream has the same scores. The width that is chosen is E.
gated::GauEncoderConfig gau_config(const Options& options);

/// A Transformer with rotary positions and a Toeplitz bias for each head; the width that is chosen is the feed-forward's.
TransformerModel::Config transformer_config(const Options& options);

}  // namespace text
