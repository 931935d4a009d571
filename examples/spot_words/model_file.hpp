#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gated/audio/mfcc.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/presets.hpp"
#include "recordings.hpp"

/// Keyword models and their files.

namespace words {

using gated::Matrix;

using Model = gated::GmlpImageClassifier<float>;

/// A KW-MLP and the labels of its classes.
struct Keywords {
  Model model;
  std::vector<std::string> labels;  ///< the words, then unknown_label and silence_label
};

/// A KW-MLP of `depth` blocks. MFCCs reach several hundred, so they are divided by 40.
inline gated::GmlpImageClassifierConfig keyword_model(Index classes, Index depth) {
  gated::GmlpImageClassifierConfig config = gated::kw_mlp(classes);
  config.pixel_deviation = 40;
  config.trunk.depth = depth;
  return config;
}

/// The model's input for a second of sound at 16 kHz: its MFCCs, scaled.
/// Shapes: `image` is 1 × 98·40.
inline void features_of(const Vector<float>& second, const gated::GmlpImageClassifierConfig& config, gated::View<float> image) {
  const Matrix<float> coefficients = gated::mfcc<float>(second, gated::keyword_mlp_mfcc());
  image = Eigen::Map<const Matrix<float>>(coefficients.data(), 1, coefficients.size());
  gated::scale_pixels<float>(image, config);
}

/// Opens a file from save().
/// Errors: those of load_model(); FileError for an image classifier that is not a keyword model.
inline Keywords load(const std::filesystem::path& path) {
  const gated::SafetensorsFile file(path);
  Keywords opened{gated::load_model<Model>(file), gated::labels_of(file)};
  const auto& config = opened.model.config;
  const Index pixels = config.image_channels * config.image.area(), classes = std::ssize(opened.labels);
  gated::require<gated::FileError>(pixels == 98 * 40 && config.pooling != gated::Pooling::tokens, path.string(),
                                   ": the model's input has ", pixels,
                                   " values, expected 98 × 40 MFCCs; its output must be class scores.");
  gated::require<gated::FileError>(classes == config.classes && classes >= 3 && opened.labels.back() == silence_label &&
                                       opened.labels[opened.labels.size() - 2] == unknown_label,
                                   path.string(), ": ", classes, " labels for ", config.classes,
                                   " classes, expected one per class, the last two ", unknown_label, " and ", silence_label,
                                   ".");
  return opened;
}

/// Writes a model in the formats of the shipped one: projections in int8, spatial weights, norms and biases in bf16.
inline void save(const Keywords& keywords, const std::filesystem::path& path) {
  gated::save_parameters(keywords.model, path,
                         {{"architecture", Model::architecture},
                          {"config", gated::to_json(keywords.model.config)},
                          {"labels", gated::labels_text(keywords.labels)}},
                         {}, gated::Dtype::BF16, gated::WeightFormat::int8);
}

}  // namespace words
