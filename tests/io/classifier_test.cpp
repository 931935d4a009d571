#include "gated/io/classifier.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"
#include "tests/train/gradients.hpp"

namespace gated::classifier_test {
namespace {

using test::message_of, test::shake;

GmlpImageClassifier<float> model_of(Pooling pooling = Pooling::mean) {
  Random random(1);
  GmlpImageClassifier<float> model(
      {.image = {4, 6}, .patch = {2, 2}, .classes = 3, .pooling = pooling, .trunk = {.channels = 8, .hidden = 16, .depth = 1}},
      random);
  shake(model, 2);
  return model;
}

Image picture() {
  Image image{9, 7, 3, std::vector<std::uint8_t>(9 * 7 * 3)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(37 * i % 251);
  }
  return image;
}

TEST(Classifier, NamesTheMostProbableClasses) {
  const auto path = test::temporary("labelled.safetensors");
  const std::vector<std::string> labels{"robin", "wren", "owl"};
  const auto model = model_of();
  save_model(model, path, {{"labels", labels_text(labels)}});
  const auto classifier = load_classifier(path);
  EXPECT_EQ(classifier.labels, labels);

  Workspace<float> workspace;
  Matrix<float> expected = model.forward(image_input<float>(picture(), model.config), workspace);
  softmax<float>(expected, workspace);
  double sum = 0, before = 1;
  for (const auto& [label, probability] : classifier.classify(picture(), 5)) {
    const auto place = std::find(labels.begin(), labels.end(), label) - labels.begin();
    EXPECT_EQ(static_cast<float>(probability), expected(0, place)) << label;
    EXPECT_LE(probability, before);
    before = probability;
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(classifier.classify(picture(), 1).size(), 1U);
}

TEST(Classifier, LabelsUnnamedClassesByNumber) {
  const Classifier<GmlpImageClassifier<float>> classifier{model_of(), {}};
  for (const auto& guess : classifier.classify(picture(), 3)) {
    EXPECT_TRUE(guess.label == "class 0" || guess.label == "class 1" || guess.label == "class 2") << guess.label;
  }
}

TEST(Classifier, RefusesModelsWithoutClasses) {
  const Classifier<GmlpImageClassifier<float>> features{model_of(Pooling::tokens), {}}, misnamed{model_of(), {"robin"}};
  EXPECT_EQ(message_of<ArgumentError>([&] { features.classify(picture()); }),
            "Classifier: the model outputs features, not class scores. Load a model with a class head.");
  EXPECT_EQ(message_of<ArgumentError>([&] { misnamed.classify(picture()); }),
            "Classifier: 1 labels, expected one for each of the 3 classes.");
}

}  // namespace
}  // namespace gated::classifier_test
