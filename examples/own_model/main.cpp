// own_model: trains the denoiser defined in denoiser.hpp, and streams a signal through it. See README.md.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "denoiser.hpp"
#include "gated/io/model_file.hpp"
#include "gated/train.hpp"

namespace {

using gated::Matrix, gated::Index;
using Model = denoise::Denoiser<float>;

constexpr Index frame = 32, length = 64, batch = 16;

/// Two tones of random pitch, as `count` sequences of frames, one frame per row.
Matrix<float> tones(Index count, gated::Random& random) {
  Matrix<float> x(count * length, frame);
  for (Index s = 0; s < count; ++s) {
    const double low = 0.01 + 0.05 * random.uniform(), high = 0.1 + 0.2 * random.uniform(), phase = random.uniform();
    for (Index t = 0; t < length * frame; ++t) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(t);
      x(s * length + t / frame, t % frame) =
          static_cast<float>(0.7 * std::sin(turn * low + phase) + 0.3 * std::sin(turn * high));
    }
  }
  return x;
}

Matrix<float> with_noise(const Matrix<float>& clean, gated::Random& random) {
  return clean.unaryExpr([&](float sample) { return sample + static_cast<float>(0.5 * random.normal()); });
}

/// The signal-to-noise ratio of `signal` in decibels: the power of `clean` over the power of the difference.
double quality(const Matrix<float>& signal, const Matrix<float>& clean) {
  return 10 * std::log10(static_cast<double>(clean.squaredNorm() / (signal - clean).squaredNorm()));
}

}  // namespace

int main() {
  const denoise::DenoiserConfig config{.frame = frame,
                                       .trunk = {.length = length, .channels = 48, .hidden = 192, .depth = 2, .causal = true}};
  gated::Training<Model> training({.model = config,
                                   .optimizer = {.learning_rate = 3e-3},
                                   .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 20, .steps = 400},
                                   .clip_norm = 1.0},
                                  gated::Random(1));
  const auto sequences = gated::Sequences::uniform(batch, length);
  Matrix<float> clean, noisy;
  while (training.steps_done() < 400) {
    clean = tones(batch, training.random);
    noisy = with_noise(clean, training.random);
    const double loss = training.step([&](auto& run) { return regression_loss(run(training.model, noisy, sequences), clean); });
    if (training.steps_done() % 100 == 0) {
      std::printf("step %td: mean squared error %.4f\n", training.steps_done(), loss);
    }
  }

  // A new signal arrives frame by frame. Each frame is denoised immediately; after the first frame, nothing is allocated.
  const Model& model = training.model;
  gated::Random random(2);
  clean = tones(1, random);
  noisy = with_noise(clean, random);
  gated::Workspace<float> workspace;
  Matrix<float> cleaned(length, frame);
  auto state = model.start();
  const auto begin = std::chrono::steady_clock::now();
  for (Index t = 0; t < length; ++t) {
    model.extend(noisy.middleRows(t, 1), state, cleaned.middleRows(t, 1), workspace);
  }
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;

  const double before = quality(noisy, clean), after = quality(cleaned, clean);
  const bool same = cleaned == model.forward(noisy, gated::Sequences::single(length), workspace);
  std::printf("signal to noise: %.1f dB before, %.1f dB after; %.0f µs per frame\n", before, after,
              taken.count() / static_cast<double>(length));
  std::printf("streaming %s the same bits as the whole signal at once\n", same ? "gives" : "DOES NOT GIVE");
  return same && after > before + 5 ? 0 : 1;
}
