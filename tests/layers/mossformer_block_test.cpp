#include "gated/layers/mossformer_block.hpp"

#include "literal.hpp"
#include "tests/promises.hpp"

// Tests of MossFormer2's layers. examples/check_parity compares their outputs with those of the original code.

namespace gated::mossformer_block_test {
namespace {

using test::expect_error;
using test::expect_promises;

TEST(ConvolutionalProjection, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    expect_promises<ConvolutionalProjection>({.channels = 5, .out = 9, .kernel = 5, .causal = causal},
                                             {.causal = causal, .rewinds = false});
    expect_promises<ConvolutionalProjection>({.channels = 6, .out = 6, .norm = NormForm::layer_norm, .causal = causal},
                                             {.causal = causal, .rewinds = false});
  }
}

TEST(SequenceNorm, KeepsItsPromises) {
  for (const auto form : {TokenNormForm::instance, TokenNormForm::group}) {
    expect_promises([form](auto zero) { return SequenceNorm<decltype(zero)>(5, form, 1e-3); });
  }
}

TEST(SequenceNorm, NormalizesEachSequence) {
  const auto sequences = Sequences::of_lengths({9, 0, 30});
  const auto x = test::random_matrix<double>(39, 4, 1);
  for (const auto form : {TokenNormForm::instance, TokenNormForm::group}) {
    SequenceNorm<double> norm(4, form);
    test::randomize(norm, 2);
    const auto y = norm.forward(x, sequences);
    for (const Index b : {Index{0}, Index{2}}) {
      const auto rows = x.middleRows(sequences.offset(b), sequences.length(b));
      for (Index c = 0; c < 4; ++c) {
        const auto part = form == TokenNormForm::group ? Matrix<double>(rows) : Matrix<double>(rows.col(c));
        const double mean = part.mean(), deviation = std::sqrt((part.array() - mean).square().mean() + 1e-5);
        for (Index t = 0; t < rows.rows(); ++t) {
          EXPECT_NEAR(y(sequences.offset(b) + t, c), (rows(t, c) - mean) / deviation * norm.weight[c] + norm.bias[c], 1e-13);
        }
      }
    }
  }
}

TEST(Prelu, KeepsItsPromises) {
  for (const bool per_channel : {false, true}) {
    expect_promises([=](auto zero) { return Prelu<decltype(zero)>(5, per_channel); }, {.causal = true});
  }
}

TEST(Prelu, KeepsPositiveValuesAndScalesOthers) {
  Prelu<float> prelu(3, true);
  prelu.slope << 0.5F, -2.0F, 0.0F;
  Matrix<float> x(2, 3), y(2, 3);
  x << 1.5F, 2.5F, 3.5F, -1.0F, -3.0F, -4.0F;
  y << 1.5F, 2.5F, 3.5F, -0.5F, 6.0F, 0.0F;
  EXPECT_EQ(prelu.forward(x), y);
}

TEST(Fsmn, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    expect_promises<Fsmn>({.channels = 5, .hidden = 7, .order = 3, .causal = causal}, {.causal = causal, .rewinds = false});
  }
  expect_promises<Fsmn>({.channels = 6, .order = 3, .dilated = true}, {.lengths = {7, 0, 9, 4}});
}

TEST(Fsmn, RefusesInvalidConfigurations) {
  expect_error<ArgumentError>([] { Fsmn<float>({.channels = 4, .order = 0}); }, {"order = 0"});
  expect_error<ArgumentError>([] { Fsmn<float>({.channels = 4, .hidden = -4}); }, {"hidden = -4"});
  expect_error<ArgumentError>([] { GatedFsmnBlock<float>({.inner = 4}); }, {"channels = 0"});
  expect_error<ArgumentError>([] { SharedChunkAttention<float>({.channels = 4, .rotary_dimensions = -2}); },
                              {"rotary_dimensions = -2"});
  expect_error<ArgumentError>([] { MossFormerBlock<float>({.channels = 8, .fsmn = {.channels = 4}}); },
                              {"fsmn.channels = 4", "the block has 8", "Leave it at 0"});
  expect_error<ArgumentError>([] { Fsmn<float>({.channels = 4, .dilated = true, .causal = true}); }, {"dilated = false"});
}

TEST(GatedFsmnBlock, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    expect_promises<GatedFsmnBlock>({.channels = 7, .inner = 4, .order = 3, .kernel = 3, .causal = causal},
                                    {.causal = causal, .rewinds = false});
  }
  expect_promises<GatedFsmnBlock>({.channels = 7, .inner = 4, .order = 2, .kernel = 3, .dilated = true},
                                  {.lengths = {7, 0, 9, 4}});
}

TEST(SharedChunkAttention, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    expect_promises<SharedChunkAttention>(
        {.channels = 5, .query_key = 6, .chunk = 4, .kernel = 3, .rotary_dimensions = 4, .causal = causal},
        {.causal = causal, .rewinds = false});
    expect_promises<SharedChunkAttention>(
        {.channels = 6, .value = 5, .query_key = 4, .chunk = 8, .kernel = 5, .token_shift = false, .causal = causal},
        {.causal = causal, .rewinds = false, .trains = false});
  }
}

TEST(SharedChunkAttention, KeepsItsPromisesWithCentredConvolutions) {
  expect_promises<SharedChunkAttention>(
      {.channels = 5, .query_key = 6, .chunk = 4, .kernel = 3, .rotary_dimensions = 4, .causal = true, .centred = true});
}

TEST(MossFormerBlock, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    expect_promises<MossFormerBlock>(
        {.channels = 6,
         .attention = {.query_key = 4, .chunk = 4, .kernel = 3, .rotary_dimensions = 4, .causal = causal},
         .fsmn = {.inner = 4, .order = 2, .kernel = 3, .causal = causal}},
        {.causal = causal, .rewinds = false});
  }
}

}  // namespace
}  // namespace gated::mossformer_block_test
