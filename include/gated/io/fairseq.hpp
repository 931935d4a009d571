#pragma once

#include <string>
#include <string_view>

#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/layers/light_conv.hpp"

/// @file
/// Name maps for checkpoints of fairseq's LightConv and DynamicConv models. To load a layer from the file of a whole model:
///
///     const SafetensorsFile file("lightconv.safetensors");
///     NameMap names = fairseq_block_names(fairseq_layout(file, "encoder.layers.3."));
///     names.prefix = "encoder.layers.3.";
///     names.ignored.insert(names.ignored.end(), {"encoder", "decoder"});  // everything outside the layer
///     load_parameters(block, file, names);
///
/// gated has no block for decoder layers with cross-attention (`encoder_attn`).

namespace gated {

/// The configuration of LightConvEncoderLayer or, with `mixer.causal`, of a LightConvDecoderLayer without cross-attention.
/// fairseq's defaults are post-norm, a GLU and filter taps predicted from the input; `normalize_before` means pre-norm.
inline LightConvBlockConfig fairseq_block(Index channels, Index hidden, const LightConvConfig& mixer,
                                          NormPosition norm_position = NormPosition::post) {
  return {.channels = channels,
          .norm_position = norm_position,
          .token_mixer = mixer,
          .channel_mixer = {.hidden = hidden, .activation = Activation::relu}};
}

/// Tensor names and shapes that differ between files of LightConv models.
struct FairseqLayout {
  std::string token_norm = "layer_norms.0";    ///< "layer_norm1" since October 2022; "conv_layer_norm" in decoders
  std::string channel_norm = "layer_norms.1";  ///< "layer_norm2" since October 2022; "final_layer_norm" in decoders
  bool glu = true;                             ///< linear1 stacks the input and gate projections
  ShapeForm taps = ShapeForm::same;            ///< flatten_tail for taps stored as [H, K], as in some CUDA modules
};

/// Detects the layout of the layer whose tensor names begin with `prefix` (NameMap::prefix).
inline FairseqLayout fairseq_layout(const SafetensorsFile& file, std::string_view prefix = "") {
  const auto has = [&](std::string_view name) { return file.contains(text(prefix, name)); };
  const auto shape = [&](std::string_view name) {
    return has(name) ? file.tensor(text(prefix, name)).shape : std::vector<Index>();
  };
  FairseqLayout layout;
  if (has("conv_layer_norm.weight")) {
    layout.token_norm = "conv_layer_norm";
    layout.channel_norm = "final_layer_norm";
  } else if (has("layer_norm1.weight")) {
    layout.token_norm = "layer_norm1";
    layout.channel_norm = "layer_norm2";
  }
  const auto in = shape("linear1.weight"), out = shape("linear2.weight");
  layout.glu = in.size() != 2 || out.size() != 2 || in[0] != out[1];
  layout.taps = shape("conv.weight").size() == 2 ? ShapeForm::flatten_tail : ShapeForm::same;
  return layout;
}

namespace detail {

/// Adds the rules for the convolution at `ours`, called `theirs` in the file. Each path is empty or ends in a dot.
inline void add_fairseq_convolution(NameMap& names, const std::string& ours, const std::string& theirs, const char* bias,
                                    ShapeForm taps) {
  names.add(ours, theirs, {{"weight", "weight", taps}, {"scores", "weight_linear"}, {"bias", bias}});
}

}  // namespace detail

/// Name map to load LightweightConv1dTBC or DynamicConv1dTBC as LightweightConvolution. `taps` is FairseqLayout::taps. The
/// input rows here are sequence after sequence; fairseq's inputs are [time, batch, channels].
inline NameMap fairseq_convolution_names(ConvolutionForm form, ShapeForm taps = ShapeForm::same) {
  NameMap names{.origin = "fairseq"};
  detail::add_fairseq_convolution(names, "", "", form == ConvolutionForm::dynamic ? "conv_bias" : "bias", taps);
  return names;
}

/// Name map to load LightConvEncoderLayer, or LightConvDecoderLayer without cross-attention, as LightConvBlock with the
/// configuration fairseq_block(). Dynamic layers of current fairseq store an unused `conv.conv_bias`, which is ignored.
inline NameMap fairseq_block_names(const FairseqLayout& layout = {}) {
  NameMap names{.origin = "fairseq", .ignored = {"conv.conv_bias"}};
  const Index parts = layout.glu ? 2 : 1;
  names.add("", "",
            {{.ours = "tokens.norm", .theirs = layout.token_norm.c_str()},
             {.ours = "tokens.mixer.proj_in", .theirs = "linear1", .parts = parts},
             {.ours = "tokens.mixer.gate", .theirs = "linear1", .part = 1, .parts = parts},
             {.ours = "tokens.mixer.proj_out", .theirs = "linear2"},
             {.ours = "channels.norm", .theirs = layout.channel_norm.c_str()},
             {.ours = "channels.mixer.proj_in", .theirs = "fc1"},
             {.ours = "channels.mixer.proj_out", .theirs = "fc2"}});
  detail::add_fairseq_convolution(names, "tokens.mixer.conv.", "conv.", "bias", layout.taps);
  return names;
}

}  // namespace gated
