#include "gated/io/mmpose.hpp"

#include "../inputs.hpp"

namespace parity {

namespace {

/// The inputs of a recorded cross-attention other than its queries.
template <class T>
using OthersOf = typename gated::GatedCrossAttention<T>::template Others<gated::Recording<T>>;

template <class T>
Result<T> run_cross(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto channels = a.at("in_token_dims").get<Index>(), out = argument<Index>(a, "out_token_dims", channels);
  gated::require<gated::ArgumentError>(channels == out, "cross-attention from ", channels, " to ", out, " channels");
  gated::GatedCrossAttention<T> layer(gated::GatedCrossAttentionConfig{
      .channels = channels,
      .value = static_cast<Index>(argument(a, "expansion_factor", 2.0) * static_cast<double>(channels)),
      .query_key = argument<Index>(a, "s", 128),
      .bias = argument(a, "bias", false),
      .activation = activation(a, "act_fn", "silu"),
      .norm_eps = argument(a, "eps", 1e-5)});
  const auto names = gated::rtmcc_cross_names();
  file.load(layer, names);
  const auto x = file.matrix<T>("input"), key = file.matrix<T>("key"), value = file.matrix<T>("value");
  const auto queries = sequences_of(file), others = sequences_of(file, "key");
  Matrix<T> y(x.rows(), x.cols());
  gated::Workspace<T> workspace;
  layer.forward(x, queries, key, value, others, y, workspace);
  Result<T> result{y, {}};
  add_gradients<T>(result, file, layer, names, [&](auto& tape, auto& input) {
    gated::Recording<T> recording(tape, queries);
    const OthersOf<T> given{.key = input("key", key), .value = input("value", value), .sequences = &others};
    return recording(layer, input("input", x), given);
  });
  return result;
}

template <class T>
Result<T> run(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::require<gated::ArgumentError>(!argument(a, "pos_enc", false),
                                       "pos_enc = True, whose frequencies upstream computes with the wrong sign");
  if (argument<std::string>(a, "attn_type", "self-attn") != "self-attn") {
    return run_cross<T>(file);
  }
  const auto channels = a.at("in_token_dims").get<Index>();
  auto config = gated::gau_presets::rtmcc(
      {.channels = channels, .query_key = argument<Index>(a, "s", 128), .expansion = argument(a, "expansion_factor", 2.0)});
  config.out = argument<Index>(a, "out_token_dims", channels);
  config.residual = config.out == channels ? gated::Residual::scaled : gated::Residual::none;
  config.bias = argument(a, "bias", false);
  config.activation = activation(a, "act_fn", "silu");
  config.norm_eps = argument(a, "eps", 1e-5);
  if (argument(a, "use_rel_bias", true)) {
    config.relative_bias = gated::RelativeBiasForm::toeplitz;
    config.max_length = a.at("num_token");
  }
  gated::GatedAttentionUnit<T> layer(config);
  return run_layer<T>(file, layer, gated::rtmcc_names());
}

constexpr Family families[] = {{"mmpose_rtmcc", "RTMCCBlock", run<float>, run<double>}};

}  // namespace

std::span<const Family> mmpose_families() { return families; }

}  // namespace parity
