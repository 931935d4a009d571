#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "gated/layers/image_convolution.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/simcc.hpp"
#include "gated/ops/gather.hpp"

/// @file
/// RTMPose's head: from the feature map of a backbone to keypoints.

namespace gated {

/// The options of a pose head.
struct PoseHeadConfig {
  Index feature_channels = 0;                                             ///< channels of the feature map
  ImageSize features{8, 6};                                               ///< size of the feature map
  ImageSize input{256, 192};                                              ///< size of the backbone's input picture, in pixels
  Index key_points = 17;                                                  ///< P, keypoints per picture
  Index kernel = 7;                                                       ///< side of the convolution's kernel; odd
  double norm_eps = 1e-5;                                                 ///< ε of the norm after the convolution
  GatedAttentionUnitConfig unit = gau_presets::rtmcc({.channels = 256});  ///< options of the gated attention unit
  SimccConfig simcc{};                                                    ///< how logits become keypoints

  template <class C = PoseHeadConfig>
  static constexpr auto fields() {
    return Fields(setting("feature_channels", &C::feature_channels), setting("features", &C::features),
                  setting("input", &C::input), setting("key_points", &C::key_points), setting("kernel", &C::kernel),
                  setting("norm_eps", &C::norm_eps), setting("unit", &C::unit), setting("simcc", &C::simcc));
  }
};

/// RTMPose's head without its backbone (Jiang et al., arXiv:2303.07399, §3; mmpose's RTMCCHead): convolution → one map per
/// keypoint → ScaleNorm → projection → gated attention unit over the keypoints → logits of x and of y.
///
///     const auto head = load_model<PoseHead<float>>("rtmpose-m.safetensors");      // written by examples/convert
///     Workspace<float> workspace;
///     const Matrix<float> logits = head.forward(features, workspace);              // features: B × 768·8·6
///     for (const KeyPoint<float>& point : head.decode(logits)) { … }               // B · 17, picture by picture
///
/// Shapes: features is B × (feature_channels · height · width) in NCHW order, one row per picture; the output is (B · P) × (X +
/// Y), a row [x logits | y logits] per keypoint, with X = split_ratio · input.width and Y = split_ratio · input.height.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError from runs with wrong shapes.
/// Cost: 42 M multiply-adds per picture for rtmpose_m_head(), 31 M of them in the convolution.
template <class T>
struct PoseHead : Layer<PoseHead<T>> {
  using Config = PoseHeadConfig;
  static constexpr const char* name = "PoseHead";
  static constexpr const char* architecture = "gated.PoseHead";

  PoseHeadConfig config;
  ImageConvolution<T> convolution;  ///< one map per keypoint
  Norm<T> norm;                     ///< ScaleNorm over the pixels of a map
  Linear<T> proj_in;                ///< C × pixels
  GatedAttentionUnit<T> unit;
  Linear<T> head_x;  ///< X × C
  Linear<T> head_y;  ///< Y × C

  PoseHead() = default;
  explicit PoseHead(const PoseHeadConfig& c) : config(c) {
    require<ArgumentError>(c.simcc.split_ratio > 0 && c.simcc.split_ratio <= 1000, name,
                           ": split_ratio = ", c.simcc.split_ratio, ", expected 0 < split_ratio ≤ 1000.");
    convolution = ImageConvolution<T>(c.feature_channels, c.features, c.key_points, c.kernel);
    norm = Norm<T>(c.features.area(), c.norm_eps, NormForm::scale_norm);
    proj_in = Linear<T>(c.features.area(), c.unit.channels, false);
    unit = GatedAttentionUnit<T>(c.unit);
    require<ArgumentError>(unit.longest() >= c.key_points, name, ": the unit's max_length = ", c.unit.max_length,
                           ", expected at least key_points = ", c.key_points, ".");
    head_x = Linear<T>(unit.out(), bins(c.input.width), false);
    head_y = Linear<T>(unit.out(), bins(c.input.height), false);
  }
  PoseHead(const PoseHeadConfig& c, Random& random) : PoseHead(c) { this->initialize(random); }

  static constexpr auto fields() {
    using H = PoseHead;
    return Fields(field("convolution", &H::convolution), field("norm", &H::norm), field("proj_in", &H::proj_in),
                  field("unit", &H::unit), field("head_x", &H::head_x), field("head_y", &H::head_y));
  }

  /// Draws the weights of the convolution from N(0, 0.001²), and of proj_in, head_x and head_y from N(0, 0.01²), as in mmpose.
  /// The unit is initialized like any GatedAttentionUnit.
  void initialize(Random& random) {
    fill_normal(convolution.weight, 0.001, random);
    convolution.bias.setZero();
    unit.initialize(random);
    for (Linear<T>* const linear : {&proj_in, &head_x, &head_y}) {
      fill_normal(linear->weight, 0.01, random);
    }
  }

