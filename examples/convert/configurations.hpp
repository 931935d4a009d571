#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gated/io/fairseq.hpp"
#include "gated/io/labml.hpp"
#include "gated/io/origin.hpp"
#include "gated/layers/gated_cross_attention.hpp"
#include "gated/models/branchformer.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/fnet.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/pose_head.hpp"
#include "gated/models/presets.hpp"
#include "gated/models/roformer.hpp"
#include "gated/models/speech_separator.hpp"
#include "gated/models/text_transformer.hpp"
#include "gated/models/tiny_time_mixer.hpp"

/// Derives a model's configuration from the shapes in its checkpoint. Supports every origin in gated/io/origin.hpp. Options
/// that leave no trace in a file (causal, an activation, a chunk's length) are set to the defaults of the original code.
/// convert.py does the same in Python, except for text transformers; a test compares the two.

namespace inspect {

using gated::Index, gated::text;

/// The shapes of a file's tensors, looked up by the endings of their names.
class Shapes {
 public:
  explicit Shapes(const gated::SafetensorsFile& file) : file_(file) {}

  bool has(const std::string& ending) const { return gated::tensor_ending(file_, ending) != nullptr; }

  /// True if the file has a tensor `name` with the same prefix as the first tensor that ends in `ending`.
  bool has_beside(std::string_view ending, std::string_view name) const {
    const auto& tensors = file_.tensors();
    const auto mark =
        std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.first.ends_with(ending); });
    return mark != tensors.end() && file_.contains(mark->first.substr(0, mark->first.size() - ending.size()).append(name));
  }

  /// The size, along `axis`, of the tensor whose name ends in `ending`.
  /// Errors: FileError if there is no such tensor or no such axis.
  Index size(const std::string& ending, std::size_t axis) const {
    const gated::TensorEntry* const tensor = gated::tensor_ending(file_, ending);
    gated::require<gated::FileError>(tensor != nullptr && tensor->shape.size() > axis, file_.name(), ": expected a tensor ",
                                     ending, " with at least ", axis + 1, " axes.");
    return tensor->shape[axis];
  }

  std::size_t axes(const std::string& ending) const { return gated::tensor_ending(file_, ending)->shape.size(); }

  /// The number of tensors named `before` i `after`, for i = 0, 1, …
  Index count(const std::string& before, const std::string& after) const { return gated::count_blocks(file_, before, after); }

 private:
  const gated::SafetensorsFile& file_;
};

/// The side of a square with this area.
inline Index side_of(Index area) { return static_cast<Index>(std::lround(std::sqrt(static_cast<double>(area)))); }

// --- timm ---

/// `config` with stem, image and classes derived from the shapes. Images are assumed to be squares of `tokens` patches.
template <class Config>
Config with_timm_stem(Config config, const Shapes& shapes, Index tokens, const std::string& stem = "stem.") {
  config.image_channels = shapes.size(stem + "proj.weight", 1);
  config.patch = {shapes.size(stem + "proj.weight", 2), shapes.size(stem + "proj.weight", 3)};
  config.image = {side_of(tokens) * config.patch.height, side_of(tokens) * config.patch.width};
  config.classes = shapes.has("head.weight") ? shapes.size("head.weight", 0) : 0;
  config.stem_norm = shapes.has(stem + "norm.weight") || shapes.has(stem + "norm.alpha");
  return config;
}

inline gated::GmlpImageClassifierConfig timm_gmlp(const Shapes& shapes) {
  auto config = gated::timm_gmlp(shapes.size("stem.proj.weight", 0));
  config.trunk.hidden = shapes.size("blocks.0.mlp_channels.fc1.weight", 0);
  config.trunk.depth = shapes.count("blocks.", ".norm.weight");
  return with_timm_stem(config, shapes, shapes.size("blocks.0.mlp_channels.gate.proj.weight", 0));
}

/// An MLP-Mixer or gMixer, depending on `preset`.
template <class Config>
Config mixer(const Shapes& shapes, Config (*preset)(const gated::MixerSizes&, Index)) {
  auto config = preset({.depth = shapes.count("blocks.", ".norm1.weight"), .channels = shapes.size("stem.proj.weight", 0)}, 0);
  config.trunk.block.token_mixer.hidden = shapes.size("blocks.0.mlp_tokens.fc2.weight", 1);
  config.trunk.block.channel_mixer.hidden = shapes.size("blocks.0.mlp_channels.fc2.weight", 1);
  return with_timm_stem(config, shapes, shapes.size("blocks.0.mlp_tokens.fc1.weight", 1));
}
inline gated::MixerImageClassifierConfig timm_mixer(const Shapes& shapes) { return mixer(shapes, gated::timm_mixer); }
inline gated::GmixerImageClassifierConfig timm_gmixer(const Shapes& shapes) { return mixer(shapes, gated::timm_gmixer); }

