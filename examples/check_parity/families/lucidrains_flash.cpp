#include "gated/io/lucidrains_flash.hpp"

#include "../inputs.hpp"

namespace parity {

namespace lucidrains_flash {

gated::ScoreKernel kernel(const nlohmann::json& a) {
  return argument(a, "laplace_attn_fn", false) ? gated::ScoreKernel::laplace : gated::ScoreKernel::relu2;
}

template <class T>
Result<T> run_gau(const CaseFile& file) {
  const auto& a = file.arguments();
  auto config = gated::gau_presets::lucidrains({.channels = a.at("dim"),
                                                .query_key = argument<Index>(a, "query_key_dim", 128),
                                                .expansion = argument(a, "expansion_factor", 2.0)});
  config.norm = norm_form(argument<std::string>(a, "norm", "layernorm"), gated::NormForm::scale_norm);
  config.kernel = kernel(a);
  config.causal = argument(a, "causal", false);
  config.residual = argument(a, "add_residual", true) ? gated::Residual::plain : gated::Residual::none;
  gated::GatedAttentionUnit<T> layer(config);
  if (!file.has("rel_pos_bias")) {
    return run_layer<T>(file, layer, gated::lucidrains_gau_names());
  }
  const auto names = gated::lucidrains_gau_names();
  file.load(layer, names);
  // Each sequence may have its own bias.
  const auto sequences = sequences_of(file);
  const auto mask = mask_of(file);
  const auto x = file.matrix<T>("input"), biases = file.matrix<T>("rel_pos_bias");
  gated::Workspace<T> workspace;
  Matrix<T> y(x.rows(), x.cols());
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    const Matrix<T> bias = biases.middleRows(biases.rows() > length ? offset : 0, std::min(length, biases.rows()))
                               .replicate(biases.rows() == 1 ? length : 1, biases.cols() == 1 ? length : 1);
    layer.forward(x.middleRows(offset, length), Sequences::single(length), bias, y.middleRows(offset, length), workspace,
                  mask.empty() ? gated::Mask() : gated::Mask(mask).subspan(std::size_t(offset), std::size_t(length)));
  }
  Result<T> result{y, {}};
  if (biases.rows() == sequences.longest() && biases.cols() == biases.rows()) {  // one bias for all sequences
    add_gradients<T>(result, file, layer, names, [&](auto& tape, auto& input) {
      gated::Recording<T> recording(tape, sequences, mask);
      return recording(layer, input("input", x), gated::MatrixView<const T>(biases));
    });
  }
  return result;
}

gated::MixedChunkAttentionConfig flash_config(const nlohmann::json& a) {
  return {.channels = a.at("dim"),
          .value = static_cast<Index>(argument(a, "expansion_factor", 2.0) * a.at("dim").get<double>()),
          .query_key = argument<Index>(a, "query_key_dim", 128),
          .chunk = argument<Index>(a, "group_size", 256),
          .kernel = kernel(a),
          .reduction = argument(a, "reduce_group_non_causal_attn", true) || argument(a, "causal", false)
                           ? gated::LinearReduction::sum
                           : gated::LinearReduction::own_chunk,
          .causal = argument(a, "causal", false)};
}

template <class T>
Result<T> run_flash(const CaseFile& file) {
  const auto& a = file.arguments();
  auto config = flash_config(a);
  config.norm = norm_form(argument<std::string>(a, "norm", "layernorm"), gated::NormForm::scale_norm);
  config.token_shift = argument(a, "shift_tokens", false);
  config.rotary_dimensions = argument<Index>(a, "rotary_dim", 0);
  config.rotary = config.rotary_dimensions > 0 ? gated::Rotary::interleaved : gated::Rotary::none;
  gated::MixedChunkAttention<T> layer(config);
  return run_layer<T>(file, layer, gated::lucidrains_flash_names());
}

template <class T>
Result<T> run_transformer(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::FlashLanguageModelConfig config{.vocabulary = a.at("num_tokens"),
                                         .position = gated::PositionForm::sinusoid,
                                         .head = {.form = gated::HeadForm::untied, .bias = true},
                                         .trunk = {.depth = a.at("depth"), .block = flash_config(a)}};
  auto& layer = config.trunk.block;
  layer.norm = norm_form(argument<std::string>(a, "norm_type", "scalenorm"), gated::NormForm::scale_norm);
  layer.token_shift = argument(a, "shift_tokens", true);
  layer.rotary = gated::Rotary::interleaved;
  layer.rotary_dimensions = std::min<Index>(32, layer.query_key);
  gated::FlashLanguageModel<T> model(config);
  return run_model<T>(file, model, gated::lucidrains_flash_transformer_names());
}

constexpr const char* name = "lucidrains_flash";
constexpr Family families[] = {{name, "GAU", run_gau<float>, run_gau<double>},
                               {name, "FLASH", run_flash<float>, run_flash<double>},
                               {name, "FLASHTransformer", run_transformer<float>, run_transformer<double>}};

}  // namespace lucidrains_flash

std::span<const Family> lucidrains_flash_families() { return lucidrains_flash::families; }

}  // namespace parity
