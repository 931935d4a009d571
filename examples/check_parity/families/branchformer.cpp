#include <cmath>

#include "../inputs.hpp"
#include "gated/io/espnet.hpp"
#include "gated/models/branchformer.hpp"

namespace parity {

namespace branchformer {

bool is_wenet(const CaseFile& file) { return file.variant() == "wenet"; }

double norm_eps(const CaseFile& file) { return argument(file.arguments(), "layer_norm_eps", is_wenet(file) ? 1e-5 : 1e-12); }

template <class T>
Result<T> run_gating(const CaseFile& file) {
  const auto& a = file.arguments();
  const bool causal = argument(a, "causal", is_wenet(file));
  gated::ConvolutionalGatingMlp<T> layer(
      gated::ConvolutionalGatingConfig{.channels = a.at("size"),
                                       .hidden = a.at("linear_units"),
                                       .kernel = a.at("kernel_size"),
                                       .causal = causal,
                                       .norm_before_padding = !causal,
                                       .linear_after_convolution = argument(a, "use_linear_after_conv", false),
                                       .gate_activation = activation(a, "gate_activation"),
                                       .norm_eps = norm_eps(file)});
  return run_layer<T>(file, layer, gated::espnet_gating_names());
}

/// Which kind of position the attention scores of the case's layer depend on.
gated::ScorePosition score_position(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto type =
      argument<std::string>(a, is_wenet(file) ? "selfattention_layer_type" : "attention_layer_type", "rel_selfattn");
  if (type == "selfattn") {
    return gated::ScorePosition::none;
  }
  const auto form = argument<std::string>(a, "rel_pos_type", "latest");
  gated::require<gated::ArgumentError>(type == "rel_selfattn" && form == "latest", "attention \"", type, "\" of type \"", form,
                                       "\", expected \"selfattn\" or \"rel_selfattn\" of type \"latest\"");
  return is_wenet(file) ? gated::ScorePosition::key : gated::ScorePosition::offset;
}

gated::BranchformerLayerConfig layer_config(const CaseFile& file) {
  const auto& a = file.arguments();
  const bool causal = argument(a, "causal", is_wenet(file)), feed_forward = argument(a, "use_ffn", true);
  return {.channels = a.at("size"),
          .heads = a.at("attention_heads"),
          .position = score_position(file),
          .hidden = a.at("linear_units"),
          .gate_hidden = a.at("cgmlp_linear_units"),
          .gate_kernel = a.at("cgmlp_conv_kernel"),
          .merge_kernel = argument<Index>(a, "merge_conv_kernel", 3),
          .macaron = feed_forward && argument(a, "macaron_style", true),
          .feed_forward = feed_forward,
          .causal = causal,
          .causal_attention = argument(file.call(), "causal_attention_mask", false),
          .norm_before_padding = !causal,
          .linear_after_convolution = argument(a, "use_linear_after_conv", false),
          .gate_activation = activation(a, "gate_activation"),
          .norm_eps = norm_eps(file)};
}

template <class T>
Result<T> run(const CaseFile& file) {
  gated::BranchformerLayer<T> layer(layer_config(file));
  const auto names = gated::espnet_layer_names();
  file.load(layer, names);
  const auto x = file.matrix<T>("input");
  const auto sequences = sequences_of(file);
  const auto mask = mask_of(file);
  const bool is_scaled = argument(file.call(), "scaled_by_sqrt_size", false);
  const T factor = is_scaled ? std::sqrt(static_cast<T>(x.cols())) : T{1};
  Result<T> result;
  gated::Workspace<T> workspace;
  result.output = layer.forward(factor * x, sequences, workspace, mask);
  add_gradients<T>(result, file, layer, names, [&](auto& tape, auto& input) {
    gated::Recording<T> recording(tape, sequences, mask);
    return recording(layer, scale(recording, input("input", x), gated::number(factor)));
  });
  for (auto& gradient : result.gradients) {  // a key bias has no effect: it shifts all scores of a query equally
    gradient.has_effect = gradient.has_effect && gradient.name != "attention.key.bias";
  }
  return result;
}

constexpr Family families[] = {{"ebranchformer", "ConvolutionalGatingMLP", run_gating<float>, run_gating<double>},
                               {"ebranchformer", "EBranchformerEncoderLayer", run<float>, run<double>}};

}  // namespace branchformer

std::span<const Family> branchformer_families() { return branchformer::families; }

}  // namespace parity