/// A ResMLP. The names of the stem and layers differ between timm and the authors' code.
inline gated::ResmlpImageClassifierConfig resmlp(const Shapes& shapes, const std::string& stem, const std::string& tokens,
                                                 const std::string& channels) {
  auto config = gated::timm_resmlp(
      {.depth = shapes.count("blocks.", ".norm1.alpha"), .channels = shapes.size(stem + "proj.weight", 0)}, 0);
  config.trunk.block.channel_mixer.hidden = shapes.size("blocks.0." + channels + ".fc1.weight", 0);
  return with_timm_stem(config, shapes, shapes.size("blocks.0." + tokens + ".weight", 0), stem);
}
inline gated::ResmlpImageClassifierConfig timm_resmlp(const Shapes& shapes) {
  return resmlp(shapes, "stem.", "linear_tokens", "mlp_channels");
}
inline gated::ResmlpImageClassifierConfig facebook_resmlp(const Shapes& shapes) {
  return resmlp(shapes, "patch_embed.", "attn", "mlp");
}

// --- g-mlp-pytorch ---

inline gated::GmlpConfig lucidrains_trunk(const Shapes& shapes) {
  const bool shifted = shapes.has("layers.0.fn.fn.fn.proj_in.0.weight");
  const std::string block = shifted ? "layers.0.fn.fn.fn." : "layers.0.fn.fn.", gate = block + "sgu.";
  gated::GmlpConfig config{.channels = shapes.size(block + "proj_in.0.weight", 1),
                           .hidden = shapes.size(block + "proj_in.0.weight", 0),
                           .depth = shapes.count("layers.", ".fn.norm.weight")};
  if (shapes.has(gate + "circulant_pos_x")) {
    config.spatial = gated::SpatialForm::scaled_toeplitz;
    config.heads = shapes.size(gate + "weight", 0);
    config.length = shapes.size(gate + "weight", 1);
  } else {
    const std::string weight = gate + (shapes.has(gate + "weight") ? "weight" : "proj.weight");
    const bool has_heads = shapes.axes(weight) == 3 && shapes.size(weight, 2) != 1;
    config.length = shapes.size(weight, has_heads ? 1 : 0);
    config.heads = has_heads ? shapes.size(weight, 0) : 1;
  }
  if (shapes.has(block + "attn.to_qkv.weight")) {
    config.attention_width = shapes.size(block + "attn.to_qkv.weight", 0) / 3;
  }
  return config;
}

inline gated::GmlpImageClassifierConfig lucidrains_vision(const Shapes& shapes) {
  gated::GmlpImageClassifierConfig config{
      .classes = shapes.size("to_logits.2.weight", 0), .norm_eps = 1e-5, .trunk = lucidrains_trunk(shapes)};
  const Index patch = side_of(shapes.size("to_patch_embed.1.weight", 1) / 3), grid = side_of(config.trunk.length);
  config.patch = {patch, patch};
  config.image = {grid * patch, grid * patch};
  config.trunk.length = 0;  // derived from image and patch
  return config;
}

/// A KW-MLP. Each row of the input image is one frame and one patch: see gated::kw_mlp().
inline gated::GmlpImageClassifierConfig kw_mlp(const Shapes& shapes) {
  auto config = gated::kw_mlp(shapes.size("to_logits.2.weight", 0));
  const gated::GmlpConfig trunk = lucidrains_trunk(shapes);
  config.trunk.channels = trunk.channels;
  config.trunk.hidden = trunk.hidden;
  config.trunk.depth = trunk.depth;
  config.patch = {1, shapes.size("to_patch_embed.1.weight", 1)};
  config.image = {trunk.length, config.patch.width};
  return config;
}

inline gated::GmlpLanguageModelConfig lucidrains_text(const Shapes& shapes) {
  return {.vocabulary = shapes.size("to_embed.weight", 0),
          .head = {.form = gated::HeadForm::untied, .bias = true},
          .trunk = lucidrains_trunk(shapes)};
}

// --- FLASH-pytorch and FLASHQuad_pytorch's FLASH ---

