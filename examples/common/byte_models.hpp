#pragma once

#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"

namespace text {

// The models of train_text and generate_text.
using GmlpModel = gated::GmlpLanguageModel<float>;
using FlashModel = gated::FlashLanguageModel<float>;
using GauModel = gated::GauEncoder<float>;
using TransformerModel = gated::LanguageModel<gated::Stack<gated::TransformerBlock<float>>>;

}  // namespace text
