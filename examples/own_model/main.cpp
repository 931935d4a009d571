// own_model: trains the denoiser defined in denoiser.hpp, and streams a signal through it. See README.md.

#include <cmath>
#include <cstdio>

#include "denoiser.hpp"
#include "gated/train.hpp"

namespace {

using gated::Matrix, gated::Index;

constexpr Index frame = denoise::Denoiser<float>::frame, length = 64, batch = 16;

/// Two tones of random pitch, as `count` sequences of frames, one frame per row.
Matrix<float> tones(Index count, gated::Random& random) {
  Matrix<float> x(count * length, frame);
  for (Index s = 0; s < count; ++s) {
    const double low = 0.06 + 0.3 * random.uniform(), high = 0.6 + 1.3 * random.uniform();  // radians per sample
    for (Index i = 0; i < length * frame; ++i) {
      const auto t = static_cast<double>(i);
      x(s * length + i / frame, i % frame) = static_cast<float>(0.7 * std::sin(low * t) + 0.3 * std::sin(high * t));
    }
  }
  return x;
}

Matrix<float> with_noise(const Matrix<float>& clean, gated::Random& random) {
  return clean.unaryExpr([&](float sample) { return sample + static_cast<float>(0.5 * random.normal()); });
}

}  // namespace

int main() {
  gated::Training<denoise::Denoiser<float>> training(
      {.model = {.length = length, .channels = 48, .hidden = 192, .depth = 2, .causal = true},
       .optimizer = {.learning_rate = 3e-3},
       .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 20, .steps = 400},
       .clip_norm = 1.0},
      gated::Random(1));
  const auto& model = training.model;
  const auto sequences = gated::Sequences::uniform(batch, length);
  while (training.steps_done() < 400) {
    const Matrix<float> clean = tones(batch, training.random), noisy = with_noise(clean, training.random);
    const double loss = training.step([&](auto& run) { return regression_loss(run(model, noisy, sequences), clean); });
    if (training.steps_done() % 100 == 0) {
      std::printf("step %td: mean squared error %.4f\n", training.steps_done(), loss);
    }
  }

  // A new signal arrives frame by frame. Each frame is denoised immediately; after the first frame, nothing is allocated.
  const Matrix<float> clean = tones(1, training.random), noisy = with_noise(clean, training.random);
  Matrix<float> cleaned(length, frame);
  gated::Workspace<float> workspace;
  auto state = model.start();
  for (Index t = 0; t < length; ++t) {
    model.extend(noisy.middleRows(t, 1), state, cleaned.middleRows(t, 1), workspace);
  }

  const bool same = cleaned == model.forward(noisy);  // the stream has the bits of the whole signal at once
  const double gain = 10 * std::log10((noisy - clean).squaredNorm() / (cleaned - clean).squaredNorm());
  std::printf("signal to noise: %.1f dB better; streaming is %s\n", gain, same ? "bit-identical" : "DIFFERENT");
  return same && gain > 3 ? 0 : 1;
}