/// `config` with the sizes of the layer whose tensor names begin with `layer`.
template <class Config>
Config flash_layer(Config config, const Shapes& shapes, const std::string& layer) {
  config.channels = shapes.size(layer + "to_qk.0.weight", 1);
  config.value = shapes.size(layer + "to_hidden.0.weight", 0) / 2;
  config.query_key = shapes.size(layer + "to_qk.0.weight", 0);
  config.norm = shapes.has(layer + "norm.g") ? gated::NormForm::scale_norm : gated::NormForm::layer_norm;
  return config;
}

inline gated::FlashLanguageModelConfig flash_transformer(const Shapes& shapes) {
  const auto preset =
      gated::flash_presets::lucidrains({.query_key = shapes.size("layers.0.to_qk.0.weight", 0), .causal = false});
  return {.vocabulary = shapes.size("token_emb.weight", 0),
          .position = gated::PositionForm::sinusoid,
          .head = {.form = gated::HeadForm::untied, .bias = true},
          .trunk = {.depth = shapes.count("layers.", ".to_qk.0.weight"), .block = flash_layer(preset, shapes, "layers.0.")}};
}

inline gated::MixedChunkAttentionConfig flash(const Shapes& shapes) {
  auto config = flash_layer(gated::MixedChunkAttentionConfig{}, shapes, "");
  if (shapes.has("rotary_pos_emb.freqs")) {
    config.rotary = gated::Rotary::interleaved;
    config.rotary_dimensions = 2 * shapes.size("rotary_pos_emb.freqs", 0);
  }
  return config;
}

inline gated::GatedAttentionUnitConfig lucidrains_gau(const Shapes& shapes) {
  return flash_layer(gated::gau_presets::lucidrains({.channels = shapes.size("to_qk.0.weight", 1)}), shapes, "");
}

/// True if a JunnYu model has a masked-LM head.
inline bool has_words(const Shapes& shapes) { return shapes.has("cls.predictions.decoder.weight"); }

inline gated::FlashLanguageModelConfig junnyu_flash(const Shapes& shapes) {
  const auto preset = gated::flash_presets::junnyu({.query_key = shapes.size("layers.0.to_qk.0.weight", 0)});
  return {.vocabulary = shapes.size("embeddings.word_embeddings.weight", 0),
          .position = gated::PositionForm::sinusoid,
          .head = {.form = has_words(shapes) ? gated::HeadForm::tied : gated::HeadForm::none, .bias = true},
          .trunk = {.depth = shapes.count("layers.", ".to_qk.0.weight"), .block = flash_layer(preset, shapes, "layers.0.")}};
}

// --- JunnYu's encoders ---

/// `config` with vocabulary, sizes and head derived from the shapes. A layer's output weight is named layer.*.`out`.
inline gated::GauEncoderConfig junnyu_encoder(gated::GauEncoderConfig config, const Shapes& shapes, const std::string& out) {
  config.vocabulary = shapes.size("embeddings.word_embeddings.weight", 0);
  config.token_types = shapes.size("embeddings.token_type_embeddings.weight", 0);
  config.trunk.depth = shapes.count("layer.", "." + out);
  config.trunk.block.channels = shapes.size("embeddings.word_embeddings.weight", 1);
  config.trunk.block.value = shapes.size("layer.0." + out, 1);
  config.head.form = has_words(shapes) ? gated::HeadForm::tied : gated::HeadForm::none;
  return config;
}

inline gated::GauEncoderConfig flash_quad(const Shapes& shapes) {
  auto layer = gated::gau_presets::flash_quad_junnyu(
      {.max_length = shapes.size("embeddings.scaledsin_embeddings", 0), .query_key = shapes.size("layer.0.weight", 1)});
  layer.norm = shapes.has("layer.0.LayerNorm.scala") ? gated::NormForm::scale_norm_rsqrt : gated::NormForm::layer_norm;
  return junnyu_encoder(gated::gau_presets::flash_quad_encoder({.masked_words = has_words(shapes)}, layer), shapes, "o.weight");
}

inline gated::GauEncoderConfig gau_alpha(const Shapes& shapes) {
  auto layer = gated::gau_presets::gau_alpha({.query_key = shapes.size("layer.0.gau.q_scaleoffset.weight", 0)});
  layer.bias = layer.offset_bias = shapes.has("layer.0.gau.i_dense.bias");
  return junnyu_encoder(gated::gau_presets::gau_alpha_encoder({.masked_words = has_words(shapes)}, layer), shapes,
                        "gau.o_dense.weight");
}

