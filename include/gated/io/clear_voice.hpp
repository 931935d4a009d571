#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Name maps for MossFormer2's `.pt` files from ClearerVoice-Studio (github.com/modelscope/ClearerVoice-Studio). In the
/// comments below, names in parentheses are ClearerVoice-Studio's classes.

namespace gated {

namespace detail {

/// Adds the rules for a ConvolutionalProjection (FFConvM).
inline void add_ff_conv_m(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(
      ours, theirs,
      {{"norm.gain", "mdl.0.g"}, {"norm", "mdl.0"}, {"proj", "mdl.1"}, {"conv.weight", "mdl.3.sequential.1.conv.weight"}});
}

/// Adds the rules for a SharedChunkAttention (FLASH_ShareA_FFConvM).
inline void add_shared_chunk_attention(NameMap& names, const std::string& ours, const std::string& theirs) {
  add_ff_conv_m(names, ours + "hidden.", theirs + "to_hidden.");
  add_ff_conv_m(names, ours + "qk.", theirs + "to_qk.");
  add_ff_conv_m(names, ours + "proj_out.", theirs + "to_out.");
  names.add(ours, theirs,
            {{"offset_scale.weight", "qk_offset_scale.gamma"},
             {"offset_scale.bias", "qk_offset_scale.beta"},
             {.ours = "rotary.frequencies", .theirs = "rotary_pos_emb.freqs", .shared = true}});
}

/// Adds the rules for an Fsmn (UniDeepFsmn or UniDeepFsmn_dilated).
inline void add_fsmn(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs,
            {{"proj_in", "linear"},
             {"proj_out", "project"},
             {"conv.weight", "conv1.weight", ShapeForm::append_one},
             {"memory.conv1.weight", "conv.conv1.weight", ShapeForm::append_one},
             {"memory.conv2.weight", "conv.conv2.weight", ShapeForm::append_one},
             {"memory", "conv"}});
}

/// Adds the rules for a GatedFsmnBlock (Gated_FSMN_Block or Gated_FSMN_Block_Dilated).
inline void add_gated_fsmn_block(NameMap& names, const std::string& ours, const std::string& theirs) {
  add_ff_conv_m(names, ours + "gated_fsmn.to_u.", theirs + "gated_fsmn.to_u.");
  add_ff_conv_m(names, ours + "gated_fsmn.to_v.", theirs + "gated_fsmn.to_v.");
  add_fsmn(names, ours + "gated_fsmn.fsmn.", theirs + "gated_fsmn.fsmn.");
  names.add(ours, theirs,
            {{"proj_in.weight", "conv1.0.weight", ShapeForm::append_one},
             {"proj_in.bias", "conv1.0.bias"},
             {"prelu", "conv1.1"},
             {"norm_in", "norm1"},
             {"norm_out", "norm2"},
             {"proj_out.weight", "conv2.weight", ShapeForm::append_one},
             {"proj_out.bias", "conv2.bias"}});
}

/// Adds the rules for a MossFormer2 trunk (MossFormerM).
inline void add_mossformer2(NameMap& names, const std::string& ours, const std::string& theirs) {
  add_shared_chunk_attention(names, ours + "trunk.blocks.*.attention.", theirs + "mossformerM.layers.*.");
  add_gated_fsmn_block(names, ours + "trunk.blocks.*.fsmn.", theirs + "mossformerM.fsmn.*.");
  names.add(ours, theirs, {{"norm", "norm"}});
}

/// Adds the rules for a MaskNetwork (MossFormer_MaskNet), without the last `left_out` speakers of the file.
inline void add_mask_network(NameMap& names, const std::string& ours, const std::string& theirs, Index left_out) {
  add_mossformer2(names, ours + "trunk.", theirs + "mdl.intra_mdl.");
  const Index parts = 1 + left_out;
  names.add(ours, theirs,
            {{"norm", "norm"},
             {"encoder.weight", "conv1d_encoder.weight", ShapeForm::append_one},
             {"position.scale", "pos_enc.scale"},
             {"position.frequencies", "pos_enc.inv_freq"},
             {"trunk_norm", "mdl.intra_norm"},
             {"prelu", "prelu"},
             {.ours = "speakers.weight", .theirs = "conv1d_out.weight", .form = ShapeForm::append_one, .parts = parts},
             {.ours = "speakers.bias", .theirs = "conv1d_out.bias", .parts = parts},
             {"value.weight", "output.0.weight", ShapeForm::append_one},
             {"value.bias", "output.0.bias"},
             {"gate.weight", "output_gate.0.weight", ShapeForm::append_one},
             {"gate.bias", "output_gate.0.bias"},
             {"decoder.weight", "conv1_decoder.weight", ShapeForm::append_one}});
}

}  // namespace detail

/// Name map to load MossFormer2_SE_48K's network (TestNet) as a MaskNetwork. The last `left_out` speakers of the file are not
/// loaded: SE_48K has two speakers, but never uses the second.
inline NameMap mossformer2_se_names(Index left_out = 1) {
  NameMap names{.origin = "ClearerVoice-Studio"};
  detail::add_mask_network(names, "", "mossformer.", left_out);
  return names;
}

/// Name map to load MossFormer2_SS_16K or SS_8K (MossFormer) as a SpeechSeparator.
inline NameMap mossformer2_ss_names() {
  NameMap names{.origin = "ClearerVoice-Studio"};
  names.add("", "", {{"encoder.weight", "enc.conv1d.weight", ShapeForm::insert_one}, {"decoder.weight", "dec.weight"}});
  detail::add_mask_network(names, "masks.", "mask_net.", 0);
  return names;
}

}  // namespace gated
