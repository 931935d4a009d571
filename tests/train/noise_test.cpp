#include "gated/train/gmlp.hpp"
#include "tests/train/gradients.hpp"

/// Dropout and stochastic depth.

namespace gated {
namespace {

using test::random_matrix;

const Sequences sequences = Sequences::uniform(4, 6);

Gmlp<double> model_of(Index depth, double survival) {
  Gmlp<double> model(
      {.length = 6, .channels = 5, .hidden = 8, .depth = depth, .causal = true, .attention = 3, .survival = survival});
  test::shake(model, 5);
  return model;
}

Matrix<double> output(const Gmlp<double>& model, const TapeOptions& options, std::uint64_t seed) {
  auto gradient = zeros_like(model);
  Tape<double> tape({}, options);
  Random random(seed);
  tape.begin(model, gradient, random);
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  return tape[record(tape, model, tape.input(x), sequences)];
}

Matrix<double> without_noise(const Gmlp<double>& model) {
  Workspace<double> workspace;
  return model.forward(random_matrix<double>(24, 5, 6), sequences, workspace);
}

const std::vector<TapeOptions> every_option{{.attention_dropout = 0.3},
                                            {.residual_dropout = 0.3},
                                            {.scaled_depth = true},
                                            {.scaled_depth = false},
                                            {.recompute = true, .attention_dropout = 0.3, .residual_dropout = 0.3},
                                            {.recompute = true, .scaled_depth = true}};

TEST(Noise, GradientsAreThoseOfTheDrawnModel) {
  const auto model = model_of(3, 0.6);
  for (const TapeOptions& options : every_option) {
    test::expect_gradients(
        model, random_matrix<double>(24, 5, 6),
        [](Tape<double>& tape, const Gmlp<double>& m, Variable x) { return record(tape, m, x, sequences); }, 1e-6, options,
        std::uint64_t{7});
  }
}

TEST(Noise, EqualSeedsDrawEqualModels) {
  const auto model = model_of(3, 0.6);
  for (const TapeOptions& options : every_option) {
    EXPECT_TRUE(test::same_bits(output(model, options, 7), output(model, options, 7)));
    EXPECT_FALSE(test::same_bits(output(model, options, 7), without_noise(model)));
  }
}

TEST(Noise, OfAStepWithoutGeneratorIsNone) {
  const auto model = model_of(3, 0.6);
  auto gradient = zeros_like(model);
  Tape<double> tape({}, {.attention_dropout = 0.5, .embedding_dropout = 0.5, .residual_dropout = 0.5, .scaled_depth = true});
  tape.begin(model, gradient);
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  EXPECT_TRUE(test::same_bits(Matrix<double>(tape[record(tape, model, tape.input(x), sequences)]), without_noise(model)));
}

TEST(Noise, DropoutKeepsTheMean) {
  struct None {
    static constexpr auto fields() { return std::tuple{}; }
  } model, gradient;
  Tape<float> tape;
  Random random(1);
  tape.begin(model, gradient, random);
  const Matrix<float> ones = Matrix<float>::Ones(400, 500);
  const Matrix<float> y = tape[dropout(tape, tape.input(ones), 0.2)];
  EXPECT_NEAR(y.mean(), 1, 0.005);
  EXPECT_NEAR(static_cast<double>((y.array() == 0).count()) / static_cast<double>(y.size()), 0.2, 0.005);
  EXPECT_TRUE((y.array() == 0 || y.array() == 1.25f).all());
  const Matrix<float> again = tape[dropout(tape, tape.input(ones), 0.2)];
  EXPECT_FALSE(test::same_bits(y, again));  // another mask
}

TEST(Noise, WholeBlocksAreDroppedAndOneIsKept) {
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  Gmlp<double> two = model_of(2, 0.5);
  Gmlp<double> first = model_of(1, 1.0), second = first;
  first.blocks[0] = two.blocks[0];
  second.blocks[0] = two.blocks[1];
  std::array<int, 3> counts{};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Matrix<double> y = output(two, {}, seed);
    const bool is_first = test::same_bits(y, without_noise(first)), is_second = test::same_bits(y, without_noise(second));
    EXPECT_TRUE(is_first || is_second || test::same_bits(y, without_noise(two)));  // survivors are not scaled
    EXPECT_FALSE(test::same_bits(y, x));
    ++counts[is_first ? 0 : (is_second ? 1 : 2)];
  }
  // Both with 1/4, either alone with 1/4, and neither, 1/4, becomes one of them.
  EXPECT_NEAR(counts[0], 75, 30);
  EXPECT_NEAR(counts[1], 75, 30);
  EXPECT_NEAR(counts[2], 50, 30);
}

TEST(Noise, SequencesAreDroppedAloneAndSurvivorsAreScaled) {
  const Matrix<double> x = random_matrix<double>(24, 5, 6);
  const Gmlp<double> model = model_of(1, 0.25);
  const Matrix<double> branch = without_noise(model) - x;
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Matrix<double> y = output(model, {.scaled_depth = true}, seed) - x;
    for (Index b = 0; b < 4; ++b) {
      const auto rows = y.middleRows(b * 6, 6);
      if (!rows.isZero(1e-12)) {
        EXPECT_TRUE(rows.isApprox(4 * branch.middleRows(b * 6, 6), 1e-12));
        ++kept;
      }
    }
  }
  EXPECT_NEAR(kept, 100, 40);
}

TEST(Noise, RatesOutsideOfTheirRangeAreRefused) {
  EXPECT_THROW(Tape<float>({}, {.residual_dropout = 1}), ArgumentError);
  EXPECT_THROW(Tape<float>({}, {.attention_dropout = -0.1}), ArgumentError);
}

}  // namespace
}  // namespace gated
