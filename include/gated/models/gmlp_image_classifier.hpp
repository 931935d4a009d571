#pragma once

#include <optional>

#include "gated/layers/patch_embedding.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/pool.hpp"

/// @file
/// gMLP for images.

namespace gated {

/// What becomes of the tokens after the final norm.
enum class Readout {
  mean,         ///< their mean, as in timm
  class_token,  ///< a learned token put before the patches is read out, as in the paper (and ViT)
  tokens        ///< nothing: the head sees every token
};

constexpr auto names_of(Readout) {
  return std::array{std::pair{Readout::mean, std::string_view("mean")},
                    std::pair{Readout::class_token, std::string_view("class_token")},
                    std::pair{Readout::tokens, std::string_view("tokens")}};
}

/// The options of an image classifier. `trunk.length` follows from image and patch and may be left 0.
struct GmlpImageClassifierConfig {
  ImageSize image{224, 224};        ///< in pixels
  ImageSize patch{16, 16};          ///< in pixels; must tile the image
  Index image_channels = 3;         ///< 3 for RGB, 1 for grey
  Index classes = 1000;             ///< 0 for no head: the pooled features are the output
  Readout readout = Readout::mean;  ///< what the head reads
  bool stem_norm = false;           ///< a LayerNorm behind the patch embedding
  bool pre_logits = false;  ///< tanh(W x + b), C → C, before the head, as ViT has and the paper's parameter counts imply
  double norm_eps = 1e-6;   ///< of the final norm and the stem norm
  double pixel_mean = 0.5;  ///< what the training images' pixels in [0, 1] were shifted and scaled by: (p - mean) / deviation;
  double pixel_deviation = 0.5;  ///< for whoever prepares images: forward() takes prepared ones
  GmlpConfig trunk{};            ///< of the blocks

  template <class C = GmlpImageClassifierConfig>
  static constexpr auto fields() {
    return std::tuple{setting("image", &C::image),
                      setting("patch", &C::patch),
                      setting("image_channels", &C::image_channels),
                      setting("classes", &C::classes),
                      setting("readout", &C::readout),
                      setting("stem_norm", &C::stem_norm),
                      setting("pre_logits", &C::pre_logits),
                      setting("norm_eps", &C::norm_eps),
                      setting("pixel_mean", &C::pixel_mean),
                      setting("pixel_deviation", &C::pixel_deviation),
                      setting("trunk", &C::trunk)};
  }
};

/// Patches → tokens → gMLP blocks → LayerNorm → mean (or class token) → head (arXiv:2105.08050, §3; timm's gmlp_*).
///
///     GmlpImageClassifier<float> model(gmlp_s16_224());
///     load_parameters(model, SafetensorsFile("model.safetensors"), timm_names());
///     Workspace<float> workspace;
///     Matrix<float> logits = model.forward(images, workspace);   // images: B × 3·224·224, logits: B × 1000
///
/// Shapes: images is B × (channels · height · width) in NCHW order, one row an image; the output is B × out(), or, read out by
/// tokens, (B · tokens) × out(). An empty batch gives an empty output. Errors: ArgumentError when built, ShapeError when run.
/// Cost: see Gmlp; 4.42 G multiply-adds an image for gmlp_s16_224.
template <class T>
struct GmlpImageClassifier {
  using Scalar = T;
  using Config = GmlpImageClassifierConfig;
  static constexpr const char* architecture = "gated.GmlpImageClassifier";

  GmlpImageClassifierConfig config;
  PatchEmbedding<T> patch_embedding;
  std::optional<LayerNorm<T>> stem_norm;
  Vector<T> class_token;  ///< C, or empty
  Gmlp<T> trunk;
  LayerNorm<T> norm;
  std::optional<Linear<T>> pre_logits;
  std::optional<Linear<T>> head;

  GmlpImageClassifier() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit GmlpImageClassifier(const GmlpImageClassifierConfig& c)
      : config(c), patch_embedding(c.image_channels, c.image, c.patch, c.trunk.channels) {
    const Index expected = tokens_per_image();
    require<ArgumentError>(c.trunk.length == 0 || c.trunk.length == expected,
                           "GmlpImageClassifier: trunk.length = ", c.trunk.length, ", but image and patch give ", expected,
                           " tokens. Leave it 0 to have it computed.");
    require<ArgumentError>(c.classes >= 0, "GmlpImageClassifier: classes = ", c.classes, " must not be negative.");
    require<ArgumentError>(c.pixel_deviation != 0, "GmlpImageClassifier: pixel_deviation = 0, but pixels are divided by it.");
    const Index channels = c.trunk.channels;
    config.trunk.length = expected;
    if (c.stem_norm) {
      stem_norm.emplace(channels, c.norm_eps);
    }
    class_token = Vector<T>::Zero(c.readout == Readout::class_token ? channels : 0);
    trunk = Gmlp<T>(config.trunk);
    norm = LayerNorm<T>(channels, c.norm_eps);
    if (c.pre_logits) {
      pre_logits.emplace(channels, channels);
    }
    if (c.classes > 0) {
      head.emplace(channels, c.classes);
    }
  }
  /// The starting values of a training.
  GmlpImageClassifier(const GmlpImageClassifierConfig& c, Random& random) : GmlpImageClassifier(c) { initialize(random); }

