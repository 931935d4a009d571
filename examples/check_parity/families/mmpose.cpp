#include "gated/io/mmpose.hpp"

#include "../inputs.hpp"

namespace parity {

namespace mmpose {

/// The keys and values of a recorded cross-attention, with their sequences.
template <class T>
using OthersOf = typename gated::GatedCrossAttention<T>::template Others<gated::Recording<T>>;

template <class T>
Result<T> run_cross(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto channels = a.at("in_token_dims").get<Index>(), out = argument<Index>(a, "out_token_dims", channels);
  gated::require<gated::ArgumentError>(channels == out, "cross-attention from ", channels, " to ", out,
                                       " channels, expected as many output channels as input channels");
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

/// The configuration of a gated attention unit with the constructor arguments `a`. `missing` and `missing_activation` are the
/// default values of use_rel_bias and act_fn.
gated::GatedAttentionUnitConfig unit_config(const nlohmann::json& a, Index channels, Index tokens, bool missing,
                                            const char* missing_activation) {
  gated::require<gated::ArgumentError>(
      !argument(a, "pos_enc", false), "pos_enc = True is not supported: upstream computes its frequencies with the wrong sign");
  auto config = gated::gau_presets::rtmcc(
      {.channels = channels, .query_key = argument<Index>(a, "s", 128), .expansion = argument(a, "expansion_factor", 2.0)});
  config.bias = argument(a, "bias", false);
  config.activation = activation(a, "act_fn", missing_activation);
  config.norm_eps = argument(a, "eps", 1e-5);
  if (argument(a, "use_rel_bias", missing)) {
    config.relative_bias = gated::RelativeBiasForm::toeplitz;
    config.max_length = tokens;
  }
  return config;
}

template <class T>
Result<T> run(const CaseFile& file) {
  const auto& a = file.arguments();
  if (argument<std::string>(a, "attn_type", "self-attn") != "self-attn") {
    return run_cross<T>(file);
  }
  const auto channels = a.at("in_token_dims").get<Index>();
  auto config = unit_config(a, channels, a.at("num_token"), true, "silu");
  config.out = argument<Index>(a, "out_token_dims", channels);
  config.residual = config.out == channels ? gated::Residual::scaled : gated::Residual::none;
  gated::GatedAttentionUnit<T> layer(config);
  return run_layer<T>(file, layer, gated::rtmcc_names());
}

/// A size that the original stores as [width, height].
gated::ImageSize turned_size(const nlohmann::json& a, const char* key) { return {a.at(key).at(1), a.at(key).at(0)}; }

gated::PoseHeadConfig head_config(const CaseFile& file) {
  const auto& a = file.arguments();
  const nlohmann::json unit = argument(a, "gau_cfg", nlohmann::json::object());
  const auto points = a.at("out_channels").get<Index>();
  return {.feature_channels = a.at("in_channels"),
          .features = turned_size(a, "in_featuremap_size"),
          .input = turned_size(a, "input_size"),
          .key_points = points,
          .kernel = argument<Index>(a, "final_layer_kernel_size", 1),
          .unit = unit_config(unit, argument<Index>(unit, "hidden_dims", 256), points, false, "relu"),
          .simcc = {.split_ratio = argument(a, "simcc_split_ratio", 2.0)}};
}

/// Adds the keypoints' positions, scores and visibility to the results, but only those for which `file` has a tensor.
template <class T>
void add_points(Result<T>& result, const CaseFile& file, const std::vector<gated::KeyPoint<T>>& points) {
  const auto count = static_cast<Index>(points.size());
  Matrix<T> places(count, 2), scores(count, 1), visibility(count, 1);
  for (Index i = 0; i < count; ++i) {
    const auto& point = points[static_cast<std::size_t>(i)];
    places.row(i) << point.x, point.y;
    scores(i, 0) = point.score;
    visibility(i, 0) = point.visibility;
  }
  const auto add = [&](const char* name, const Matrix<T>& values) {
    if (file.has(name)) {
      result.others.emplace_back(name, values);
    }
  };
  add("keypoints", places);
  add("scores", scores);
  add("output_scores", scores);
  add("output_visibility", visibility);
}

template <class T>
Result<T> run_head(const CaseFile& file) {
  gated::PoseHead<T> head(head_config(file));
  gated::NameMap names = gated::rtmcc_head_names();
  names.body.clear();
  file.load(head, names);
  gated::Workspace<T> workspace;
  const auto features = file.matrix<T>("input", 1);
  const Matrix<T> logits = head.forward(features, workspace);
  const Index bins = head.head_x.weight.rows();
  Result<T> result;
  result.others = {{"output_x", logits.leftCols(bins)}, {"output_y", logits.rightCols(logits.cols() - bins)}};
  add_points(result, file, head.decode(logits));
  add_gradients<T>(result, file, head, names,
                   [&](auto& tape, auto& input) { return record(tape, head, input("input", features)); });
  return result;
}

template <class T>
Result<T> run_decode(const CaseFile& file) {
  const auto& a = file.arguments();
  gated::require<gated::ArgumentError>(!argument(a, "use_dark", false), "use_dark = True");
  gated::SimccConfig config{.split_ratio = argument(a, "simcc_split_ratio", 2.0),
                            .visibility = argument(a, "decode_visibility", false),
                            .beta = argument(a, "decode_beta", 150.0)};
  const nlohmann::json sigma = argument(a, "sigma", nlohmann::json(6.0));
  config.sigma_x = sigma.is_array() ? sigma.at(0) : sigma;
  config.sigma_y = sigma.is_array() ? sigma.at(1) : sigma;
  const auto x = file.matrix<T>("simcc_x"), y = file.matrix<T>("simcc_y");
  std::vector<gated::KeyPoint<T>> points(static_cast<std::size_t>(x.rows()));
  gated::decode_simcc<T>(x, y, config, points);
  Result<T> result;
  add_points(result, file, points);
  return result;
}

constexpr Family families[] = {{"mmpose_rtmcc", "RTMCCBlock", run<float>, run<double>},
                               {"mmpose_rtmcc", "RTMCCHead", run_head<float>, run_head<double>},
                               {"mmpose_rtmcc", "SimCCLabel.decode", run_decode<float>, run_decode<double>}};

}  // namespace mmpose

std::span<const Family> mmpose_families() { return mmpose::families; }

}  // namespace parity
