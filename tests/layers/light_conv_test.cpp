#include "gated/layers/light_conv.hpp"

#include "literal_attention.hpp"
#include "literal_convolution.hpp"
#include "tests/promises.hpp"

namespace gated::light_conv_test {
namespace {

using test::expect_error;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::wide;

constexpr auto forms = {ConvolutionForm::lightweight, ConvolutionForm::dynamic};

std::vector<LightConvConfig> configurations(bool causal) {
  std::vector<LightConvConfig> all;
  for (const auto form : forms) {
    for (const bool glu : {true, false}) {
      all.push_back({.channels = 6,
                     .hidden = glu ? 9 : 0,
                     .heads = 3,
                     .kernel = causal ? 4 : 5,
                     .form = form,
                     .glu = glu,
                     .causal = causal});
    }
  }
  return all;
}

TEST(LightConv, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    for (const auto& config : configurations(causal)) {
      test::expect_promises<LightConv>(config, {.causal = causal, .rewinds = false});
    }
  }
}

TEST(LightConv, KeepsItsPromisesInABlock) {
  for (const bool causal : {false, true}) {
    for (const auto form : forms) {
      test::expect_promises<LightConvBlock>({.channels = 6,
                                             .norm_position = causal ? NormPosition::pre : NormPosition::post,
                                             .token_mixer = {.heads = 2, .kernel = 5, .form = form, .causal = causal},
                                             .channel_mixer = {.hidden = 8, .activation = Activation::silu}},
                                            {.causal = causal, .rewinds = false});
    }
  }
}

/// LightConv by its formula.
template <class T>
Matrix<double> literal_mixer(const LightConv<T>& mixer, const Matrix<double>& x, const Sequences& sequences,
                             const std::vector<std::uint8_t>& mask) {
  Matrix<double> u = literal::linear(mixer.proj_in, x);
  if (mixer.gate) {
    u = u.cwiseProduct(literal::activate(Activation::sigmoid, literal::linear(*mixer.gate, x)));
  }
  return literal::linear(mixer.proj_out, literal::convolution(mixer.conv, u, sequences, mask));
}

template <class T>
void expect_formula() {
  const auto sequences = Sequences::of_lengths({9, 0, 3, 1});
  std::vector<std::uint8_t> mask(13, 1);
  mask[4] = mask[8] = mask[9] = 0;
  for (const bool causal : {false, true}) {
    for (const auto& config : configurations(causal)) {
      const auto mixer = random_layer<LightConv<T>>(config);
      const auto x = random_matrix<T>(13, config.channels, 2);
      Workspace<T> workspace;
      EXPECT_TRUE(near(mixer.forward(x, sequences, workspace), literal_mixer(mixer, wide(x), sequences, {})));
      EXPECT_TRUE(near(mixer.forward(x, sequences, workspace, mask), literal_mixer(mixer, wide(x), sequences, mask)));
    }
  }
}

TEST(LightConv, EqualsItsFormula) {
  expect_formula<float>();
  expect_formula<double>();
}

/// Total number of parameters of a stack of blocks, one block per size in `kernels`, as in LightConv models.
Index parameters(Index channels, Index hidden, Index heads, bool glu, ConvolutionForm form, bool causal,
                 const std::vector<Index>& kernels) {
  Index sum = 0;
  for (const Index kernel : kernels) {
    sum += parameter_count(
        LightConvBlock<float>({.channels = channels,
                               .token_mixer = {.heads = heads, .kernel = kernel, .form = form, .glu = glu, .causal = causal},
                               .channel_mixer = {.hidden = hidden}}));
  }
  return sum;
}

TEST(LightConvBlock, HasAsManyParametersAsFairseqsLayers) {
  const auto expect = [](Index channels, Index hidden, Index heads, bool glu, const std::array<Index, 4>& counts) {
    std::size_t next = 0;
    for (const bool causal : {false, true}) {
      const std::vector<Index> kernels =
          causal ? std::vector<Index>{3, 7, 15, 31, 31, 31} : std::vector<Index>{3, 7, 15, 31, 31, 31, 31};
      for (const auto form : forms) {
        EXPECT_EQ(parameters(channels, hidden, heads, glu, form, causal, kernels), counts[next++])
            << channels << ", " << hidden << ", " << name_of(form) << (causal ? ", decoder" : ", encoder");
      }
    }
  };
  expect(512, 2048, 8, true, {20229288, 20838400, 17339312, 17821696});
  expect(512, 1024, 4, false, {11042900, 11347456, 9465304, 9706496});
  expect(1024, 4096, 16, true, {80828752, 83267584, 69281632, 71213056});
}

TEST(LightConv, InitializesLikeFairseq) {
  Random random(1);
  const LightConv<double> mixer({.channels = 64, .hidden = 96, .heads = 8}, random);
  const double bound = std::sqrt(6.0 / (64 + 2 * 96));
  EXPECT_LE(mixer.proj_in.weight.cwiseAbs().maxCoeff(), bound);
  EXPECT_GE(mixer.proj_in.weight.cwiseAbs().maxCoeff(), 0.99 * bound);
  EXPECT_GE(mixer.gate->weight.cwiseAbs().maxCoeff(), 0.99 * bound);
  EXPECT_GE(mixer.proj_out.weight.cwiseAbs().maxCoeff(), 0.99 * std::sqrt(6.0 / (64 + 96)));
  for (const auto* linear : {&mixer.proj_in, &*mixer.gate, &mixer.proj_out}) {
    EXPECT_TRUE((linear->bias.array() == 0).all());
  }
}

TEST(LightConv, RefusesInvalidConfigurations) {
  expect_error<ArgumentError>([] { LightConv<float>({.channels = 0}); }, {"channels = 0"});
  expect_error<ArgumentError>([] { LightConv<float>({.channels = 4, .hidden = -1}); }, {"hidden = -1"});
  expect_error<ArgumentError>([] { LightConv<float>({.channels = 4, .hidden = 6, .heads = 4}); },
                              {"heads = 4 does not divide channels = 6"});
  expect_error<ArgumentError>([] { LightConv<float>({.channels = 4, .kernel = 4}); }, {"kernel = 4", "causal = true"});
}

}  // namespace
}  // namespace gated::light_conv_test
