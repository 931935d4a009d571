#include "gated/audio/in_place_mfcc.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::in_place_mfcc_test {
namespace {

using test::expect_error;
using test::random_vector;

/// The MFCCs of `samples`, computed by InPlaceMfcc in exactly the required memory, without allocations.
template <class Sample>
Matrix<float> in_place(const std::vector<Sample>& samples, const MfccOptions& options) {
  std::vector<std::byte> memory(InPlaceMfcc::required_bytes(options));
  Matrix<float> result(options.spectrum.frames(options.samples), options.coefficients);
  const long allocations = test::allocations_during([&] {
    InPlaceMfcc mfcc(options, memory);
    mfcc(std::span<const Sample>(samples), result);
    mfcc(std::span<const Sample>(samples), result);
  });
  EXPECT_EQ(allocations, 0);
  return result;
}

TEST(InPlaceMfcc, IsBitEqualToMfcc) {
  static_cast<void>(mfcc<float>(Vector<float>::Zero(480), {.samples = 0}));  // builds the cached FFT tables
  for (const Index count : {1, 5000, 16000, 17000}) {
    const Vector<float> x = random_vector<float>(count, 3, 0.1);
    EXPECT_EQ(in_place(std::vector<float>(x.begin(), x.end()), keyword_mlp_mfcc()), mfcc<float>(x, keyword_mlp_mfcc()))
        << count;
  }
}

TEST(InPlaceMfcc, IsBitEqualToMfccForOtherOptions) {
  const Vector<float> x = random_vector<float>(3000, 4, 0.5);
  const std::vector<float> samples(x.begin(), x.end());
  const MfccOptions padded{
      .samples = 3000, .spectrum = {.length = 400, .hop = 160, .fft = 512}, .mels = 23, .coefficients = 13};
  EXPECT_EQ(in_place(samples, padded), mfcc<float>(x, padded));
  const MfccOptions kaldi{.samples = 2900,
                          .spectrum = {.window = {WindowForm::hamming, false}, .length = 420, .hop = 100},
                          .mel = MelForm::kaldi,
                          .mels = 30,
                          .coefficients = 30,
                          .range = 20};
  EXPECT_EQ(in_place(samples, kaldi), mfcc<float>(x, kaldi));
}

TEST(InPlaceMfcc, AcceptsSixteenBitSamples) {
  std::vector<std::int16_t> samples;
  Vector<float> x(16000);
  for (Index i = 0; i < x.size(); ++i) {
    samples.push_back(static_cast<std::int16_t>(i * 7919 % 65536 - 32768));
    x[i] = static_cast<float>(samples.back()) / 32768;
  }
  EXPECT_EQ(in_place(samples, keyword_mlp_mfcc()), mfcc<float>(x, keyword_mlp_mfcc()));
}

TEST(InPlaceMfcc, RefusesInvalidOptionsAndShapes) {
  std::vector<std::byte> memory(InPlaceMfcc::required_bytes(keyword_mlp_mfcc()));
  const auto refused = [&](const MfccOptions& options) { InPlaceMfcc mfcc(options, memory); };
  expect_error<ShapeError>([&] { refused({.samples = 0}); },
                           {"InPlaceMfcc: 0 samples, expected at least 480, the length of a frame."});
  expect_error<ArgumentError>([&] { refused({.spectrum = {.length = 481}}); },
                              {"a frame has 481 points, expected an even number"});
  expect_error<ArgumentError>([&] { refused({.spectrum = {.length = 442}}); }, {"without a prime factor above 7"});
  expect_error<ArgumentError>([] { (void)InPlaceMfcc::required_bytes({.spectrum = {.length = 550, .hop = 220}}); },
                              {"a frame has 550 points", "without a prime factor above 7"});
  expect_error<ArgumentError>([&] { refused({.coefficients = 41}); }, {"coefficients is 41, expected 1 to mels = 40."});
  expect_error<MemoryError>([&] { InPlaceMfcc({}, std::span(memory).first(InPlaceMfcc::required_bytes({}) - 1)); },
                            {"InPlaceMfcc: the memory has", "expected required_bytes() = "});
  InPlaceMfcc mfcc({}, memory);
  Matrix<float> wrong(97, 40);
  expect_error<ShapeError>([&] { mfcc(std::span<const float>(), wrong); },
                           {"InPlaceMfcc: coefficients is 97 × 40, expected 98 × 40"});
}

}  // namespace
}  // namespace gated::in_place_mfcc_test
