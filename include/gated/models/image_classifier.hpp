#pragma once

#include <algorithm>
#include <optional>

#include "gated/core/words.hpp"
#include "gated/layers/grid_position.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/models/image_preparation.hpp"
#include "gated/models/stack.hpp"
#include "gated/ops/pool.hpp"

/// @file
/// Image classifiers around any trunk.

namespace gated {

/// How tokens are pooled after the final norm.
enum class Pooling {
  mean,         ///< mean over the tokens, as in timm
  class_token,  ///< a learned token before the patches, as in the gMLP paper (and ViT)
  tokens        ///< no pooling: the head is applied to every token
};

constexpr auto names_of(Pooling) { return words_for<Pooling>("mean", "class_token", "tokens"); }

/// The options of an image classifier. Leave the trunk's length (if any) at 0 to compute it from the image and patch sizes.
template <class TrunkConfig>
struct ImageClassifierConfig {
  ImageSize image{224, 224};             ///< in pixels
  ImageSize patch{16, 16};               ///< in pixels; pixels beyond the last whole patch are not read
  Index image_channels = 3;              ///< 3 for RGB, 1 for grey
  Index classes = 1000;                  ///< classes of the head; 0 to output the pooled features
  Pooling pooling = Pooling::mean;       ///< pooling before the head
  bool stem_norm = false;                ///< a norm after the patch embedding
  ImageSize position_grid{0, 0};         ///< grid of learned positions, interpolated to the image's grid; 0 × 0 for none
  bool pre_logits = false;               ///< tanh(W x + b) before the head, as in ViT and the gMLP paper's parameter counts
  NormForm norm = NormForm::layer_norm;  ///< type of the final and the stem norm
  double norm_eps = 1e-6;                ///< ε of both norms
  // Image preparation is separate from forward(): see io/image_input.hpp.
  PerChannel pixel_mean = 0.5;                           ///< pixels p in [0, 1] become (p - mean) / deviation
  PerChannel pixel_deviation = 0.5;                      ///< see pixel_mean
  double crop_share = 0.875;                             ///< ratio of the crop's edge to the resized picture's shortest edge
  Interpolation interpolation = Interpolation::bicubic;  ///< resampling filter
  TrunkConfig trunk{};                                   ///< options of the blocks

  /// Tokens per image; 0 if the patch is empty.
  Index tokens() const {
    if (patch.height <= 0 || patch.width <= 0) {
      return 0;
    }
    return (Count(grid().height) * grid().width + (pooling == Pooling::class_token ? 1 : 0)).value();
  }
  /// Numbers of patches down and across; the patch must not be empty.
  ImageSize grid() const { return {image.height / patch.height, image.width / patch.width}; }
  bool has_positions() const { return position_grid != ImageSize{0, 0}; }
  /// The trunk's options for tokens() tokens.
  TrunkConfig sized_trunk() const {
    TrunkConfig sized = trunk;
    detail::for_each_length(sized, [&](Index& length) { length = tokens(); });
    return sized;
  }

