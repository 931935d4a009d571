#include "gated/io/junnyu.hpp"

#include "../inputs.hpp"
#include "gated/train/flash_language_model.hpp"
#include "gated/train/gau_encoder.hpp"

namespace parity {

namespace {

using gated::NormForm;

gated::GatedAttentionUnitConfig flash_quad_layer(const CaseFile& file, const char* eps) {
  const auto& a = file.arguments();
  auto config = gated::gau_presets::flash_quad_junnyu(a.at("hidden_size"), argument<Index>(a, "max_position_embeddings", 512),
                                                      argument<Index>(a, "s", 128));
  config.value = static_cast<Index>(argument(a, "expansion_factor", 2.0) * static_cast<double>(config.channels));
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

template <class T>
Result<T> run_flash_quad(const CaseFile& file) {
  const auto& a = file.arguments();
  const bool language_model = file.class_name() == "FLASHQuadForMaskedLM";
  const auto layer = flash_quad_layer(file, "layer_norm_eps");
  auto config = gated::gau_presets::flash_quad_encoder(a.at("vocab_size"), layer, argument<Index>(a, "num_hidden_layers", 24),
                                                       language_model);
  config.token_types = argument<Index>(a, "type_vocab_size", 2);
  config.pad_token = argument<Index>(a, "pad_token_id", 0);
  gated::GauEncoder<T> model(config);
  return run_model<T>(file, model, gated::flash_quad_names(language_model), "layers.0", ids_of(file, "token_type_ids"));
}

template <class T>
Result<T> run_flash(const CaseFile& file) {
  const auto& a = file.arguments();
  const bool language_model = file.class_name() == "FLASHForMaskedLM";
  const auto channels = a.at("hidden_size").get<Index>();
  auto layer =
      gated::flash_presets::junnyu(channels, argument<Index>(a, "group_size", 256), argument<Index>(a, "query_key_dim", 128));
  layer.value = static_cast<Index>(argument(a, "expansion_factor", 2.0) * static_cast<double>(channels));
  layer.norm = norm_form(argument<std::string>(a, "norm_type", "scalenorm"), NormForm::scale_norm);
  gated::FlashLanguageModel<T> model(
      gated::FlashLanguageModelConfig{.vocabulary = a.at("vocab_size"),
                                      .with_head = language_model,
                                      .head = {.norm_eps = argument(a, "layer_norm_eps", 1e-5)},
                                      .trunk = {.depth = argument<Index>(a, "num_hidden_layers", 12), .layer = layer}});
  return run_model<T>(file, model, gated::junnyu_flash_names(language_model), "trunk.layers.0");
}

gated::GatedAttentionUnitConfig gau_alpha_layer(const CaseFile& file, const char* activation_key, const char* eps) {
  const auto& a = file.arguments();
  auto config = gated::gau_presets::gau_alpha(a.at("hidden_size"), argument<Index>(a, "attention_key_size", 128),
                                              argument(a, "attention_scale", true));
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
  const auto& a = file.arguments();
  const bool language_model = file.class_name() == "GAUAlphaForMaskedLM";
  const auto layer = gau_alpha_layer(file, "hidden_act", "layer_norm_eps");
  auto config = gated::gau_presets::gau_alpha_encoder(a.at("vocab_size"), layer, argument<Index>(a, "num_hidden_layers", 24),
                                                      language_model);
  config.token_types = argument<Index>(a, "type_vocab_size", 2);
  config.pad_token = argument<Index>(a, "pad_token_id", 0);
  gated::GauEncoder<T> model(config);
  return run_model<T>(file, model, gated::gau_alpha_names(language_model), "layers.0", ids_of(file, "token_type_ids"));
}

constexpr Family families[] = {{"junnyu_flashquad", "GAU", run_flash_quad_gau<float>, run_flash_quad_gau<double>},
                               {"junnyu_flashquad", "FLASHQuadModel", run_flash_quad<float>, run_flash_quad<double>},
                               {"junnyu_flashquad", "FLASHQuadForMaskedLM", run_flash_quad<float>, run_flash_quad<double>},
                               {"junnyu_flash", "FLASHModel", run_flash<float>, run_flash<double>},
                               {"junnyu_flash", "FLASHForMaskedLM", run_flash<float>, run_flash<double>},
                               {"junnyu_gau_alpha", "GAULayer", run_gau_alpha_layer<float>, run_gau_alpha_layer<double>},
                               {"junnyu_gau_alpha", "GAUAlphaModel", run_gau_alpha<float>, run_gau_alpha<double>},
                               {"junnyu_gau_alpha", "GAUAlphaForMaskedLM", run_gau_alpha<float>, run_gau_alpha<double>}};

}  // namespace

std::span<const Family> junnyu_families() { return families; }

}  // namespace parity
