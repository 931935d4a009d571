#include "gated/models/denoise_stream.hpp"

#include <atomic>
#include <limits>
#include <thread>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/layers/literal.hpp"
#include "tests/promises.hpp"

namespace gated::denoise_stream_test {
namespace {

using test::message_of;

SpeechDenoiserConfig small(Index length, Index hop) {
  return {.rate = 8000,
          .length = length,
          .hop = hop,
          .blocks = {.depth = 2, .block = {.channels = 12, .inner = 8, .order = 3, .kernel = 4, .causal = true}}};
}

template <class T>
SpeechDenoiser<T> random_denoiser(Index length, Index hop) {
  SpeechDenoiser<T> model(small(length, hop));
  test::randomize(model, 1);
  return model;
}

template <class T>
Vector<T> sound(Index samples) {
  return test::random_matrix<T>(samples, 1, 2).col(0);
}

TEST(SpeechDenoiser, KeepsItsPromises) {
  test::expect_promises<SpeechDenoiser>(small(20, 8), {.causal = true, .rewinds = false});
}

TEST(SpeechDenoiser, RunsItsLayersInOrder) {
  const auto model = random_denoiser<double>(20, 8);
  const Matrix<double> x = test::random_matrix<double>(9, 11, 3);
  const Matrix<double> h = model.norm.forward(model.blocks.forward(model.encoder.forward(x)));
  const Matrix<double> expected = (1 + (-model.decoder.forward(h).array()).exp()).inverse().matrix();
  EXPECT_LT((model.forward(x) - expected).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(SpeechDenoiser, RefusesInvalidOptions) {
  auto config = small(20, 8);
  config.blocks.block.causal = false;
  config.blocks.block.kernel = 3;
  EXPECT_EQ(message_of<ArgumentError>([&] { SpeechDenoiser<float>{config}; }),
            "SpeechDenoiser: the blocks see the future. Set causal = true.");
  EXPECT_EQ(message_of<ArgumentError>([] { SpeechDenoiser<float>{small(20, 20)}; }),
            "SpeechDenoiser: length = 20 and hop = 20, expected 1 ≤ hop < length: frames must overlap.");
  config = small(20, 8);
  config.rate = 7999;
  EXPECT_EQ(message_of<ArgumentError>([&] { SpeechDenoiser<float>{config}; }),
            "SpeechDenoiser: rate = 7999, expected 8000 to 96000 samples per second.");
}

TEST(Denoise, PadsSoundWithSilence) {
  const auto model = random_denoiser<double>(20, 8);
  Workspace<double> workspace;
  for (const Index samples : {1, 7, 8, 9, 160, 163}) {
    const Vector<double> x = sound<double>(samples), y = denoise<double>(model, x, workspace);
    ASSERT_EQ(y.size(), samples);
    Vector<double> padded = Vector<double>::Zero(12 + samples + 20);
    padded.segment(12, samples) = x;
    auto spectrum = stft<double>(padded, model.config.spectrum());
    const Matrix<double> features = ((spectrum.cwiseAbs2().array() + 1e-8).log() + 4) / 8;
    spectrum = spectrum.cwiseProduct(model.forward(features));
    const Vector<double> expected = istft<double>(spectrum, padded.size(), model.config.spectrum()).segment(12, samples);
    EXPECT_LT((y - expected).cwiseAbs().maxCoeff(), 1e-13) << samples;
  }
  EXPECT_EQ(message_of<ShapeError>([&] { denoise<double>(model, Vector<double>(), workspace); }),
            "denoise: there are no samples.");
}

/// Streams `x`, then latency() zeros, in blocks of 1, 2, …, `largest`, 1, 2, … samples. Returns the output without the delay.
template <class T>
Vector<T> streamed(DenoiseStream<T>& stream, const Vector<T>& x, Index largest) {
  Vector<T> y = Vector<T>::Zero(x.size() + stream.latency());
  y.head(x.size()) = x;
  for (Index at = 0, size = 1; at < y.size(); at += size, size = size % largest + 1) {
    const auto block = std::span(y.data() + at, static_cast<std::size_t>(std::min(size, y.size() - at)));
    stream.process(block, block);
  }
  EXPECT_EQ(y.head(stream.latency()), Vector<T>::Zero(stream.latency()));
  return y.tail(x.size());
}

template <class T>
void expect_the_bits_of_the_whole_sound() {
  for (const auto& [length, hop] : {std::pair<Index, Index>{20, 8}, {20, 10}, {21, 5}, {16, 15}}) {
    const auto model = random_denoiser<T>(length, hop);
    Workspace<T> workspace;
    DenoiseStream<T> stream(model);
    EXPECT_EQ(stream.latency(), length - 1);
    for (const Index samples : {1, 203}) {
      const Vector<T> x = sound<T>(samples), whole = denoise<T>(model, x, workspace);
      for (const Index largest : {1, 3, 50}) {
        stream.reset();
        EXPECT_EQ(streamed(stream, x, largest), whole) << length << " " << hop << " " << samples << " " << largest;
      }
    }
  }
}

TEST(DenoiseStream, IsBitEqualToDenoisingTheWholeSound) {
  expect_the_bits_of_the_whole_sound<float>();
  expect_the_bits_of_the_whole_sound<double>();
}

TEST(DenoiseStream, KeepsTheKernelsItWasConstructedWith) {
  const auto model = random_denoiser<float>(20, 8);
  const Vector<float> x = sound<float>(203);
  const KernelForm before = kernels();
  DenoiseStream<float> stream(model);
  const Vector<float> expected = streamed(stream, x, 7);
  use_kernels(available_kernels().front());
  stream.reset();
  const Vector<float> after = streamed(stream, x, 7);
  use_kernels(before);
  EXPECT_EQ(after, expected);
}

TEST(DenoiseStream, TreatsNaNAndInfinityAsSilence) {
  const auto model = random_denoiser<float>(20, 8);
  DenoiseStream<float> stream(model);
  Vector<float> x = sound<float>(203);
  x.segment(50, 30).setZero();
  const Vector<float> expected = streamed(stream, x, 5);
  x.segment(50, 30).setConstant(std::numeric_limits<float>::quiet_NaN());
  x[60] = std::numeric_limits<float>::infinity();
  stream.reset();
  EXPECT_EQ(streamed(stream, x, 5), expected);
}

TEST(DenoiseStream, RefusesAnOutputOfDifferentLength) {
  const auto model = random_denoiser<float>(20, 8);
  DenoiseStream<float> stream(model);
  std::vector<float> in(3), out(4, 7);
  EXPECT_EQ(message_of<ShapeError>([&] { stream.process(in, out); }),
            "DenoiseStream::process: out has 4 samples, expected 3, the length of in.");
  EXPECT_EQ(out, std::vector<float>(4, 7));
}

TEST(DenoiseStream, RefusesTwoThreadsAtTheSameTime) {
  const auto model = random_denoiser<float>(20, 8);
  DenoiseStream<float> stream(model);
  std::atomic<bool> is_refused = false;
  const auto use = [&] {
    std::vector<float> samples(1000);
    try {
      while (!is_refused) {
        stream.process(samples, samples);
      }
    } catch (const ArgumentError& error) {
      is_refused = true;
      EXPECT_STREQ(error.what(),
                   "DenoiseStream: two threads use it at the same time. Give each thread its own stream; threads may share the "
                   "model.");
    }
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_TRUE(is_refused);
}

TEST(DenoiseStream, AllocatesNothingAfterConstruction) {
  const auto model = random_denoiser<float>(20, 8);
  DenoiseStream<float> stream(model);
  Vector<float> x = sound<float>(200);
  const std::span samples(x.data(), 200);
  EXPECT_EQ(test::allocations_during([&] {
              stream.process(samples, samples);
              stream.reset();
              stream.process(samples, samples);
            }),
            0);
}

}  // namespace
}  // namespace gated::denoise_stream_test
