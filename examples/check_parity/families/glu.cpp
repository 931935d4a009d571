#include "gated/layers/glu_feed_forward.hpp"

#include "../inputs.hpp"
#include "gated/io/glu_names.hpp"

namespace parity {

namespace glu {

using gated::GluFeedForwardConfig;
using gated::GluLayout;

/// Loads a GluFeedForward and runs it on `input`, forward and backward.
template <class T>
Result<T> run(const CaseFile& file, const GluFeedForwardConfig& config, const gated::NameMap& names) {
  gated::GluFeedForward<T> layer(config);
  file.load(layer, names);
  Result<T> result;
  gated::Workspace<T> workspace;
  const auto x = file.matrix<T>("input");
  result.output = layer.forward(x, workspace);
  add_gradients<T>(result, file, layer, names, [&](auto& tape, auto& input) { return record(tape, layer, input("input", x)); });
  return result;
}

/// Converts the constructor arguments of a timm GLU class, whose `bias` is one flag or one per projection. `halves` is 2 if
/// hidden_features counts both halves of the gated projection, else 1.
GluFeedForwardConfig timm_config(const CaseFile& file, const char* activation_if_none, Index halves) {
  const auto& arguments = file.arguments();
  const Index in = arguments.at("in_features"), hidden = argument<Index>(arguments, "hidden_features", in) / halves;
  const auto align = argument<Index>(arguments, "align_to", 0);
  const auto bias = arguments.value("bias", nlohmann::json(true));
  return {.channels = in,
          .hidden = align > 0 ? (hidden + align - 1) / align * align : hidden,
          .out = argument<Index>(arguments, "out_features", in),
          .activation = activation(arguments, "act_layer", activation_if_none),
          .bias = bias.is_array() ? bias.at(0).get<bool>() : bias.get<bool>(),
          .out_bias = bias.is_array() ? bias.at(1).get<bool>() : bias.get<bool>(),
          .norm = file.has("model.norm.weight") ? gated::NormForm::layer_norm : gated::NormForm::none};
}

template <class T>
Result<T> run_glu_mlp(const CaseFile& file) {
  const bool gate_last = argument(file.arguments(), "gate_last", true);
  return run<T>(file, timm_config(file, "sigmoid", 2),
                gated::timm_packed_glu_names(gate_last ? GluLayout::gate_last : GluLayout::gate_first));
}

template <class T>
Result<T> run_swiglu_packed(const CaseFile& file) {
  return run<T>(file, timm_config(file, "silu", 2), gated::timm_packed_glu_names(GluLayout::gate_first));
}

template <class T>
Result<T> run_swiglu(const CaseFile& file) {
  return run<T>(file, timm_config(file, "silu", 1), gated::timm_swiglu_names());
}

template <class T>
Result<T> run_llama_mlp(const CaseFile& file) {
  const auto& arguments = file.arguments();
  const bool bias = argument(arguments, "mlp_bias", false);
  std::string act = argument<std::string>(arguments, "hidden_act", "silu");
  if (act == "gelu_pytorch_tanh" || act == "gelu_new") {
    act = "gelu_tanh";
  }
  return run<T>(file,
                {.channels = arguments.at("hidden_size"),
                 .hidden = arguments.at("intermediate_size"),
                 .activation = gated::value_named<gated::Activation>(act).value(),
                 .bias = bias,
                 .out_bias = bias},
                gated::llama_mlp_names());
}

constexpr Family families[] = {{"glu", "GluMlp", run_glu_mlp<float>, run_glu_mlp<double>},
                               {"glu", "SwiGLUPacked", run_swiglu_packed<float>, run_swiglu_packed<double>},
                               {"glu", "SwiGLU", run_swiglu<float>, run_swiglu<double>},
                               {"glu", "LlamaMLP", run_llama_mlp<float>, run_llama_mlp<double>}};

}  // namespace glu

std::span<const Family> glu_families() { return glu::families; }

}  // namespace parity
