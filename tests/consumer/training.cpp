#include <cstdio>
#include <gated/io/csv.hpp>
#include <gated/io/model_file.hpp>
#include <gated/train.hpp>

int main(int, char** files) {
  using Model = gated::GmlpImageClassifier<float>;
  const auto digits = gated::read_csv<float>(files[1]);                     // 1797 × (64 pixels, label)
  const gated::Matrix<float> images = digits.leftCols(64).array() / 8 - 1;  // 0…16 → -1…1
  const gated::Vector<gated::Index> labels = digits.col(64).cast<gated::Index>();

  gated::Training<Model> training({.model = {.image = {8, 8},
                                             .patch = {2, 2},
                                             .image_channels = 1,
                                             .classes = 10,
                                             .trunk = {.channels = 32, .hidden = 128, .depth = 2}},
                                   .optimizer = {.learning_rate = 1e-2},
                                   .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 10, .steps = 140},
                                   .clip_norm = 1.0},
                                  gated::Random(1));
  gated::Tape<float> tape;  // activations of one step; the next step uses their memory again
  gated::Matrix<float> batch(128, 64);
  gated::Vector<gated::Index> answers(128);
  double loss = 0;
  while (training.steps_done() < 140) {
    loss = training.step([&](const Model& model, Model& gradient) {  // a gradient is a model
      for (gated::Index i = 0; i < 128; ++i) {  // drawn with the training's generator, which is saved: the order resumes too
        const auto row = static_cast<gated::Index>(training.random.uniform() * 1797);
        batch.row(i) = images.row(row);
        answers[i] = labels[row];
      }
      tape.begin(model, gradient);
      const auto logits = record(tape, model, tape.constant(batch));
      return tape.backward(cross_entropy(tape, logits, {answers.data(), 128}));
    });
  }
  gated::save_model(training.model, files[2]);  // save_model(training, …) would keep all that is needed to go on
  std::printf("the loss is %s\n", loss < 0.2 ? "below 0.2" : "too large");
}
