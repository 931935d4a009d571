#include "gated/io/clear_voice.hpp"

#include "../front_ends.hpp"
#include "../inputs.hpp"
#include "gated/io/origin.hpp"
#include "gated/models/speech_enhancement.hpp"
#include "gated/models/speech_separator.hpp"

namespace parity {

namespace clear_voice {

gated::NameMap names_by(void (*add)(gated::NameMap&, const std::string&, const std::string&)) {
  gated::NameMap names;
  add(names, "", "");
  return names;
}

Index scaled(const nlohmann::json& a, const char* factor, double missing, Index channels) {
  return static_cast<Index>(argument(a, factor, missing) * static_cast<double>(channels));
}

gated::ConvolutionalProjectionConfig projection(const nlohmann::json& a) {
  return {.channels = a.at("dim_in"),
          .out = a.at("dim_out"),
          .norm = norm_form(argument<std::string>(a, "norm", "scalenorm"), gated::NormForm::scale_norm),
          .kernel = argument<Index>(a, "kernel_size", 17)};
}

gated::SharedChunkAttentionConfig attention(const nlohmann::json& a, Index channels) {
  const Index query_key = argument<Index>(a, "query_key_dim", 128);
  return {.channels = channels,
          .value = scaled(a, "expansion_factor", 4.0, channels) / 2,
          .query_key = query_key,
          .chunk = argument<Index>(a, "group_size", 256),
          .norm = norm_form(argument<std::string>(a, "norm", "scalenorm"), gated::NormForm::scale_norm),
          .rotary_dimensions = argument<Index>(a, "rotary_dim", std::min<Index>(32, query_key)),
          .token_shift = argument(a, "shift_tokens", true),
          .causal = argument(a, "causal", false),
          .centred = true};
}

gated::GatedFsmnConfig fsmn(const nlohmann::json& a, Index channels, bool dilated) {
  return {.channels = channels,
          .inner = argument<Index>(a, "inner_channels", 256),
          .order = argument<Index>(a, "lorder", 20),
          .kernel = argument<Index>(a, "kernel_size", 17),
          .dilated = dilated};
}

/// The configuration of a trunk. Its kernel sizes and norms are hard-coded in ClearerVoice-Studio.
gated::MossFormer2Config trunk(const nlohmann::json& a, Index channels, bool dilated) {
  gated::MossFormerBlockConfig block{.channels = channels};
  block.attention.query_key = argument<Index>(a, "query_key_dim", 128);
  block.attention.chunk = argument<Index>(a, "group_size", 256);
  block.attention.value = scaled(a, "expansion_factor", 4.0, channels) / 2;
  block.fsmn.inner = argument<Index>(a, "inner_channels", 256);
  block.fsmn.order = argument<Index>(a, "lorder", 20);
  block.fsmn.dilated = dilated;
  return {.depth = a.at("num_blocks"), .block = block};
}

/// True if the model in the file has dilated FSMNs.
bool is_dilated(const CaseFile& file) { return gated::tensor_ending(file.file(), "fsmn.conv.conv2.weight") != nullptr; }

template <class T>
Result<T> run_projection(const CaseFile& file) {
  gated::ConvolutionalProjection<T> layer(projection(file.arguments()));
  return run_layer<T>(file, layer, names_by(gated::detail::add_ff_conv_m));
}

template <class T>
Result<T> run_attention(const CaseFile& file) {
  gated::SharedChunkAttention<T> layer(attention(file.arguments(), file.arguments().at("dim")));
  return run_layer<T>(file, layer, names_by(gated::detail::add_shared_chunk_attention));
}

template <class T, bool dilated>
Result<T> run_fsmn(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::Fsmn<T> layer({.channels = a.at("input_dim"),
                        .hidden = a.at("hidden_size"),
                        .order = argument<Index>(a, "lorder", 20),
                        .dilated = dilated});
  return run_layer<T>(file, layer, names_by(gated::detail::add_fsmn));
}

template <class T, bool dilated>
Result<T> run_fsmn_block(const CaseFile& file) {
  gated::GatedFsmnBlock<T> layer(fsmn(file.arguments(), file.arguments().at("dim"), dilated));
  return run_layer<T>(file, layer, names_by(gated::detail::add_gated_fsmn_block));
}

/// Runs a model and keeps the output of its first block, whose path is `first_block`.
template <class T, class Layer>
Result<T> run_trunk_of(const CaseFile& file, Layer& layer, const gated::NameMap& names, const std::string& first_block) {
  file.load(layer, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.set_hook(result.keep(first_block));
  const auto x = file.matrix<T>("input");
  const auto sequences = sequences_of(file);
  result.output = layer.forward(x, sequences, workspace);
  add_gradients<T>(result, file, layer, names,
                   [&](auto& tape, auto& input) { return record(tape, layer, input("input", x), sequences); });
  return result;
}

template <class T>
Result<T> run_trunk(const CaseFile& file) {
  gated::MossFormer2<T> model(trunk(file.arguments(), file.arguments().at("d_model"), is_dilated(file)));
  return run_trunk_of<T>(file, model, names_by(gated::detail::add_mossformer2), "trunk.blocks.0");
}

gated::MaskNetworkConfig masks(const CaseFile& file, Index features, Index channels, Index outputs, Index speakers) {
  const auto& a = file.arguments();
  return {.features = features,
          .outputs = outputs,
          .speakers = speakers,
          .positions = argument(a, "use_global_pos_enc", true),
          .skip = argument(a, "skip_around_intra", true),
          .trunk = trunk(a, channels, is_dilated(file))};
}

template <class T>
Result<T> run_mask_network(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::MaskNetwork<T> model(masks(file, a.at("in_channels"), a.at("out_channels"), a.at("out_channels_final"), 1));
  return run_trunk_of<T>(file, model, gated::mossformer2_se_names(argument<Index>(a, "num_spks", 2) - 1),
                         "trunk.trunk.blocks.0");
}

template <class T>
Result<T> run_separator(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto spectrum = a.at("in_channels").get<Index>(), channels = a.at("out_channels").get<Index>();
  gated::SpeechSeparator<T> model({.window = argument<Index>(a, "kernel_size", 16),
                                   .masks = masks(file, spectrum, channels, spectrum, argument<Index>(a, "num_spks", 2))});
  const auto names = gated::mossformer2_ss_names();
  file.load(model, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  workspace.set_hook(result.keep("masks.trunk.trunk.blocks.0"));
  const auto x = file.matrix<T>("input");
  result.output = model.forward(x, workspace);
  add_gradients<T>(result, file, model, names, [&](auto& tape, auto& input) { return record(tape, model, input("input", x)); });
  return result;
}

/// Speech enhancement: from noisy to clean sound, window by window.
template <class T>
Result<T> run_enhancement(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::SpeechEnhancement options{.features = features_of(file), .spectrum = spectrum_of(file)};
  options.windows = gated::decode_windows(options.features.rate, argument(a, "decode_window", 4.0),
                                          argument(a, "one_time_decode_length", 20.0));
  gated::MaskNetwork<T> network(
      masks(file, options.features.features(), argument<Index>(a, "out_channels", 512), options.spectrum.bins(), 1));
  file.load(network, gated::mossformer2_se_names(argument<Index>(a, "num_spks", 2) - 1));
  gated::Workspace<T> workspace;
  Result<T> result;
  result.output = gated::enhance<T>(network, sound_of<T>(file), options, workspace);
  return result;
}

constexpr const char* name = "mossformer2";
constexpr Family families[] = {{name, "FFConvM", run_projection<float>, run_projection<double>},
                               {name, "FLASH_ShareA_FFConvM", run_attention<float>, run_attention<double>},
                               {name, "UniDeepFsmn", run_fsmn<float, false>, run_fsmn<double, false>},
                               {name, "UniDeepFsmn_dilated", run_fsmn<float, true>, run_fsmn<double, true>},
                               {name, "Gated_FSMN_Block", run_fsmn_block<float, false>, run_fsmn_block<double, false>},
                               {name, "Gated_FSMN_Block_Dilated", run_fsmn_block<float, true>, run_fsmn_block<double, true>},
                               {name, "MossFormerM", run_trunk<float>, run_trunk<double>},
                               {name, "TestNet", run_mask_network<float>, run_mask_network<double>},
                               {name, "MossFormer", run_separator<float>, run_separator<double>},
                               {"mossformer2_frontend", "enhance", run_enhancement<float>, run_enhancement<double>}};

}  // namespace clear_voice

std::span<const Family> clear_voice_families() { return clear_voice::families; }

}  // namespace parity
