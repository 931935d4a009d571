#pragma once

#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_encoder.hpp"
#include "gated/models/gmlp.hpp"

namespace text {

// The models that train_text trains and generate_text opens.
using GmlpModel = gated::GmlpLanguageModel<float>;
using FlashModel = gated::FlashLanguageModel<float>;
using GauModel = gated::GauEncoder<float>;
using TransformerModel = gated::LanguageModel<gated::Stack<gated::TransformerBlock<float>>>;

}  // namespace text