  Contract contract() const {
    const Contract maps = convolution.contract();
    return {.in = maps.in,
            .out = head_x.weight.rows() + head_y.weight.rows(),
            .rows = maps.rows,
            .sees = Sees::itself,
            .in_note =
                "channels × height × width of the feature map, one row per picture; crop or resize the picture to config.input "
                "before running the backbone, or set config.features",
            .unstreamable = "A feature map is not a sequence. Use forward()."};
  }

  /// Decodes logits from forward() to the keypoints of all pictures: see decode_simcc(). Coordinates are in pixels of the
  /// backbone's input picture; if you cropped or resized the original, map them back.
  void decode(ConstView<T> logits, std::span<KeyPoint<T>> points) const {
    const Index width = head_x.weight.rows(), height = head_y.weight.rows();
    require<ShapeError>(logits.cols() == width + height, "PoseHead::decode: logits has ", logits.cols(), " columns, expected ",
                        width, " x bins and ", height, " y bins. Pass the result of forward().");
    decode_simcc<T>(logits.leftCols(width), logits.rightCols(height), config.simcc, points);
  }
  /// Overload that returns a new vector.
  std::vector<KeyPoint<T>> decode(ConstView<T> logits) const {
    std::vector<KeyPoint<T>> points(static_cast<std::size_t>(logits.rows()));
    decode(logits, points);
    return points;
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> features) const {
    auto pictures = run.with(Sequences::uniform(run.rows(features), config.key_points));
    auto maps = pictures(convolution, std::move(features));       // B·P × pixels
    auto h = pictures(proj_in, pictures(norm, std::move(maps)));  // B·P × C
    h = pictures(unit, std::move(h));                             // B·P × C
    const auto x_logits = pictures(head_x, h), y_logits = pictures(head_y, h);
    return concatenate(pictures, x_logits, y_logits);  // B·P × (X + Y)
  }

 private:
  /// Number of bins for an axis of `pixels` pixels; raises ArgumentError unless there is at least one.
  Index bins(Index pixels) const {
    require<ArgumentError>(pixels > 0 && pixels <= Index{1} << 20 && config.simcc.bins(pixels) > 0, name, ": ", pixels,
                           " pixels with split_ratio = ", config.simcc.split_ratio,
                           ", expected 1 … 2^20 pixels and at least one bin.");
    return config.simcc.bins(pixels);
  }
};

/// RTMPose's head for a backbone with `feature_channels` channels and a stride of 32 pixels. Along each axis, the SimCC labels
/// have σ = √(pixels / 8), rounded to two decimals, as published.
inline PoseHeadConfig rtmpose_head(Index feature_channels, Index key_points = 17, ImageSize input = {256, 192}) {
  const auto sigma = [](Index pixels) { return std::round(100 * std::sqrt(static_cast<double>(pixels) / 8)) / 100; };
  return {.feature_channels = feature_channels,
          .features = {input.height / 32, input.width / 32},
          .input = input,
          .key_points = key_points,
          .simcc = {.sigma_x = sigma(input.width), .sigma_y = sigma(input.height)}};
}

/// The head of RTMPose-t: 988,307 parameters.
inline PoseHeadConfig rtmpose_t_head(Index key_points = 17, ImageSize input = {256, 192}) {
  return rtmpose_head(384, key_points, input);
}
/// The head of RTMPose-s: 1,094,931 parameters.
inline PoseHeadConfig rtmpose_s_head(Index key_points = 17, ImageSize input = {256, 192}) {
  return rtmpose_head(512, key_points, input);
}
/// The head of RTMPose-m: 1,308,179 parameters; 1,438,227 for pictures of {384, 288}, 5,673,607 for 133 keypoints (whole body).
inline PoseHeadConfig rtmpose_m_head(Index key_points = 17, ImageSize input = {256, 192}) {
  return rtmpose_head(768, key_points, input);
}
/// The head of RTMPose-l: 1,521,427 parameters.
inline PoseHeadConfig rtmpose_l_head(Index key_points = 17, ImageSize input = {256, 192}) {
  return rtmpose_head(1024, key_points, input);
}
/// The head of RTMPose-x: 2,429,212 parameters for Halpe's 26 keypoints.
inline PoseHeadConfig rtmpose_x_head(Index key_points = 26, ImageSize input = {384, 288}) {
  return rtmpose_head(1280, key_points, input);
}

}  // namespace gated