// --- mmpose, labml, fairseq, transformers ---

inline gated::GatedAttentionUnitConfig rtmcc(const Shapes& shapes) {
  auto config = gated::gau_presets::rtmcc({.channels = shapes.size("uv.weight", 1), .query_key = shapes.size("gamma", 1)});
  config.value = shapes.size("o.weight", 1);
  config.out = shapes.size("o.weight", 0);
  config.bias = shapes.has("uv.bias");
  config.residual = shapes.has("res_scale.scale") ? gated::Residual::scaled : gated::Residual::none;
  if (shapes.has("w")) {
    config.relative_bias = gated::RelativeBiasForm::toeplitz;
    config.max_length = (shapes.size("w", 0) + 1) / 2;
  }
  return config;
}

/// RTMPose's head. Assumes two coordinate bins per pixel, and a feature map with the image's aspect ratio.
inline gated::PoseHeadConfig rtmcc_head(const Shapes& shapes) {
  const gated::ImageSize input{shapes.size("cls_y.weight", 0) / 2, shapes.size("cls_x.weight", 0) / 2};
  const double area = static_cast<double>(std::max<Index>(shapes.size("mlp.1.weight", 1), 1));
  const auto pixels = static_cast<double>(input.height) * static_cast<double>(input.width);
  const Index stride = std::max<Index>(static_cast<Index>(std::sqrt(pixels / area)), 1);
  auto config = gated::rtmpose_head(shapes.size("final_layer.weight", 1), shapes.size("final_layer.weight", 0), input);
  config.features = {input.height / stride, input.width / stride};
  config.kernel = shapes.size("final_layer.weight", 2);
  config.unit = rtmcc(shapes);
  return config;
}

inline gated::GatedCrossAttentionConfig rtmcc_cross(const Shapes& shapes) {
  return {.channels = shapes.size("uv.weight", 1),
          .key_channels = shapes.size("k_fc.weight", 1),
          .value_channels = shapes.size("v_fc.weight", 1),
          .value = shapes.size("o.weight", 1),
          .query_key = shapes.size("k_fc.weight", 0),
          .bias = shapes.has("uv.bias"),
          .residual = shapes.has("res_scale.scale") ? gated::Residual::scaled : gated::Residual::none};
}

inline gated::GmlpConfig labml(const Shapes& shapes) {
  return gated::labml_block_config(shapes.size("proj1.weight", 1), shapes.size("proj1.weight", 0),
                                   shapes.size("sgu.weight", 0));
}

/// A layer of a LightConv model; decoder layers are causal. For predicted taps, the shapes determine only the product H·K of
/// the number of heads and the kernel size. H = gcd(H·K, D) if K and D / H have no common factor, as in all published models.
inline gated::LightConvBlockConfig light_conv_block(const Shapes& shapes) {
  const std::string learned = "conv.weight", predicted = "conv.weight_linear.weight";
  const Index width = shapes.size("linear2.weight", 1);
  gated::LightConvConfig mixer{
      .hidden = width, .glu = shapes.size("linear1.weight", 0) != width, .causal = shapes.has("conv_layer_norm.weight")};
  if (shapes.has(predicted)) {
    mixer.form = gated::ConvolutionForm::dynamic;
    mixer.heads = std::gcd(shapes.size(predicted, 0), width);
    mixer.kernel = shapes.size(predicted, 0) / std::max<Index>(mixer.heads, 1);
  } else {
    mixer.heads = shapes.size(learned, 0);
    mixer.kernel = shapes.size(learned, shapes.axes(learned) - 1);
  }
  return gated::fairseq_block(shapes.size("linear2.weight", 0), shapes.size("fc1.weight", 0), mixer);
}

inline gated::FnetSizes fnet_sizes(const Shapes& shapes) {
  return {.channels = shapes.size("layer.0.intermediate.dense.weight", 1),
          .hidden = shapes.size("layer.0.intermediate.dense.weight", 0),
          .depth = shapes.count("layer.", ".fourier.output.LayerNorm.weight")};
}

inline gated::StackConfig<gated::FnetBlockConfig> fnet_encoder(const Shapes& shapes) {
  return gated::fnet_encoder(fnet_sizes(shapes));
}