  static constexpr auto fields() {
    using M = GmlpImageClassifier;
    return std::tuple{field("patch_embedding", &M::patch_embedding),
                      field("stem_norm", &M::stem_norm),
                      field("class_token", &M::class_token, Role::position),
                      field("trunk", &M::trunk),
                      field("norm", &M::norm),
                      field("pre_logits", &M::pre_logits),
                      field("head", &M::head)};
  }

  /// timm's start: LeCun-normal patches, Xavier-uniform projections, near-zero gates, and a head of zeros.
  /// The starting values of a training.
  void initialize(Random& random) {
    patch_embedding.initialize(random);
    fill_normal(class_token, 1e-6, random);
    trunk.initialize(random);
    if (pre_logits) {
      pre_logits->initialize(random);
    }
  }

  Index tokens_per_image() const { return patch_embedding.grid().area() + (config.readout == Readout::class_token ? 1 : 0); }
  /// Columns of the output: classes, or channels without a head.
  Index out() const { return head ? head->out() : config.trunk.channels; }
  /// Rows of the output for `images` images.
  Index output_rows(Index images) const { return config.readout == Readout::tokens ? images * tokens_per_image() : images; }

  /// The tokens behind the final norm, (B · tokens) × C.
  void features(ConstView<T> images, View<T> tokens, Workspace<T>& workspace) const {
    const Index count = images.rows(), length = tokens_per_image();
    expect_shape<T>("GmlpImageClassifier::features", "tokens", tokens, count * length, config.trunk.channels);
    embed(images, tokens, workspace);
    trunk.forward(tokens, Sequences::uniform(count, length), tokens, workspace.at("trunk"));
    norm.forward(tokens, tokens, workspace.at("norm"));
  }

  /// The same, into a new matrix.
  Matrix<T> features(ConstView<T> images, Workspace<T>& workspace) const {
    Matrix<T> tokens(images.rows() * tokens_per_image(), config.trunk.channels);
    features(images, tokens, workspace);
    return tokens;
  }

  /// The logits of all images, as `readout` says; without classes, their features.
  void forward(ConstView<T> images, View<T> output, Workspace<T>& workspace) const {
    expect_shape<T>("GmlpImageClassifier::forward", "output", output, output_rows(images.rows()), out());
    const auto frame = workspace.frame();
    const Index count = images.rows(), channels = config.trunk.channels;
    MatrixMap<T> tokens = workspace.matrix(count * tokens_per_image(), channels);
    features(images, tokens, workspace);
    if (config.readout == Readout::tokens) {
      read_out(tokens, output, workspace);
      return;
    }
    MatrixMap<T> pooled = workspace.matrix(count, channels);
    if (config.readout == Readout::mean) {
      mean_over_tokens<T>(tokens, Sequences::uniform(count, tokens_per_image()), pooled, workspace);
    } else {
      for (Index b = 0; b < count; ++b) {
        pooled.row(b) = tokens.row(b * tokens_per_image());
      }
    }
    read_out(pooled, output, workspace);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> images, Workspace<T>& workspace) const {
    Matrix<T> output(output_rows(images.rows()), out());
    forward(images, output, workspace);
    return output;
  }

 private:
  void embed(const ConstView<T>& images, View<T> tokens, Workspace<T>& workspace) const {
    const auto frame = workspace.frame();
    if (class_token.size() == 0) {
      patch_embedding.forward(images, tokens, workspace.at("patch_embedding"));
    } else {
      const Index patches = patch_embedding.grid().area();
      MatrixMap<T> embedded = workspace.matrix(images.rows() * patches, tokens.cols());
      patch_embedding.forward(images, embedded, workspace.at("patch_embedding"));
      for (Index b = 0; b < images.rows(); ++b) {
        tokens.row(b * (patches + 1)) = class_token.transpose();
        tokens.middleRows(b * (patches + 1) + 1, patches) = embedded.middleRows(b * patches, patches);
      }
    }
    if (stem_norm) {
      stem_norm->forward(tokens, tokens, workspace.at("stem_norm"));
    }
  }

  void read_out(const ConstView<T>& x, View<T> output, Workspace<T>& workspace) const {
    if (pre_logits) {
      const auto frame = workspace.frame();
      MatrixMap<T> hidden = workspace.matrix(x.rows(), x.cols());
      pre_logits->forward(x, hidden, workspace.at("pre_logits"), Activate{Activation::tanh});
      apply_head(hidden, output, workspace);
    } else {
      apply_head(x, output, workspace);
    }
  }

  void apply_head(const ConstView<T>& x, View<T> output, Workspace<T>& workspace) const {
    if (head) {
      head->forward(x, output, workspace.at("head"));
    } else {
      output = x;
    }
    workspace.show(output);
  }
};

}  // namespace gated
