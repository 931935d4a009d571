#pragma once

/// @file
/// Everything for inference: layers and models. Files are in gated/io, training in gated/train.

#include "gated/core/summary.hpp"
#include "gated/layers/depthwise_convolution.hpp"
#include "gated/layers/external_attention_head.hpp"
#include "gated/layers/feed_forward.hpp"
#include "gated/layers/gated_cross_attention.hpp"
#include "gated/layers/glu_feed_forward.hpp"
#include "gated/layers/light_conv.hpp"
#include "gated/layers/mixer_block.hpp"
#include "gated/layers/series_mixer_block.hpp"
#include "gated/layers/softmax_gated_mlp.hpp"
#include "gated/layers/synthesizer_attention.hpp"
#include "gated/layers/token_glu.hpp"
#include "gated/layers/token_mlp.hpp"
#include "gated/layers/token_projection.hpp"
#include "gated/layers/transformer_block.hpp"
#include "gated/models/branchformer.hpp"
#include "gated/models/denoise_stream.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/fnet.hpp"
#include "gated/models/gau_encoder.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/inspect.hpp"
#include "gated/models/pose_head.hpp"
#include "gated/models/prepare.hpp"
#include "gated/models/presets.hpp"
#include "gated/models/resize.hpp"
#include "gated/models/sampling.hpp"
#include "gated/models/speech_enhancement.hpp"
#include "gated/models/speech_separator.hpp"
#include "gated/models/tiny_time_mixer.hpp"
#include "gated/models/top_k.hpp"
#include "gated/ops/bf16_products.hpp"
#include "gated/ops/int8_products.hpp"
#include "gated/version.hpp"

#if defined(GATED_COMPILED)
#include "gated/compiled/models.inl"
#endif