inline gated::FnetConfig fnet(const Shapes& shapes) {
  gated::FnetSizes sizes = fnet_sizes(shapes);
  sizes.vocabulary = shapes.size("embeddings.word_embeddings.weight", 0);
  sizes.max_length = shapes.size("embeddings.position_embeddings.weight", 0);
  sizes.token_types = shapes.size("embeddings.token_type_embeddings.weight", 0);
  return gated::fnet(shapes.has("cls.seq_relationship.weight")              ? gated::FnetHead::pretraining
                     : shapes.has("cls.predictions.transform.dense.weight") ? gated::FnetHead::masked_words
                                                                            : gated::FnetHead::none,
                     sizes);
}

// --- granite-tsfm and transformers: forecasters ---

/// A trunk whose tensor names begin with `trunk`.
inline gated::SeriesTrunkConfig series_trunk(const Shapes& shapes, const std::string& trunk, Index channels) {
  const std::string mlp = ".feature_mixer.mlp.fc1.weight", series = ".channel_feature_mixer.mlp.fc1.weight";
  const Index levels = shapes.count(trunk + ".mixers.", ".mixer_layers.0" + mlp);
  const std::string first = trunk + ".mixers.0" + (levels > 0 ? ".mixer_layers.0" : "");
  return {.channels = channels,
          .depth = levels > 0 ? shapes.count(trunk + ".mixers.0.mixer_layers.", mlp) : shapes.count(trunk + ".mixers.", mlp),
          .levels = levels,
          .mixes_series = shapes.has(first + series)};
}

/// A forecaster whose encoder's tensor names begin with `encoder`. Patches are assumed not to overlap.
inline gated::TinyTimeMixerConfig forecaster(const Shapes& shapes, const std::string& encoder) {
  const std::string head = "head.base_forecast_block.weight", forecast_mixer = "head.fcm_block.";
  const std::string backbone = encoder + "mlp_mixer_encoder", decoder = "decoder.decoder_block";
  gated::TinyTimeMixerConfig c;
  c.patch = c.stride = shapes.size(encoder + "patcher.weight", 1);
  c.horizon = shapes.size(head, 0);
  c.backbone = series_trunk(shapes, backbone, shapes.size(encoder + "patcher.weight", 0));
  const bool adapts = shapes.has("decoder.adapter.weight");
  c.decoder = series_trunk(shapes, decoder, adapts ? shapes.size("decoder.adapter.weight", 0) : c.backbone.channels);
  c.has_decoder = c.decoder.depth > 0 || adapts;
  c.decoder = c.has_decoder ? c.decoder : gated::TinyTimeMixerConfig().decoder;
  c.raw_residual = shapes.has("decoder.decoder_raw_embedding.weight");
  c.resolutions = shapes.has(encoder + "freq_mod.0.weight") ? shapes.size(encoder + "freq_mod.0.weight", 0) : 0;
  c.context = (shapes.size(head, 1) / c.width() - (c.resolutions > 0 ? 1 : 0)) * c.patch;
  c.position =
      shapes.has(encoder + "positional_encoder.position_enc") ? gated::PatchPosition::sinusoid : gated::PatchPosition::none;
  for (const std::string& trunk : {backbone, decoder}) {
    for (const std::string block : {".mixers.0", ".mixers.0.mixer_layers.0"}) {
      if (const std::string mlp = trunk + block + ".feature_mixer.mlp.fc1.weight"; shapes.has(mlp)) {
        c.expansion = shapes.size(mlp, 0) / shapes.size(mlp, 1);
        c.gated = shapes.has(trunk + block + ".feature_mixer.gating_block.attn_layer.weight");
      }
      if (const std::string mlp = trunk + block + ".channel_feature_mixer.mlp.fc1.weight"; shapes.has(mlp)) {
        c.series = shapes.size(mlp, 1);
      }
    }
  }
  if (auto& m = c.forecast_mixing; shapes.has(forecast_mixer + "mlp.weight")) {  // assumes that the known series come last
    const Index predicted = shapes.size(forecast_mixer + "mlp.weight", 0),
                width = shapes.size(forecast_mixer + "mlp.weight", 1);
    const bool mixes = shapes.has(forecast_mixer + "fcm_embedding.weight");
    const Index window = mixes ? shapes.size(forecast_mixer + "fcm_embedding.weight", 1) : 2 * m.context + 1;
    m.enabled = true;
    m.context = window / 2;
    m.gated = shapes.has(forecast_mixer + "fcm_gating_block.attn_layer.weight");
    m.depth = shapes.count(forecast_mixer + "exog_mixer.mixers.", ".feature_mixer.mlp.fc1.weight");
    c.series = width / (mixes ? 2 * window : window);
    for (Index k = predicted; k < c.series; ++k) {
      c.known.push_back(k);
    }
  }
  return c;
}

