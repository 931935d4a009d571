#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gated/io/image_input.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/top_k.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// Image classification: from a picture to class names.

namespace gated {

/// A class and its probability.
struct Guess {
  std::string label;  ///< the name of the class or, if the file has no labels, its number: "class 3"
  double probability;
};

/// An image classifier and the names of its classes.
///
///     const auto classifier = load_classifier("gmlp_s16_224.safetensors");
///     for (const auto& [label, probability] : classifier.classify(read_image("cat.jpg"), 5)) { … }
///
/// Threads may share a classifier.
template <class Model>
struct Classifier {
  using T = typename Model::Scalar;

  Model model;
  std::vector<std::string> labels;  ///< one per class, or none

  /// The `k` most probable classes, in descending order.
  /// Errors: those of ImageInput; ArgumentError if the model has no class head, or the numbers of labels and classes differ.
  std::vector<Guess> classify(const Image& image, Index k, Workspace<T>& workspace) const {
    require<ArgumentError>(model.config.classes > 0 && model.config.pooling != Pooling::tokens,
                           "Classifier: the model outputs features, not class scores. Load a model with a class head.");
    require<ArgumentError>(labels.empty() || static_cast<Index>(labels.size()) == model.out(), "Classifier: ", labels.size(),
                           " labels, expected one for each of the ", model.out(), " classes.");
    Matrix<T> scores = model.forward(image_input<T>(image, model.config), workspace);
    softmax<T>(scores, workspace);
    std::vector<Guess> guesses;
    for (const auto& [index, probability] : top_k<T>(scores, k)) {
      guesses.push_back(
          {labels.empty() ? text("class ", index) : labels[static_cast<std::size_t>(index)], static_cast<double>(probability)});
    }
    return guesses;
  }
  /// Classifies `image` with a temporary workspace.
  std::vector<Guess> classify(const Image& image, Index k = 5) const {
    Workspace<T> workspace;
    return classify(image, k, workspace);
  }
};

/// Loads a classifier and its labels from a file.
/// Errors: those of load_model().
template <ConfiguredModel Model = GmlpImageClassifier<float>>
Classifier<Model> load_classifier(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  return {load_model<Model>(file), labels_of(file)};
}

}  // namespace gated