  template <class C = ImageClassifierConfig>
  static constexpr auto fields() {
    return Fields(setting("image", &C::image), setting("patch", &C::patch), setting("image_channels", &C::image_channels),
                  setting("classes", &C::classes), setting("pooling", &C::pooling), setting("stem_norm", &C::stem_norm),
                  setting("position_grid", &C::position_grid), setting("pre_logits", &C::pre_logits), setting("norm", &C::norm),
                  setting("norm_eps", &C::norm_eps), setting("pixel_mean", &C::pixel_mean),
                  setting("pixel_deviation", &C::pixel_deviation), setting("crop_share", &C::crop_share),
                  setting("interpolation", &C::interpolation), setting("trunk", &C::trunk));
  }
};

namespace detail {

/// Raises ArgumentError if means or deviations differ by channel and the image does not have three channels.
template <class TrunkConfig>
void expect_pixel_scales(const char* where, const ImageClassifierConfig<TrunkConfig>& config) {
  require<ArgumentError>(
      config.image_channels == 3 || (config.pixel_mean.is_uniform() && config.pixel_deviation.is_uniform()), where,
      ": pixel_mean and pixel_deviation have three values, but images have ", config.image_channels,
      config.image_channels == 1 ? " channel" : " channels",
      ". Set one value for all channels, for example config.pixel_mean = 0.5 and config.pixel_deviation = 0.5.");
}

}  // namespace detail

/// Normalizes pixels p in [0, 1] in place, as the model expects: (p - mean) / deviation, channel by channel. `images` has one
/// row per image.
/// Errors: ShapeError if `images` has the wrong width; ArgumentError if means or deviations differ by channel and the model
/// does not have three channels.
template <class T, class TrunkConfig>
void scale_pixels(View<T> images, const ImageClassifierConfig<TrunkConfig>& config) {
  const Index area = config.image.area();
  detail::expect_pixel_scales("scale_pixels", config);
  expect_columns<T>("scale_pixels", "images", images, "channels × height × width", config.image_channels * area);
  for (Index c = 0; c < config.image_channels; ++c) {
    auto channel = images.middleCols(c * area, area).array();
    channel = (channel - static_cast<T>(config.pixel_mean[c])) / static_cast<T>(config.pixel_deviation[c]);
  }
}

namespace detail {

inline constexpr const char* image_classifier_word = "gated.ImageClassifier";

}  // namespace detail

/// Patches → tokens → trunk → norm → mean (or class token) → head (arXiv:2105.08050, §3; timm's gmlp_*, mixer_*, gmixer_* and
/// resmlp_*; ViT-FF, which has learned positions).
///
///     GmlpImageClassifier<float> model(gmlp_s16_224());
///     load_parameters(model, SafetensorsFile("model.safetensors"), timm_names());
///     Workspace<float> workspace;
///     Matrix<float> logits = model.forward(images, workspace);   // images: B × 3·224·224, logits: B × 1000
///
/// Shapes: images is B × (channels · height · width) in NCHW order, one row per image; the output is B × out(), or (B · tokens)
/// × out() with Pooling::tokens. An empty batch gives an empty output.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError from runs with wrong shapes.
/// Cost: that of the trunk; 4.42 G multiply-adds per image for gmlp_s16_224.
template <class Trunk>
struct ImageClassifier : Layer<ImageClassifier<Trunk>> {
  using T = typename Trunk::Scalar;
  using Config = ImageClassifierConfig<typename Trunk::Config>;
  static constexpr const char* name = "ImageClassifier";
  static constexpr const char* architecture = detail::joined_name<detail::image_classifier_word, Trunk::architecture>.data();

  Config config;
  PatchEmbedding<T> patch_embedding;
  std::optional<Norm<T>> stem_norm;
  Vector<T> class_token;  ///< C, or empty
  std::optional<GridPosition<T>> position;
  Trunk trunk;
  Norm<T> norm;
  std::optional<Linear<T>> pre_logits;
  std::optional<Linear<T>> head;

  ImageClassifier() = default;
  explicit ImageClassifier(const Config& c) : config(c) {
    const Index channels = detail::block_of(c.trunk).channels;
    patch_embedding = PatchEmbedding<T>(c.image_channels, c.image, c.patch, channels);
    config.trunk = c.sized_trunk();
    detail::for_each_length(c.trunk, [&](Index length) {
      require<ArgumentError>(length == 0 || length == c.tokens(), name, ": the trunk's length = ", length, ", but images have ",
                             c.tokens(), " tokens. Leave it at 0 to have it computed.");
    });
    require<ArgumentError>(c.classes >= 0, name, ": classes = ", c.classes, " must not be negative.");
    require<ArgumentError>(std::count(c.pixel_deviation.begin(), c.pixel_deviation.end(), 0.0) == 0, name,
                           ": pixel_deviation = 0, expected non-zero values.");
    require<ArgumentError>(c.crop_share > 0 && c.crop_share <= 1, name, ": crop_share = ", c.crop_share,
                           ", expected 0 < crop_share ≤ 1.");
    if (c.stem_norm) {
      stem_norm.emplace(channels, c.norm_eps, c.norm);
    }
    class_token = filled_vector<T>(T{0}, c.pooling == Pooling::class_token ? channels : 0, name);
    if (c.has_positions()) {
      position.emplace(channels, c.position_grid, c.grid(), c.pooling == Pooling::class_token);
    }
    trunk = Trunk(config.trunk);
    norm = Norm<T>(channels, c.norm_eps, c.norm);
    if (c.pre_logits) {
      pre_logits.emplace(channels, channels);
    }
    if (c.classes > 0) {
      head.emplace(channels, c.classes);
    }
  }
  ImageClassifier(const Config& c, Random& random) : ImageClassifier(c) { this->initialize(random); }