inline gated::TinyTimeMixerConfig ttm(const Shapes& shapes) { return forecaster(shapes, "backbone.encoder."); }

inline gated::TinyTimeMixerConfig patchtsmixer(const Shapes& shapes) {
  auto config = forecaster(shapes, "model.encoder.");
  config.mixes_single_patch = true;
  return config;
}

// --- ClearerVoice-Studio ---

/// A MossFormer2 mask network whose tensor names begin with `network`, for `speakers` speakers.
inline gated::MaskNetworkConfig mask_network(const Shapes& shapes, const std::string& network, Index speakers) {
  const std::string trunk = network + "mdl.intra_mdl.mossformerM.", layer = trunk + "layers.0.", fsmn = trunk + "fsmn.0.";
  const std::string unit = fsmn + "gated_fsmn.", memory = unit + "fsmn.";
  gated::MossFormerBlockConfig block{.channels = shapes.size(network + "conv1d_encoder.weight", 0)};
  block.attention.value = shapes.size(layer + "to_hidden.mdl.1.weight", 0) / 2;
  block.attention.query_key = shapes.size(layer + "to_qk.mdl.1.weight", 0);
  block.attention.kernel = shapes.size(layer + "to_qk.mdl.3.sequential.1.conv.weight", 2);
  block.attention.norm = shapes.has(layer + "to_qk.mdl.0.g") ? gated::NormForm::scale_norm : gated::NormForm::layer_norm;
  block.fsmn.dilated = shapes.has(memory + "conv.conv2.weight");
  block.fsmn.inner = shapes.size(fsmn + "conv1.0.weight", 0);
  block.fsmn.hidden = shapes.size(memory + "linear.weight", 0);
  block.fsmn.order = (shapes.size(memory + (block.fsmn.dilated ? "conv.conv1.weight" : "conv1.weight"), 2) + 1) / 2;
  block.fsmn.kernel = shapes.size(unit + "to_u.mdl.3.sequential.1.conv.weight", 2);
  return {.features = shapes.size(network + "conv1d_encoder.weight", 1),
          .outputs = shapes.size(network + "conv1_decoder.weight", 0),
          .speakers = speakers,
          .positions = shapes.has(network + "pos_enc.scale"),
          .trunk = {.depth = shapes.count(trunk + "layers.", ".to_qk.mdl.1.weight"), .block = block}};
}

inline gated::MaskNetworkConfig enhancer(const Shapes& shapes) { return mask_network(shapes, "mossformer.", 1); }

inline gated::SpeechSeparatorConfig separator(const Shapes& shapes) {
  const Index speakers =
      shapes.size("mask_net.conv1d_out.bias", 0) / std::max<Index>(shapes.size("mask_net.output.0.bias", 0), 1);
  return {.window = shapes.size("enc.conv1d.weight", 2), .masks = mask_network(shapes, "mask_net.", speakers)};
}

// --- ESPnet and WeNet ---

/// An E-Branchformer. Without position scores, its heads are assumed to be 64 wide, because no shape shows their number.
inline gated::BranchformerConfig branchformer(const Shapes& shapes, bool of_wenet) {
  const std::string layer = "encoders.0.", gate = layer + "cgmlp.csgu.";
  const Index channels = shapes.size(layer + "norm_mha.weight", 0);
  const bool has_positions = shapes.has(layer + "attn.linear_pos.weight");
  const double norm_eps = of_wenet ? 1e-5 : 1e-12;
  gated::BranchformerLayerConfig block{.channels = channels,
                                       .heads = std::max<Index>(channels / 64, 1),
                                       .position = of_wenet ? gated::ScorePosition::key : gated::ScorePosition::offset,
                                       .gate_hidden = shapes.size(layer + "cgmlp.channel_proj1.0.weight", 0),
                                       .gate_kernel = shapes.size(gate + "conv.weight", 2),
                                       .merge_kernel = shapes.size(layer + "depthwise_conv_fusion.weight", 2),
                                       .macaron = shapes.has(layer + "feed_forward_macaron.w_1.weight"),
                                       .feed_forward = shapes.has(layer + "feed_forward.w_1.weight"),
                                       .linear_after_convolution = shapes.has(gate + "linear.weight"),
                                       .norm_eps = norm_eps};
  if (has_positions) {
    block.heads = shapes.size(layer + "attn.pos_bias_u", 0);
  } else {
    block.position = gated::ScorePosition::none;
  }
  if (block.feed_forward) {
    block.hidden = shapes.size(layer + "feed_forward.w_1.weight", 0);
  }
  return {.input = has_positions ? gated::EncoderInput::scaled : gated::EncoderInput::placed,
          .norm_eps = norm_eps,
          .trunk = {.depth = shapes.count("encoders.", ".norm_mha.weight"), .block = block}};
}

