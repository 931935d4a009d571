#include "gated/train/gmlp_image_classifier.hpp"

#include "gated/train/loss.hpp"
#include "tests/core/allocations.hpp"
#include "tests/train/gradients.hpp"

namespace gated {
namespace {

using test::random_matrix;

GmlpImageClassifierConfig config_of(Readout readout) {
  return {.image = {6, 4},
          .patch = {3, 2},
          .image_channels = 2,
          .classes = 3,
          .readout = readout,
          .trunk = {.channels = 6, .hidden = 8, .depth = 2}};
}

template <class T>
GmlpImageClassifier<T> shaken(const GmlpImageClassifierConfig& config) {
  GmlpImageClassifier<T> model(config);
  test::shake(model, 5);
  return model;
}

const auto record_images = [](Tape<double>& tape, const GmlpImageClassifier<double>& model, Variable images) {
  return record(tape, model, images);
};

TEST(TrainGmlpImageClassifier, GradientsOfEveryReadout) {
  for (const auto& [readout, name] : names_of(Readout{})) {
    SCOPED_TRACE(name);
    test::expect_gradients(shaken<double>(config_of(readout)), random_matrix<double>(2, 48, 6), record_images);
  }
}

TEST(TrainGmlpImageClassifier, GradientsOfTheOtherParts) {
  auto config = config_of(Readout::class_token);
  config.stem_norm = config.pre_logits = true;
  test::expect_gradients(shaken<double>(config), random_matrix<double>(2, 48, 6), record_images);
  config.classes = 0;
  test::expect_gradients(shaken<double>(config), random_matrix<double>(2, 48, 6), record_images);
}

TEST(TrainGmlpImageClassifier, ForwardIsTheInferenceForward) {
  for (const auto& [readout, name] : names_of(Readout{})) {
    auto config = config_of(readout);
    config.stem_norm = config.pre_logits = true;
    const auto model = shaken<float>(config);
    const Matrix<float> images = random_matrix<float>(3, 48, 6);
    Workspace<float> workspace;
    auto gradient = zeros_like(model);
    Tape<float> tape;
    tape.begin(model, gradient);
    const Variable output = record(tape, model, tape.input(images));
    EXPECT_TRUE(test::same_bits(Matrix<float>(tape[output]), model.forward(images, workspace))) << name;
  }
}

/// Steps with everything that may draw random numbers; returns the allocations of the last.
long allocations_of_last_step(const TapeOptions& options) {
  auto config = config_of(Readout::mean);
  config.trunk.attention = 4;
  config.trunk.survival = 0.7;
  const auto model = shaken<float>(config);
  auto gradient = zeros_like(model);
  const Matrix<float> images = random_matrix<float>(5, 48, 6);
  const std::vector<Index> labels{0, 1, 2, 1, 0};
  Tape<float> tape({}, options);
  Random random(1);
  const auto step = [&] {
    tape.begin(model, gradient, random);
    tape.backward(cross_entropy(tape, record(tape, model, tape.constant(images)), labels));
  };
  for (int i = 0; i < 20; ++i) {  // until every block was used in one of them
    step();
  }
  return test::allocations_during(step);
}

TEST(TrainGmlpImageClassifier, AWarmStepAllocatesNothing) {
  EXPECT_EQ(allocations_of_last_step({}), 0);
  EXPECT_EQ(allocations_of_last_step({.recompute = true}), 0);
  EXPECT_EQ(
      allocations_of_last_step({.recompute = true, .attention_dropout = 0.1, .residual_dropout = 0.1, .scaled_depth = true}),
      0);
}

TEST(TrainGmlpImageClassifier, RefusesImagesOfAnotherSize) {
  const auto model = shaken<float>(config_of(Readout::mean));
  auto gradient = zeros_like(model);
  Tape<float> tape;
  const Matrix<float> images = random_matrix<float>(2, 47, 6);
  EXPECT_THROW(tape.constant(images), ArgumentError);  // before begin()
  tape.begin(model, gradient);
  EXPECT_THROW(record(tape, model, tape.constant(images)), ShapeError);
  auto other = config_of(Readout::mean);
  other.trunk.depth = 1;
  auto shallow = GmlpImageClassifier<float>(other);
  EXPECT_THROW(tape.begin(model, shallow), ArgumentError);
}

}  // namespace
}  // namespace gated
