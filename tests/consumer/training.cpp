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
  gated::Matrix<float> batch(128, 64);
  std::vector<gated::Index> answers(128);
  double loss = 0;
  while (training.steps_done() < 140) {
    for (gated::Index i = 0; i < 128; ++i) {  // a saved run includes training.random, so a resumed run continues the same order
      const auto row = static_cast<gated::Index>(training.random.uniform() * 1797);
      batch.row(i) = images.row(row);
      answers[static_cast<std::size_t>(i)] = labels[row];
    }
    loss = training.step([&](auto& run) { return cross_entropy(run(training.model, batch), answers); });
  }
  gated::save_model(training.model, files[2]);  // save_model(training, …) would also save what resuming needs
  std::printf("the loss is %s\n", loss < 0.2 ? "below 0.2" : "too large");
}
