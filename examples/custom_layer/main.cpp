// custom_layer: trains a layer that is not in gated, saves it, and reads it again. See README.md.

#include <cstdio>

#include "common/command_line.hpp"
#include "espnet.hpp"
#include "gated/core/summary.hpp"
#include "gated/train.hpp"
#include "train_convolutional_gating.hpp"

namespace {

using Model = speech::ConvolutionalGatingMlp<float>;
using gated::Matrix;

struct Options {
  std::string out = "cgmlp.safetensors";
  bool help = false;
};

const char* const usage =
    "usage: custom_layer [options]\n"
    "\n"
    "Trains a convolutional gating MLP to smooth noise, which needs the tokens around, saves it and reads it again.\n"
    "\n"
    "  --out FILE  where to save the model (cgmlp.safetensors)\n"
    "  --help      show this text\n";

Options parse_options(int count, char** arguments) {
  Options options;
  for (examples::CommandLine line(count, arguments); line.next();) {
    if (line.word() == "--out") {
      options.out = line.value();
    } else if (line.word() == "--help") {
      options.help = true;
    } else {
      gated::raise<examples::UsageError>("unknown option ", line.word(), ".");
    }
  }
  return options;
}

/// y[t] = the mean of x over the five tokens around t that the sequence has.
Matrix<float> smoothed(const Matrix<float>& x, const gated::Sequences& sequences) {
  Matrix<float> y(x.rows(), x.cols());
  for (gated::Index b = 0; b < sequences.count(); ++b) {
    for (gated::Index t = 0; t < sequences.length(b); ++t) {
      const gated::Index first = std::max<gated::Index>(t - 2, 0), last = std::min(t + 2, sequences.length(b) - 1);
      y.row(sequences.offset(b) + t) = x.middleRows(sequences.offset(b) + first, last - first + 1).colwise().mean();
    }
  }
  return y;
}

int run(const Options& options) {
  const auto sequences = gated::Sequences::of_lengths({40, 25, 63});  // ragged, never padded
  gated::Training<Model> training({.model = {.channels = 8, .hidden = 64, .kernel = 7},
                                   .optimizer = {.learning_rate = 1e-2, .weight_decay = 0},
                                   .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 20, .steps = 400}},
                                  gated::Random(1));
  std::printf("%s\n", gated::summary(training.model).c_str());
  gated::Tape<float> tape;
  Matrix<float> x(sequences.total(), 8);
  while (training.steps_done() < 400) {
    gated::fill_normal(x, 1.0, training.random);
    const Matrix<float> target = smoothed(x, sequences);
    const double loss = training.step([&](const Model& model, Model& gradient) {
      tape.begin(model, gradient);
      return tape.backward(mean_squared_error(tape, record(tape, model, tape.constant(x), sequences), target));
    });
    if (training.steps_done() % 100 == 0 || training.steps_done() == 1) {
      std::printf("step %3td  mean squared error %.4f of %.4f\n", training.steps_done(), loss,
                  static_cast<double>(target.squaredNorm()) / static_cast<double>(target.size()));
    }
  }

  gated::save_model(training.model, options.out);
  const auto loaded = gated::load_model<Model>(options.out);
  gated::Workspace<float> workspace;
  const bool same = loaded.forward(x, sequences, workspace) == training.model.forward(x, sequences, workspace);
  std::printf("%s: %s\n", options.out.c_str(), same ? "the same bits when read again" : "OTHER NUMBERS when read again");
  return same ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "custom_layer", usage, [&] { return parse_options(count, arguments); }, run);
}
