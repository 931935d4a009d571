#include <gtest/gtest.h>

#include "gated/layers/light_conv.hpp"
#include "gated/layers/spatial_gating_unit.hpp"
#include "gated/layers/synthesizer_attention.hpp"
#include "gated/layers/tiny_attention.hpp"
#include "trunks.hpp"

// Tests that every causal layer and model streams with start(), extend(x, state, y, workspace) and state.position().

namespace gated::streaming_test {
namespace {

using test::random_layer;
using test::random_matrix;
using test::same_bits;
using test::small_channels;
using test::small_length;
using T = float;

/// The input of a model: token ids for a language model, rows for a layer.
template <class Trunk>
std::vector<Index> input_of(const LanguageModel<Trunk>& model) {
  return test::random_tokens(small_length, model.config.vocabulary);
}
template <class Layer>
Matrix<T> input_of(const Layer& layer) {
  return random_matrix<T>(small_length, layer.in(), 3);
}
Tokens part_of(const std::vector<Index>& x, Index first, Index count) {
  return Tokens(x).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}
ConstView<T> part_of(const Matrix<T>& x, Index first, Index count) { return x.middleRows(first, count); }

/// A layer with random parameters, for layers that have no member type Config.
template <class Layer, class Config>
Layer shaken(const Config& config) {
  Layer layer(config);
  test::randomize(layer, 1, 0.3);
  return layer;
}

/// Expects that extend() with one, several and no tokens equals forward().
template <class Model>
void expect_streams(const Model& model) {
  SCOPED_TRACE(Model::name);
  const auto x = input_of(model);
  Workspace<T> workspace;
  const Matrix<T> whole = model.forward(x, Sequences::single(small_length), workspace);
  State<T> state = model.start(small_length);
  EXPECT_EQ(state.position(), 0);
  for (const Index count : {1, 1, 4, 0, 6}) {
    const Index first = state.position();
    Matrix<T> y(count, model.out());
    model.extend(part_of(x, first, count), state, y, workspace);
    EXPECT_TRUE(same_bits(y, whole.middleRows(first, count))) << "tokens " << first << " to " << first + count;
    EXPECT_EQ(state.position(), first + count);
  }
}

/// Tests streams of blocks, stacks and language models of one kind.
template <class Kind>
void expect_kind_streams() {
  using Trunk = typename Kind::template Trunk<T>;
  SCOPED_TRACE(Kind::architecture);
  for (const auto& config : Kind::configs(true)) {
    const Trunk trunk = random_layer<Trunk>(config);
    expect_streams(trunk.blocks.front());
    expect_streams(trunk);
    expect_streams(random_layer<LanguageModel<Trunk>>(
        LanguageModelConfig<typename Trunk::Config>{.vocabulary = 17, .position = PositionForm::sinusoid, .trunk = config}));
  }
}

template <class... Kinds>
void expect_all_stream() {
  (expect_kind_streams<Kinds>(), ...);
}

TEST(Streaming, HasOneInterfaceForBlocksStacksAndLanguageModels) {
  expect_all_stream<test::OfGmlpBlocks, test::OfMixedChunkAttention, test::OfGatedAttentionUnits, test::OfTransformerBlocks,
                    test::OfChunkedTransformerBlocks, test::OfMixerBlocks, test::OfPlainBlocks>();
}

TEST(Streaming, HasTheSameInterfaceForInnerLayers) {
  const SpatialProjectionConfig spatial{.length = small_length, .causal = true};
  expect_streams(
      shaken<TinyAttention<T>>(TinyAttentionConfig{.channels = small_channels, .width = 6, .out = 7, .causal = true}));
  expect_streams(shaken<SpatialGatingUnit<T>>(SpatialGatingUnitConfig{.channels = 16, .spatial = spatial}));
  expect_streams(random_layer<TokenProjection<T>>(
      TokenProjectionConfig{.channels = small_channels, .length = small_length, .causal = true}));
  expect_streams(random_layer<SynthesizerAttention<T>>(
      SynthesizerAttentionConfig{.channels = small_channels, .heads = 2, .max_length = small_length, .causal = true}));
  for (const auto form : {ConvolutionForm::lightweight, ConvolutionForm::dynamic}) {
    expect_streams(random_layer<LightConv<T>>(
        LightConvConfig{.channels = small_channels, .heads = 2, .kernel = 4, .form = form, .causal = true}));
  }
}

}  // namespace
}  // namespace gated::streaming_test
