#include "gated/models/mossformer2.hpp"

#include "gated/io/clear_voice.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/speech_separator.hpp"
#include "tests/io/files.hpp"
#include "tests/layers/literal.hpp"
#include "tests/promises.hpp"

namespace gated::mossformer2_test {
namespace {

using test::expect_error;
using test::random_matrix;

/// A small trunk, for segments shorter and longer than a chunk.
MossFormer2Config small_trunk(bool dilated = false) {
  return {.depth = 2,
          .block = {.channels = 6,
                    .attention = {.query_key = 4, .chunk = 4, .kernel = 3, .rotary_dimensions = 4},
                    .fsmn = {.inner = 4, .order = 2, .kernel = 3, .dilated = dilated}}};
}

TEST(MossFormer2, KeepsItsPromises) { test::expect_promises<MossFormer2>(small_trunk()); }

TEST(MossFormer2, StreamsIfItsPartsAreCausal) {
  auto config = small_trunk();
  config.block.attention.causal = config.block.fsmn.causal = true;
  test::expect_promises<MossFormer2>(config, {.causal = true, .rewinds = false, .trains = false});
}

TEST(MaskNetwork, KeepsItsPromises) {
  test::expect_promises<MaskNetwork>({.features = 5, .outputs = 7, .trunk = small_trunk()});
  test::expect_promises<MaskNetwork>(
      {.features = 5, .outputs = 4, .speakers = 3, .positions = false, .skip = false, .trunk = small_trunk(true)},
      {.lengths = {7, 0, 9, 4}});
}

TEST(MaskNetwork, HasThePublishedNumberOfParameters) {
  const detail::HollowWeights hollow;
  auto config = mossformer2_se_48k();
  EXPECT_EQ(parameter_count(MaskNetwork<float>(config)), 54'999'498);
  config.speakers = 2;
  EXPECT_EQ(parameter_count(MaskNetwork<float>(config)), 55'262'154);
  EXPECT_EQ(parameter_count(SpeechSeparator<float>(mossformer2_separator())), 55'735'394);
}

/// Each speaker's wave is the overlap-add of Dᵀ (relu(E w) ⊙ mask) over all frames w, with encoder E and decoder D.
TEST(SpeechSeparator, AddsOverlappingFrames) {
  SpeechSeparator<double> model(
      {.window = 4, .masks = {.features = 6, .outputs = 6, .speakers = 2, .trunk = small_trunk(true)}});
  test::randomize(model, 1);
  const auto x = random_matrix<double>(3, 21, 2);
  Workspace<double> workspace;
  const auto y = model.forward(x, workspace);
  ASSERT_EQ(y.rows(), 3);
  ASSERT_EQ(y.cols(), 42);
  const Index frames = 9;  // no frame reaches sample 20
  Matrix<double> expected = Matrix<double>::Zero(3, 42);
  for (Index b = 0; b < 3; ++b) {
    Matrix<double> spectrum(frames, 6);
    for (Index t = 0; t < frames; ++t) {
      spectrum.row(t) = (x.row(b).segment(2 * t, 4) * model.encoder.weight.transpose()).cwiseMax(0.0);
    }
    const auto masks = model.masks.forward(spectrum, workspace);
    for (Index speaker = 0; speaker < 2; ++speaker) {
      const Matrix<double> own = spectrum.cwiseProduct(masks.middleCols(speaker * 6, 6));
      for (Index t = 0; t < frames; ++t) {
        expected.row(b).segment(speaker * 21 + 2 * t, 4) += own.row(t) * model.decoder.weight;
      }
    }
  }
  EXPECT_LT((y - expected).cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff());
  EXPECT_EQ(y(0, 20), 0);
}

TEST(SpeechSeparator, AllocatesNothingWhenWarm) {
  Random random(1);
  const SpeechSeparator<float> model({.window = 4, .masks = {.features = 6, .outputs = 6, .trunk = small_trunk()}}, random);
  const auto x = random_matrix<float>(1, 30, 2);
  Matrix<float> y(1, 30);
  Workspace<float> workspace;
  model.forward(x, y, workspace);
  EXPECT_EQ(test::allocations_during([&] { model.forward(x, y, workspace); }), 0);
}

TEST(SpeechSeparator, IsSavedAndLoaded) {
  Random random(1);
  const SpeechSeparator<float> model({.window = 4, .masks = {.features = 6, .outputs = 6, .trunk = small_trunk()}}, random);
  const auto path = test::temporary("separator.safetensors");
  save_model(model, path);
  Workspace<float> workspace;
  const auto x = random_matrix<float>(1, 30, 2);
  EXPECT_EQ(load_model<SpeechSeparator<float>>(path).forward(x, workspace), model.forward(x, workspace));
}

TEST(SpeechSeparator, RefusesInvalidConfigurations) {
  const MaskNetworkConfig masks{.features = 6, .outputs = 6, .trunk = small_trunk()};
  expect_error<ArgumentError>([&] { SpeechSeparator<float>({.window = 1, .masks = masks}); }, {"window = 1"});
  expect_error<ArgumentError>([&] { SpeechSeparator<float>({.masks = {.features = 6, .outputs = 5, .trunk = small_trunk()}}); },
                              {"masks.outputs = 5"});
  Random random(1);
  const SpeechSeparator<float> model({.masks = masks}, random);
  Workspace<float> workspace;
  expect_error<ShapeError>([&] { model.forward(random_matrix<float>(1, 15, 1), workspace); }, {"15 samples", "window = 16"});
}

TEST(MossFormer2Names, OmitTheUnusedSpeaker) {
  auto config = MaskNetworkConfig{.features = 5, .outputs = 7, .speakers = 2, .trunk = small_trunk()};
  Random random(1);
  const MaskNetwork<float> both(config, random);
  const auto path = test::temporary("se.safetensors");
  save_parameters(both, path, {}, mossformer2_se_names(0));
  config.speakers = 1;
  MaskNetwork<float> first(config);
  load_parameters(first, SafetensorsFile(path), mossformer2_se_names());
  Workspace<float> workspace;
  const auto x = random_matrix<float>(9, 5, 2);
  EXPECT_EQ(first.forward(x, workspace), both.forward(x, workspace).leftCols(7));
}

}  // namespace
}  // namespace gated::mossformer2_test