inline gated::BranchformerConfig espnet(const Shapes& shapes) { return branchformer(shapes, false); }
inline gated::BranchformerConfig wenet(const Shapes& shapes) { return branchformer(shapes, true); }

// --- Text transformers and BS-RoFormer ---

/// The head width assumed if no shape determines it: 64 if `outputs` is a multiple of 64, otherwise `outputs` (one head).
inline Index usual_width(Index outputs) { return outputs % 64 == 0 ? 64 : outputs; }

/// A Llama, Mistral, Qwen2, Qwen3 or gated attention model. Without query and key norms, its heads are assumed to be 64 wide.
inline gated::TextTransformerConfig llama(const Shapes& shapes) {
  const std::string attention = "layers.0.self_attn.", feed_forward = "layers.0.mlp.";
  const Index outputs = shapes.size(attention + "o_proj.weight", 1), queries = shapes.size(attention + "q_proj.weight", 0);
  const bool has_norms = shapes.has(attention + "q_norm.weight");
  const Index keys = shapes.size(attention + "k_proj.weight", 0),
              width = has_norms ? shapes.size(attention + "q_norm.weight", 0) : usual_width(std::gcd(outputs, keys));
  return gated::transformer_decoder({.vocabulary = shapes.size("embed_tokens.weight", 0),
                                     .channels = shapes.size("embed_tokens.weight", 1),
                                     .hidden = shapes.size(feed_forward + "gate_proj.weight", 0),
                                     .depth = shapes.count("layers.", ".input_layernorm.weight"),
                                     .heads = outputs / width,
                                     .key_value_heads = keys / width,
                                     .head_width = width,
                                     .head = shapes.has("lm_head.weight") ? gated::HeadForm::untied : gated::HeadForm::tied,
                                     .bias = shapes.has(attention + "q_proj.bias"),
                                     .out_bias = shapes.has(attention + "o_proj.bias"),
                                     .hidden_bias = shapes.has(feed_forward + "gate_proj.bias"),
                                     .query_key_norm = has_norms,
                                     .gate = queries == outputs       ? gated::AttentionGate::none
                                             : queries == 2 * outputs ? gated::AttentionGate::per_channel
                                                                      : gated::AttentionGate::per_head});
}

/// A ModernBERT; its heads are assumed to be 64 wide.
inline gated::TextTransformerConfig modernbert(const Shapes& shapes) {
  const Index channels = shapes.size("embeddings.tok_embeddings.weight", 1);
  const bool is_classifier = shapes.has("classifier.weight"), has_words = !is_classifier && shapes.has("head.dense.weight");
  return gated::transformer_encoder({.vocabulary = shapes.size("embeddings.tok_embeddings.weight", 0),
                                     .channels = channels,
                                     .hidden = shapes.size("layers.0.mlp.Wo.weight", 1),
                                     .depth = shapes.count("layers.", ".mlp_norm.weight"),
                                     .heads = channels / usual_width(channels),
                                     .norm_bias = shapes.has("final_norm.bias"),
                                     .attention_bias = shapes.has("layers.0.attn.Wqkv.bias"),
                                     .hidden_bias = shapes.has("layers.0.mlp.Wi.bias"),
                                     .head = is_classifier ? gated::EncoderHead::classifier
                                             : has_words   ? gated::EncoderHead::masked_words
                                                           : gated::EncoderHead::none,
                                     .decoder_bias = !has_words || shapes.has("decoder.bias"),
                                     .classes = is_classifier ? shapes.size("classifier.weight", 0) : 0,
                                     .head_bias = shapes.has("head.dense.bias")});
}

/// A transformer of a BS-RoFormer.
inline gated::RoformerConfig roformer(const Shapes& shapes) {
  const Index heads = shapes.size("layers.0.0.to_gates.weight", 0);
  return {
      .trunk =
          gated::roformer_layers({.channels = shapes.size("layers.0.0.to_gates.weight", 1),
                                  .depth = shapes.count("layers.", ".0.to_gates.weight"),
                                  .heads = heads,
                                  .head_width = shapes.size("layers.0.0.to_qkv.weight", 0) / (3 * std::max<Index>(heads, 1)),
                                  .hidden = shapes.size("layers.0.1.net.1.weight", 0),
                                  .rotary = shapes.has("layers.0.0.rotary_embed.freqs")}),
      .norm = shapes.has_beside("layers.0.0.to_gates.weight", "norm.gamma") ? gated::NormForm::l2_norm : gated::NormForm::none};
}

