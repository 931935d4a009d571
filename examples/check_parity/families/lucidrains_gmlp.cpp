#include "gated/io/lucidrains.hpp"

#include "../inputs.hpp"

namespace parity {

namespace lucidrains_gmlp {

/// The options that all classes of g-mlp-pytorch share.
gated::GmlpConfig trunk_config(const nlohmann::json& a) {
  const auto channels = argument<Index>(a, "dim", 0);
  return {.length = argument<Index>(a, "seq_len", 0),
          .channels = channels,
          .hidden = channels * argument<Index>(a, "ff_mult", 4),
          .depth = argument<Index>(a, "depth", 1),
          .spatial = argument(a, "circulant_matrix", false) ? gated::SpatialForm::scaled_toeplitz : gated::SpatialForm::dense,
          .causal = argument(a, "causal", false),
          .heads = argument<Index>(a, "heads", 1),
          .attention_width = argument<Index>(a, "attn_dim", 0),
          .token_shift = argument<Index>(a, "shift_tokens", 0),
          .gate_activation = activation(a, "act")};
}

template <class T>
Result<T> run_gmlp(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto layout = gated::lucidrains_layout(file.file(), "model.");
  if (argument<Index>(a, "num_tokens", 0) == 0) {
    gated::Gmlp<T> trunk(trunk_config(a));
    return run_layer<T>(file, trunk, gated::lucidrains_trunk_names(layout));
  }
  gated::GmlpLanguageModel<T> model(gated::GmlpLanguageModelConfig{
      .vocabulary = a.at("num_tokens"), .head = {.form = gated::HeadForm::untied, .bias = true}, .trunk = trunk_config(a)});
  return run_model<T>(file, model, gated::lucidrains_language_model_names(layout));
}

template <class T>
Result<T> run_vision(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::GmlpImageClassifierConfig config{.image = image_size(a, "image_size"),
                                          .patch = image_size(a, "patch_size"),
                                          .image_channels = argument<Index>(a, "channels", 3),
                                          .classes = a.at("num_classes"),
                                          .norm_eps = 1e-5,
                                          .trunk = trunk_config(a)};
  gated::GmlpImageClassifier<T> model(config);
  return run_classifier<T>(file, model, gated::lucidrains_vision_names(gated::lucidrains_layout(file.file(), "model.")));
}

template <class T>
Result<T> run_gate(const CaseFile& file) {
  const auto& a = file.arguments();
  const bool circulant = argument(a, "circulant_matrix", false);
  gated::SpatialGatingUnit<T> gate(
      {.channels = a.at("dim"),
       .spatial = {.length = a.at("dim_seq"),
                   .heads = argument<Index>(a, "heads", 1),
                   .causal = argument(a, "causal", false),
                   .form = circulant ? gated::SpatialForm::scaled_toeplitz : gated::SpatialForm::dense},
       .activation = activation(a, "act")});
  const auto names = gated::lucidrains_gate_names();
  file.load(gate, names);
  const auto x = file.matrix<T>("input");
  const auto sequences = sequences_of(file);
  const auto gate_res = file.has("gate_res") ? file.matrix<T>("gate_res") : Matrix<T>();
  Result<T> result;
  result.output.resize(x.rows(), gate.out());
  gated::Workspace<T> workspace;
  const auto frame = workspace.frame();
  gated::Batch<T> run(workspace, sequences);
  run.into(gated::MatrixView<T>(result.output), gate, gated::input_view<T>(x),
           gated::RunMatrix<T>(gated::input_view<T>(gate_res)));
  add_gradients<T>(result, file, gate, names, [&](auto& tape, auto& input) {
    const auto added = file.has("gate_res") ? input("gate_res", gate_res) : gated::Variable();
    gated::Recording<T> recording(tape, sequences);
    return recording(gate, input("input", x), added);
  });
  return result;
}

/// Upstream's block, which has neither norm nor residual.
template <class T>
struct BareBlock : gated::Layer<BareBlock<T>> {
  static constexpr const char* name = "BareBlock";

  gated::GmlpBlock<T> block;

  explicit BareBlock(const gated::GmlpConfig& c) : block(c) { block.norm = {}; }
  static constexpr auto fields() { return gated::Fields(gated::field("block", &BareBlock::block)); }
  gated::Contract contract() const { return block.contract(); }
  auto apply(auto& run, auto x) const {
    const auto z = run(block.proj_in, x, {.activation = block.config.activation});
    const auto attended = block.attention ? run(*block.attention, x) : decltype(x)();
    return run(block.proj_out, run(block.gate, z, attended));
  }
};

template <class T>
Result<T> run_block(const CaseFile& file) {
  auto config = trunk_config(file.arguments());
  config.hidden = file.arguments().at("dim_ff");
  BareBlock<T> block(config);
  gated::NameMap names{.origin = "g-mlp-pytorch"};
  gated::detail::add_lucidrains_block(names, "block.", "", {});
  return run_layer<T>(file, block, names);
}

template <class T>
Result<T> run_attention(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::TinyAttention<T> attention({.channels = a.at("dim_in"),
                                     .width = argument<Index>(a, "dim_inner", 64),
                                     .out = a.at("dim_out"),
                                     .causal = argument(a, "causal", false)});
  return run_layer<T>(file, attention, gated::lucidrains_attention_names());
}

constexpr const char* name = "lucidrains_gmlp";
constexpr Family families[] = {{name, "gMLP", run_gmlp<float>, run_gmlp<double>},
                               {name, "gMLPVision", run_vision<float>, run_vision<double>},
                               {name, "SpatialGatingUnit", run_gate<float>, run_gate<double>},
                               {name, "gMLPBlock", run_block<float>, run_block<double>},
                               {name, "Attention", run_attention<float>, run_attention<double>}};

}  // namespace lucidrains_gmlp

std::span<const Family> lucidrains_gmlp_families() { return lucidrains_gmlp::families; }

}  // namespace parity
