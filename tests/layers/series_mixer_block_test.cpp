#include "gated/layers/series_mixer_block.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::series_mixer_block_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;

TEST(SeriesMixerBlock, KeepsItsPromises) {
  for (const bool gated : {true, false}) {
    test::expect_promises<SeriesMixerBlock>({.channels = 6, .patches = 4, .gated = gated}, {.lengths = {8, 0, 4}});
    test::expect_promises<SeriesMixerBlock>({.channels = 5, .patches = 4, .series = 3, .expansion = 3, .gated = gated},
                                            {.lengths = {12, 0, 12}});
  }
  test::expect_promises<SeriesMixerBlock>({.channels = 5, .patches = 1}, {.lengths = {3, 2}});
  test::expect_promises<SeriesMixerBlock>({.channels = 5, .patches = 1, .series = 2, .mixes_single_patch = false},
                                          {.lengths = {2, 2}});
  test::expect_promises<SeriesMixerBlock>({.channels = 6, .patches = 4, .series = 2, .dropout = 0.2}, {.lengths = {8, 8}});
}

TEST(SeriesMixerBlock, KeepsItsPromisesForEveryFormOfBranch) {
  for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
    for (const double layer_scale : {0.0, 0.1}) {
      test::expect_promises<SeriesMixerBlock>(
          {.channels = 6, .patches = 4, .series = 2, .norm_position = position, .layer_scale = layer_scale, .drop_path = 0.5},
          {.lengths = {8, 0, 16}});
    }
  }
  test::expect_promises<SeriesMixerBlock>({.channels = 5,
                                           .patches = 3,
                                           .gated = false,
                                           .dropout = 0.2,
                                           .norm_position = NormPosition::post,
                                           .layer_scale = 1e-4,
                                           .drop_path = 0.2},
                                          {.lengths = {6, 3}});
}

/// Compares the block with its three mixers, called one by one on rearranged rows.
TEST(SeriesMixerBlock, MixesSeriesThenPatchesThenFeatures) {
  constexpr Index items = 2, series = 3, patches = 4, channels = 5;
  const auto block =
      random_layer<SeriesMixerBlock<double>>({.channels = channels, .patches = patches, .series = series, .norm_eps = 1e-3});
  Matrix<double> h = random_matrix<double>(items * series * patches, channels, 1);
  Workspace<double> workspace;
  const Matrix<double> y = block.forward(h, Sequences::uniform(items, series * patches), workspace);

  Matrix<double> z = block.series->norm.forward(h, workspace), column(series, 1);
  SoftmaxGatedTokenMlp<double> alone({.channels = 1, .length = series});  // mixes across series, for one feature of one patch
  alone.mlp.proj_in = block.series->mixer.tokens.mlp.proj_in;
  alone.mlp.proj_out = block.series->mixer.tokens.mlp.proj_out;
  alone.gate = block.series->mixer.tokens.gate;
  alone.config.gate = GatePlace::before;
  for (Index b = 0; b < items; ++b) {
    for (Index i = 0; i < patches; ++i) {
      for (Index j = 0; j < channels; ++j) {
        const auto row = [=](Index m) { return (b * series + m) * patches + i; };
        for (Index m = 0; m < series; ++m) {
          column(m, 0) = z(row(m), j);
        }
        const Matrix<double> mixed = alone.forward(column, Sequences::single(series), workspace);
        for (Index m = 0; m < series; ++m) {
          h(row(m), j) += mixed(m, 0);
        }
      }
    }
  }
  z = block.patches->norm.forward(h, workspace);
  h += block.patches->mixer.forward(z, Sequences::uniform(items * series, patches), workspace);
  z = block.features.norm.forward(h, workspace);
  h += block.features.mixer.forward(z, workspace);
  EXPECT_TRUE(near(y, h));
}

TEST(SeriesMixerBlock, HasOnlyTheNecessaryMixers) {
  const SeriesMixerBlock<float> one({.channels = 4, .patches = 1, .mixes_single_patch = false});
  EXPECT_FALSE(one.patches || one.series);
  EXPECT_EQ(parameter_count(SeriesMixerBlock<float>({.channels = 12, .patches = 7})),
            5 * 49 + 4 * 7 + 5 * 144 + 4 * 12 + 4 * 12);
  EXPECT_EQ(parameter_count(one), 5 * 16 + 4 * 4 + 2 * 4);
}

TEST(SeriesMixerBlock, HandlesSeveralItemsPerSequence) {
  const auto block = random_layer<SeriesMixerBlock<double>>({.channels = 4, .patches = 3, .series = 2});
  const auto x = random_matrix<double>(18, 4, 1);
  EXPECT_TRUE(test::same_bits(block.forward(x, Sequences::of_lengths({12, 6})), block.forward(x, Sequences::uniform(3, 6))));
}

TEST(SeriesMixerBlock, RefusesIncompleteSeriesAndItems) {
  Workspace<float> workspace;
  const SeriesMixerBlock<float> alone({.channels = 4, .patches = 3}), mixed({.channels = 4, .patches = 3, .series = 2});
  const auto message = [&](const SeriesMixerBlock<float>& block, Index rows) {
    return message_of<ShapeError>([&] { block.forward(Matrix<float>::Zero(rows, 4), Sequences::single(rows), workspace); });
  };
  EXPECT_EQ(
      message(alone, 7),
      "SeriesMixerBlock::forward: sequence 0 of 1 has 7 tokens, expected a multiple of 3. Pass all patches of each series.");
  EXPECT_EQ(message(mixed, 9),
            "SeriesMixerBlock::forward: sequence 0 of 1 has 9 tokens, expected a multiple of 6. Pass whole items, each with "
            "series × patches rows.");
  EXPECT_EQ(message_of<ArgumentError>([] { SeriesMixerBlock<float>({.channels = 4, .patches = 0}); }),
            "SeriesMixerBlock: channels = 4, patches = 0 and expansion = 2 must be positive, and series = 0 must not be "
            "negative.");
}

}  // namespace
}  // namespace gated::series_mixer_block_test
