#pragma once

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/glu_feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "gated/layers/self_attention.hpp"

/// @file
/// The standard Transformer block, with a plain or a gated feed-forward layer: the baseline for gated models.

namespace gated {

/// h = x + attention(LN(x)), y = h + W₂ act(W₁ LN(h)) (arXiv:1706.03762), pre-norm by default. See MixerBlock.
///
///     TransformerBlock<float> block({.channels = 512, .token_mixer = {.heads = 8, .causal = true}});
template <class T>
using TransformerBlock = MixerBlock<SelfAttention<T>, FeedForward<T>>;
/// The options of a TransformerBlock.
using TransformerBlockConfig = MixerBlockConfig<SelfAttentionConfig, FeedForwardConfig>;

/// A TransformerBlock with a gated feed-forward layer (arXiv:2002.05202), by default SwiGLU: y = h + W_o (act(W_g LN(h)) ⊙ W_u
/// LN(h)).
///
///     GluTransformerBlock<float> block({.channels = 512, .token_mixer = {.heads = 8}, .channel_mixer = {.hidden = 1376}});
template <class T>
using GluTransformerBlock = MixerBlock<SelfAttention<T>, GluFeedForward<T>>;
/// The options of a GluTransformerBlock.
using GluTransformerBlockConfig = MixerBlockConfig<SelfAttentionConfig, GluFeedForwardConfig>;

}  // namespace gated
