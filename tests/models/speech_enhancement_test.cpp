#include "gated/models/speech_enhancement.hpp"

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"
#include "tests/layers/literal.hpp"

namespace gated::speech_enhancement_test {
namespace {

using test::expect_error;

/// Sound at 8 kHz in frames of 80 samples. Sounds of more than 800 samples are cut into windows of 400.
SpeechEnhancement small_enhancement() {
  SpeechEnhancement options;
  options.features.rate = 8000;
  options.features.length = options.spectrum.length = 80;
  options.features.hop = options.spectrum.hop = 16;
  options.features.mels = 8;
  options.spectrum.window = {.form = WindowForm::hamming, .periodic = false};
  options.windows = decode_windows(8000, 0.05, 0.1);
  return options;
}

MaskNetwork<double> small_network(Index features, Index bins) {
  MaskNetwork<double> network(
      {.features = features,
       .outputs = bins,
       .trunk = {
           .depth = 1,
           .block = {.channels = 6, .attention = {.query_key = 4, .chunk = 8, .rotary_dimensions = 4}, .fsmn = {.inner = 4}}}});
  test::randomize(network, 1);
  return network;
}

Vector<double> noise(Index samples) { return test::random_matrix<double>(samples, 1, 2).col(0); }

TEST(SpeechEnhancement, MasksTheSpectrumOfEachWindow) {
  const auto network = small_network(24, 41);
  const auto options = small_enhancement();
  Workspace<double> workspace;
  for (const Index samples : {795, 1250}) {  // a single window; several windows
    const Vector<double> x = noise(samples), y = enhance<double>(network, x, options, workspace);
    const auto expected =
        enhance_in_windows<double>(x, options.windows, [&](const ConstSignal<double>& piece) -> Matrix<double> {
          const auto masks = network.forward(log_mel_features<double>(piece, options.features), workspace);
          auto spectrum = stft<double>(piece, options.spectrum);
          for (Index t = 0; t < spectrum.rows(); ++t) {
            for (Index k = 0; k < spectrum.cols(); ++k) {
              spectrum(t, k) *= masks(t, k);
            }
          }
          return istft<double>(spectrum, piece.size(), options.spectrum);
        });
    EXPECT_LT((y - expected.col(0)).cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff());
  }
  EXPECT_EQ(enhance<double>(network, noise(795), options, workspace).tail(11), Vector<double>::Zero(11));  // after all frames
}

TEST(SpeechEnhancement, RefusesMismatchedNetworksAndShortSound) {
  const auto options = small_enhancement();
  Workspace<double> workspace;
  expect_error<ShapeError>([&] { enhance<double>(small_network(23, 41), noise(800), options, workspace); },
                           {"expects 23 features", "have 24"});
  expect_error<ShapeError>([&] { enhance<double>(small_network(24, 40), noise(800), options, workspace); },
                           {"masks 40 bins", "41"});
  const auto network = small_network(24, 41);
  auto other_hop = options;
  other_hop.spectrum.hop += 1;
  expect_error<ArgumentError>([&] { enhance<double>(network, noise(800), other_hop, workspace); }, {"Frames must match"});
  for (const Index samples : {0, 1, 79}) {
    EXPECT_THROW(enhance<double>(network, noise(samples), options, workspace), ShapeError) << samples;
  }
}

}  // namespace
}  // namespace gated::speech_enhancement_test
