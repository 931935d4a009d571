#include "gated/io/junnyu.hpp"

#include "../inputs.hpp"

namespace parity {

namespace junnyu {

using gated::NormForm;

gated::GatedAttentionUnitConfig flash_quad_layer(const CaseFile& file, const char* eps) {
  const auto& a = file.arguments();
  auto config = gated::gau_presets::flash_quad_junnyu({.channels = a.at("hidden_size"),
                                                       .max_length = argument<Index>(a, "max_position_embeddings", 512),
                                                       .query_key = argument<Index>(a, "s", 128),
                                                       .expansion = argument(a, "expansion_factor", 2.0)});
  config.norm = norm_form(argument<std::string>(a, "norm_type", "layer_norm"), NormForm::scale_norm_rsqrt);
  config.norm_eps = argument(a, eps, 1e-5);
  config.activation = activation(a, "hidden_act", "silu");
  config.causal = argument(file.call(), "causal", false);
  return config;
}

template <class T>
Result<T> run_flash_quad_gau(const CaseFile& file) {
  gated::GatedAttentionUnit<T> layer(flash_quad_layer(file, "eps"));
  return run_layer<T>(file, layer, gated::flash_quad_gau_names());
}

/// The encoder of a case, with a masked-word head if the class of the case is `for_masked_words`.
gated::gau_presets::Encoder encoder(const CaseFile& file, std::string_view for_masked_words) {
  const auto& a = file.arguments();
  return {.vocabulary = a.at("vocab_size"),
          .depth = argument<Index>(a, "num_hidden_layers", 24),
          .masked_words = file.class_name() == for_masked_words};
}

template <class T>
Result<T> run_encoder(const CaseFile& file, gated::GauEncoderConfig config, const gated::NameMap& names) {
  config.token_types = argument<Index>(file.arguments(), "type_vocab_size", 2);
  config.pad_token = argument<Index>(file.arguments(), "pad_token_id", 0);
  gated::GauEncoder<T> model(config);
  return run_model<T>(file, model, names, ids_of(file, "token_type_ids"));
}

template <class T>
Result<T> run_flash_quad(const CaseFile& file) {
  return run_encoder<T>(
      file,
      gated::gau_presets::flash_quad_encoder(encoder(file, "FLASHQuadForMaskedLM"), flash_quad_layer(file, "layer_norm_eps")),
      gated::flash_quad_names());
}

template <class T>
Result<T> run_flash(const CaseFile& file) {
  const auto& a = file.arguments();
  auto layer = gated::flash_presets::junnyu({.channels = a.at("hidden_size"),
                                             .query_key = argument<Index>(a, "query_key_dim", 128),
                                             .chunk = argument<Index>(a, "group_size", 256)});
  layer.value = static_cast<Index>(argument(a, "expansion_factor", 2.0) * static_cast<double>(layer.channels));
  layer.norm = norm_form(argument<std::string>(a, "norm_type", "scalenorm"), NormForm::scale_norm);
  gated::FlashLanguageModel<T> model(gated::FlashLanguageModelConfig{
      .vocabulary = a.at("vocab_size"),
      .position = gated::PositionForm::sinusoid,
      .head = {.form = file.class_name() == "FLASHForMaskedLM" ? gated::HeadForm::tied : gated::HeadForm::none,
               .norm_eps = argument(a, "layer_norm_eps", 1e-5),
               .bias = true},
      .trunk = {.depth = argument<Index>(a, "num_hidden_layers", 12), .block = layer}});
  return run_model<T>(file, model, gated::junnyu_flash_names());
}

gated::GatedAttentionUnitConfig gau_alpha_layer(const CaseFile& file, const char* activation_key, const char* eps) {
  const auto& a = file.arguments();
  auto config = gated::gau_presets::gau_alpha(
      {.channels = a.at("hidden_size"), .query_key = argument<Index>(a, "attention_key_size", 128)});
  if (!argument(a, "attention_scale", true)) {
    config.score_scale = gated::ScoreScale::one;
  }
  config.value = a.at("intermediate_size");
  config.bias = config.offset_bias = argument(a, "use_bias", false);
  config.norm_eps = argument(a, eps, 1e-12);
  config.activation = activation(a, activation_key, "silu");
  const auto normalization = argument<std::string>(a, "normalization", "softmax_plus");
  if (normalization == "squared_relu") {
    config.kernel = gated::ScoreKernel::relu2;
    config.divide_by_keys = true;
  } else if (normalization == "softmax") {
    config.kernel = gated::ScoreKernel::softmax;
  }
  if (!argument(file.call(), "rope", true)) {
    config.rotary = gated::Rotary::none;
  }
  return config;
}

template <class T>
Result<T> run_gau_alpha_layer(const CaseFile& file) {
  gated::GatedAttentionUnit<T> layer(gau_alpha_layer(file, "activation", "eps"));
  return run_layer<T>(file, layer, gated::gau_alpha_layer_names());
}

template <class T>
Result<T> run_gau_alpha(const CaseFile& file) {
  return run_encoder<T>(file,
                        gated::gau_presets::gau_alpha_encoder(encoder(file, "GAUAlphaForMaskedLM"),
                                                              gau_alpha_layer(file, "hidden_act", "layer_norm_eps")),
                        gated::gau_alpha_names());
}

constexpr Family families[] = {{"junnyu_flashquad", "GAU", run_flash_quad_gau<float>, run_flash_quad_gau<double>},
                               {"junnyu_flashquad", "FLASHQuadModel", run_flash_quad<float>, run_flash_quad<double>},
                               {"junnyu_flashquad", "FLASHQuadForMaskedLM", run_flash_quad<float>, run_flash_quad<double>},
                               {"junnyu_flash", "FLASHModel", run_flash<float>, run_flash<double>},
                               {"junnyu_flash", "FLASHForMaskedLM", run_flash<float>, run_flash<double>},
                               {"junnyu_gau_alpha", "GAULayer", run_gau_alpha_layer<float>, run_gau_alpha_layer<double>},
                               {"junnyu_gau_alpha", "GAUAlphaModel", run_gau_alpha<float>, run_gau_alpha<double>},
                               {"junnyu_gau_alpha", "GAUAlphaForMaskedLM", run_gau_alpha<float>, run_gau_alpha<double>}};

}  // namespace junnyu

std::span<const Family> junnyu_families() { return junnyu::families; }

}  // namespace parity