/// Calls `f` with the configuration that `config_of` derives from the shapes in a Model's checkpoint.
template <class Model, auto config_of, class F>
void configure(const Shapes& shapes, const F& f) {
  f(config_of(shapes), std::type_identity<Model>());
}

/// Calls `f(config, std::type_identity<Model>())` with the configuration derived from `file`, which `origin` wrote.
template <class F>
void with_configuration(const gated::SafetensorsFile& file, const gated::Origin& origin, const F& f) {
  static constexpr std::pair<std::string_view, void (*)(const Shapes&, const F&)> known[] = {
      {"timm_names", configure<gated::GmlpImageClassifier<float>, timm_gmlp, F>},
      {"timm_mixer_names", configure<gated::MixerImageClassifier<float>, timm_mixer, F>},
      {"timm_gmixer_names", configure<gated::GmixerImageClassifier<float>, timm_gmixer, F>},
      {"timm_resmlp_names", configure<gated::ResmlpImageClassifier<float>, timm_resmlp, F>},
      {"facebook_resmlp_names", configure<gated::ResmlpImageClassifier<float>, facebook_resmlp, F>},
      {"kw_mlp_names", configure<gated::GmlpImageClassifier<float>, kw_mlp, F>},
      {"lucidrains_vision_names", configure<gated::GmlpImageClassifier<float>, lucidrains_vision, F>},
      {"lucidrains_language_model_names", configure<gated::GmlpLanguageModel<float>, lucidrains_text, F>},
      {"lucidrains_trunk_names", configure<gated::Gmlp<float>, lucidrains_trunk, F>},
      {"lucidrains_flash_transformer_names", configure<gated::FlashLanguageModel<float>, flash_transformer, F>},
      {"lucidrains_flash_names", configure<gated::MixedChunkAttention<float>, flash, F>},
      {"lucidrains_gau_names", configure<gated::GatedAttentionUnit<float>, lucidrains_gau, F>},
      {"flash_quad_names", configure<gated::GauEncoder<float>, flash_quad, F>},
      {"junnyu_flash_names", configure<gated::FlashLanguageModel<float>, junnyu_flash, F>},
      {"gau_alpha_names", configure<gated::GauEncoder<float>, gau_alpha, F>},
      {"rtmcc_head_names", configure<gated::PoseHead<float>, rtmcc_head, F>},
      {"rtmcc_cross_names", configure<gated::GatedCrossAttention<float>, rtmcc_cross, F>},
      {"rtmcc_names", configure<gated::GatedAttentionUnit<float>, rtmcc, F>},
      {"labml_block_names", configure<gated::GmlpBlock<float>, labml, F>},
      {"fairseq_block_names", configure<gated::LightConvBlock<float>, light_conv_block, F>},
      {"ttm_names", configure<gated::TinyTimeMixer<float>, ttm, F>},
      {"patchtsmixer_names", configure<gated::TinyTimeMixer<float>, patchtsmixer, F>},
      {"fnet_names", configure<gated::Fnet<float>, fnet, F>},
      {"fnet_encoder_names", configure<gated::FnetEncoder<float>, fnet_encoder, F>},
      {"llama_names", configure<gated::TextTransformer<float>, llama, F>},
      {"modernbert_names", configure<gated::TextTransformer<float>, modernbert, F>},
      {"bs_roformer_names", configure<gated::Roformer<float>, roformer, F>},
      {"mossformer2_se_names", configure<gated::MaskNetwork<float>, enhancer, F>},
      {"mossformer2_ss_names", configure<gated::SpeechSeparator<float>, separator, F>},
      {"wenet_names", configure<gated::Branchformer<float>, wenet, F>},
      {"espnet_names", configure<gated::Branchformer<float>, espnet, F>},
  };
  const auto* const found =
      std::find_if(std::begin(known), std::end(known), [&](const auto& row) { return row.first == origin.names; });
  gated::require<gated::FileError>(found != std::end(known), file.name(), ": no row in configurations.hpp for ", origin.names,
                                   "(). Add one.");
  found->second(Shapes(file), f);
}

}  // namespace inspect
