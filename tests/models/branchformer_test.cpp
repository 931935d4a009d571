#include "gated/models/branchformer.hpp"

#include <cmath>

#include "tests/layers/literal_attention.hpp"
#include "tests/layers/literal_branchformer.hpp"
#include "tests/promises.hpp"

namespace gated::branchformer_test {
namespace {

using test::near;
using test::random_matrix;

BranchformerConfig config_of(EncoderInput input, bool causal, Index depth = 1) {
  return {.input = input,
          .norm_eps = 1e-5,
          .trunk = {.depth = depth,
                    .block = {.channels = 6,
                              .heads = 3,
                              .position = input == EncoderInput::placed ? ScorePosition::none : ScorePosition::key,
                              .hidden = 8,
                              .gate_hidden = 8,
                              .gate_kernel = 3,
                              .merge_kernel = 3,
                              .causal = causal,
                              .causal_attention = causal,
                              .norm_before_padding = !causal,
                              .norm_eps = 1e-5}}};
}

constexpr EncoderInput inputs[] = {EncoderInput::plain, EncoderInput::scaled, EncoderInput::placed};

TEST(Branchformer, EqualsItsFormulaWithEveryInput) {
  const auto sequences = Sequences::of_lengths({9, 0, 5});
  const auto x = random_matrix<double>(14, 6, 2);
  for (const EncoderInput input : inputs) {
    SCOPED_TRACE(name_of(input));
    Branchformer<double> model(config_of(input, false, 2));
    test::shake(model, 1);
    Matrix<double> y = input == EncoderInput::plain ? x : Matrix<double>(std::sqrt(6.0) * x);
    for (Index b = 0; b < sequences.count() && input == EncoderInput::placed; ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        for (Index j = 0; j < 6; ++j) {
          const double angle = static_cast<double>(t) * std::pow(10000.0, -2.0 * static_cast<double>(j / 2) / 6.0);
          y(sequences.offset(b) + t, j) += j % 2 == 0 ? std::sin(angle) : std::cos(angle);
        }
      }
    }
    for (const auto& layer : model.trunk.blocks) {
      y = literal::branchformer_layer(layer, y, sequences);
    }
    EXPECT_TRUE(near(model.forward(x, sequences), literal::layer_norm(model.norm, y)));
  }
}

TEST(Branchformer, KeepsItsPromisesWithEveryInput) {
  for (const EncoderInput input : inputs) {
    for (const bool causal : {false, true}) {
      test::expect_promises<Branchformer>(config_of(input, causal), {.causal = causal, .rewinds = false, .mask_hides = false});
    }
  }
}

}  // namespace
}  // namespace gated::branchformer_test
