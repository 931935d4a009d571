#include "gated/layers/embedding.hpp"

#include <gtest/gtest.h>

#include "gated/train/recording.hpp"
#include "tests/train/gradients.hpp"

namespace gated::embedding_test {
namespace {

using test::message_of;

template <class T = float>
Embedding<T> two_by_three() {
  Embedding<T> embedding(2, 3);
  embedding.weight << 1, 2, 3,  //
      4, 5, 6;
  return embedding;
}

TEST(Embedding, LooksUpARowPerToken) {
  const auto embedding = two_by_three();
  const std::vector<Index> tokens{1, 0, 1};
  Matrix<float> y(3, 3), expected(3, 3);
  expected << 4, 5, 6, 1, 2, 3, 4, 5, 6;
  Workspace<float> workspace;
  embedding.forward(tokens, y, workspace);
  EXPECT_TRUE(test::same_bits(y, expected));

  auto gradient = zeros_like(embedding);
  Tape<float> tape;
  tape.begin(embedding, gradient);
  Recording<float> run(tape, Sequences::single(3));
  EXPECT_TRUE(test::same_bits(tape[run(embedding, Tokens(tokens))], expected)) << "in training";
}

TEST(Embedding, AccumulatesGradientsPerToken) {
  Embedding<double> embedding(5, 3);
  const std::vector<Index> tokens{1, 0, 1, 4};
  test::shake(embedding, 1);
  test::expect_gradients(embedding, Matrix<double>(0, 0), [&](Tape<double>& tape, const Embedding<double>& layer, Variable) {
    Recording<double> run(tape, Sequences::single(4));
    return run(layer, Tokens(tokens));
  });
}

TEST(Embedding, HandlesEmptyInput) {
  Matrix<float> y(0, 3);
  Workspace<float> workspace;
  EXPECT_NO_THROW(two_by_three().forward({}, y, workspace));
}

TEST(Embedding, RefusesUnknownTokensBeforeWriting) {
  const auto embedding = two_by_three();
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(3, 3, 7);
  for (const Index bad : {Index{-1}, Index{2}, std::numeric_limits<Index>::max(), std::numeric_limits<Index>::min()}) {
    const std::vector<Index> tokens{0, 1, bad};
    EXPECT_EQ(message_of<ArgumentError>([&] { embedding.forward(tokens, y, workspace); }),
              text("Embedding: token 2 has id ", bad, ", expected 0 … 1."));
  }
  EXPECT_TRUE((y.array() == 7).all());
}

TEST(Embedding, RefusesAMismatchedOutput) {
  const std::vector<Index> tokens{0, 1};
  Workspace<float> workspace;
  Matrix<float> short_output(1, 3), narrow_output(2, 2);
  EXPECT_THROW(two_by_three().forward(tokens, short_output, workspace), ShapeError);
  EXPECT_THROW(two_by_three().forward(tokens, narrow_output, workspace), ShapeError);
}

TEST(Embedding, RefusesNonPositiveSizes) {
  EXPECT_EQ(message_of<ArgumentError>([] { Embedding<float>(0, 3); }),
            "Embedding: vocabulary = 0 and channels = 3 must be positive.");
  EXPECT_THROW(Embedding<float>(3, 0), ArgumentError);
  EXPECT_THROW(Embedding<float>(-1, 3), ArgumentError);
}

TEST(Embedding, InitializesWithStandardDeviation0_02) {
  Embedding<double> embedding(200, 100);
  Random random(1);
  embedding.initialize(random);
  EXPECT_NEAR(std::sqrt(embedding.weight.squaredNorm() / 20000), 0.02, 0.0005);
  EXPECT_NEAR(embedding.weight.mean(), 0, 0.0005);
}

}  // namespace
}  // namespace gated::embedding_test
