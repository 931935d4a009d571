// custom_layer: trains a layer that is not in gated, saves it, reads it again, and streams it. See README.md.

#include <cstdio>

#include "common/run_main.hpp"
#include "ema_mlp.hpp"
#include "gated/core/summary.hpp"
#include "gated/io/model_file.hpp"
#include "gated/train.hpp"
#include "options.hpp"

namespace {

using Model = smoothing::EmaMlp<float>;
using gated::Matrix;

/// y[t] = 0.1 x[t] + 0.9 y[t - 1]: what the model should learn.
Matrix<float> smoothed(const Matrix<float>& x, const gated::Sequences& sequences) {
  Matrix<float> y = 0.1F * x;
  for (gated::Index b = 0; b < sequences.count(); ++b) {
    for (gated::Index t = sequences.offset(b) + 1; t < sequences.offset(b) + sequences.length(b); ++t) {
      y.row(t) += 0.9F * y.row(t - 1);
    }
  }
  return y;
}

/// Runs the model over one sequence, token by token.
Matrix<float> streamed(const Model& model, const Matrix<float>& x) {
  gated::Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> y(x.rows(), x.cols());
  for (gated::Index t = 0; t < x.rows(); ++t) {
    model.extend(x.row(t), state, y.row(t), workspace);
  }
  return y;
}

int run(const smoothing::Options& options) {
  const auto sequences = gated::Sequences::of_lengths({40, 25, 63});  // a ragged batch, without padding
  gated::Training<Model> training({.model = {.channels = 8, .hidden = 64},
                                   .optimizer = {.learning_rate = 1e-2, .weight_decay = 0},
                                   .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 20, .steps = 400}},
                                  gated::Random(1));
  std::printf("%s\n", gated::summary(training.model).c_str());
  Matrix<float> x(sequences.total(), 8);
  while (training.steps_done() < 400) {
    gated::fill_normal(x, 1.0, training.random);
    const Matrix<float> target = smoothed(x, sequences);
    const double loss = training.step([&](auto& run) { return regression_loss(run(training.model, x, sequences), target); });
    if (training.steps_done() % 100 == 0 || training.steps_done() == 1) {
      std::printf("step %3td  mean squared error %.4f of %.4f\n", training.steps_done(), loss,
                  static_cast<double>(target.squaredNorm()) / static_cast<double>(target.size()));
    }
  }

  gated::save_model(training.model, options.out);
  const auto loaded = gated::load_model<Model>(options.out);
  gated::Workspace<float> workspace;
  const Matrix<float> y = training.model.forward(x, sequences, workspace);
  const bool same = loaded.forward(x, sequences, workspace) == y;
  std::printf("%s: %s\n", options.out.c_str(), same ? "bit-identical after reloading" : "DIFFERENT after reloading");
  const gated::Index first = sequences.length(0);
  const bool streams = streamed(loaded, x.topRows(first)) == y.topRows(first);
  std::printf("token by token: %s\n", streams ? "bit-identical" : "DIFFERENT");
  return same && streams ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "custom_layer", [&] { return smoothing::parse_options(count, arguments); }, run);
}