  static constexpr auto fields() {
    using M = ImageClassifier;
    return Fields(field("patch_embedding", &M::patch_embedding), field("stem_norm", &M::stem_norm),
                  field("class_token", &M::class_token, Role::position), field("position", &M::position),
                  field("trunk", &M::trunk), field("norm", &M::norm), field("pre_logits", &M::pre_logits),
                  field("head", &M::head));
  }

  /// timm's initialization: LeCun-normal patches, Xavier-uniform projections, near-zero gates, a zero head. Logits start at 0.
  void initialize(Random& random) {
    patch_embedding.initialize(random);
    fill_normal(class_token, 1e-6, random);
    if (position) {
      position->initialize(random);
    }
    trunk.initialize(random);
    if (pre_logits) {
      pre_logits->initialize(random);
    }
    if (head) {
      head->weight.setZero();
    }
  }

  Index tokens_per_image() const { return config.tokens(); }

  /// Writes the tokens after the final norm to `tokens`, (B · tokens_per_image()) × C.
  void features(ConstView<T> images, View<T> tokens, Workspace<T>& workspace) const {
    expect_input({name, "features"}, contract(), images.rows(), images.cols(), Sequences::single(images.rows()), Mask());
    expect_shape<T>({name, "features"}, "tokens", tokens, images.rows() * tokens_per_image(), norm.channels);
    expect_apart<T>({name, "features"}, images, tokens);
    const auto frame = workspace.frame();
    const RunningLayer whole(nullptr, *this);
    Batch<T> run(workspace, Sequences::uniform(images.rows(), tokens_per_image()), {}, &whole);
    MatrixView<T>(tokens).assign(apply_features(run, RunMatrix<T>(input_view<T>(images))));
  }

  /// Overload that returns a new matrix.
  Matrix<T> features(ConstView<T> images, Workspace<T>& workspace) const {
    Matrix<T> tokens(images.rows() * tokens_per_image(), norm.channels);
    features(images, tokens, workspace);
    return tokens;
  }

  Contract contract() const {
    const Contract images = patch_embedding.contract();
    return {.in = images.in,
            .out = head ? head->weight.rows() : norm.channels,
            .rows = config.pooling == Pooling::tokens ? tokens_per_image() : 1,
            .sees = Sees::itself,
            .in_note = images.in_note,
            .unstreamable = "An image is not a sequence. Use forward()."};
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> images) const {
    auto tokens_run = run.with(Sequences::uniform(run.rows(images), tokens_per_image()));
    auto x = apply_features(tokens_run, std::move(images));  // B·N × C
    if (config.pooling == Pooling::mean) {
      x = mean_over_tokens(tokens_run, x);  // B × C
    } else if (config.pooling == Pooling::class_token) {
      x = first_tokens(tokens_run, x);  // B × C
    }
    if (pre_logits) {
      x = run(*pre_logits, x, {.activation = Activation::tanh});
    }
    return head ? run(*head, std::move(x)) : x;  // B × classes
  }

  /// The body of features(). `run` has one sequence per image.
  template <class Run>
  MatrixOf<Run> apply_features(Run& run, MatrixOf<Run> images) const {
    const Index count = run.rows(images);
    auto x = run(patch_embedding, std::move(images));  // B·patches × C
    if (class_token.size() > 0) {
      auto patches_run = run.with(Sequences::uniform(count, patch_embedding.grid().area()));
      x = prepend(patches_run, class_token, x);  // B·N × C
    }
    if (stem_norm) {
      x = run(*stem_norm, std::move(x));
    }
    if (position) {
      x = run(*position, std::move(x));
    }
    return run(norm, run(trunk, std::move(x)));
  }
};

}  // namespace gated
