#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Name maps for checkpoints of ESPnet and WeNet: E-Branchformer's encoder, its layers, and cgMLP. ESPnet and WeNet use the
/// same tensor names, but their attention parameters differ in meaning: see ScorePosition.
///
///     Branchformer<float> encoder(branchformer_presets::espnet_librispeech());
///     load_parameters(encoder, SafetensorsFile("espnet.safetensors"), espnet_names());  // the file of a whole model

namespace gated {

namespace detail {

inline void add_espnet_gating(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs, {{"proj_in", "channel_proj1.0"}, {"gate", "csgu"}, {"proj_out", "channel_proj2"}});
}

inline void add_espnet_layer(NameMap& names, const std::string& ours, const std::string& theirs) {
  add_espnet_gating(names, ours + "gating.", theirs + "cgmlp.");
  names.add(ours, theirs,
            {{"macaron.norm", "norm_ff_macaron"},
             {"macaron.mixer.proj_in", "feed_forward_macaron.w_1"},
             {"macaron.mixer.proj_out", "feed_forward_macaron.w_2"},
             {"attention_norm", "norm_mha"},
             {"attention.query", "attn.linear_q"},
             {"attention.key", "attn.linear_k"},
             {"attention.value", "attn.linear_v"},
             {"attention.position", "attn.linear_pos"},
             {"attention.content_bias", "attn.pos_bias_u"},
             {"attention.position_bias", "attn.pos_bias_v"},
             {"attention.proj_out", "attn.linear_out"},
             {"gating_norm", "norm_mlp"},
             {"merge_conv", "depthwise_conv_fusion"},
             {"merge_proj", "merge_proj"},
             {"feed_forward.norm", "norm_ff"},
             {"feed_forward.mixer.proj_in", "feed_forward.w_1"},
             {"feed_forward.mixer.proj_out", "feed_forward.w_2"},
             {"norm", "norm_final"}});
}

}  // namespace detail

/// Name map to load ESPnet's ConvolutionalGatingMLP as our ConvolutionalGatingMlp.
inline NameMap espnet_gating_names() {
  NameMap names{.origin = "ESPnet"};
  detail::add_espnet_gating(names, "", "");
  return names;
}

/// Name map to load an EBranchformerEncoderLayer as BranchformerLayer.
inline NameMap espnet_layer_names() {
  NameMap names{.origin = "ESPnet"};
  detail::add_espnet_layer(names, "", "");
  return names;
}

/// Name map to load the EBranchformerEncoder in the file of a whole model as Branchformer. The rest of the model is ignored:
/// the front end, the subsampling (`encoder.embed`), the decoder, a transducer's joint network and the CTC head. For a file of
/// the encoder alone, set `prefix` to "".
inline NameMap espnet_names() {
  NameMap names{
      .origin = "ESPnet",
      .prefix = "encoder.",
      .ignored = {"frontend", "normalize", "global_cmvn", "embed", "decoder", "predictor", "joint_network", "joint", "ctc"}};
  detail::add_espnet_layer(names, "trunk.blocks.*.", "encoders.*.");
  names.add("", "", {{"norm", "after_norm"}});
  return names;
}

/// Name map for WeNet's files: the same rules as espnet_names().
inline NameMap wenet_names() {
  NameMap names = espnet_names();
  names.origin = "WeNet";
  return names;
}

}  // namespace gated
