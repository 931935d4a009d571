#pragma once

#include "gated/models/flash_language_model.hpp"
#include "gated/models/gmlp_language_model.hpp"
#include "options.hpp"

namespace text {

using GmlpModel = gated::GmlpLanguageModel<float>;
using FlashModel = gated::FlashLanguageModel<float>;

/// gMLP, or with `attention` aMLP, as options describe it: causal, over bytes, with a Toeplitz spatial weight as in the paper's
/// language models. The hidden width F is the one that comes nearest to options.parameters.
/// Errors: ArgumentError if even the narrowest has more.
gated::GmlpLanguageModelConfig gmlp_config(const Options& options, gated::Index attention);

/// FLASH, likewise; the width that is chosen is E, of gate and value. Positions are relative only (RoPE, the bias of the local
/// scores, token shift), so that a text may be longer than a sequence in training.
gated::FlashLanguageModelConfig flash_config(const Options& options);

}  // namespace text
