#include "gated/layers/learned_position.hpp"

#include "tests/promises.hpp"

namespace gated::learned_position_test {
namespace {

TEST(LearnedPosition, KeepsItsPromises) {
  test::expect_promises([](auto zero) { return LearnedPosition<decltype(zero)>(9, 5); }, {.causal = true});
}

TEST(LearnedPosition, AddsTheRowOfEachPlaceInItsSequence) {
  LearnedPosition<double> layer(3, 2);
  layer.weight << 1, 2,  //
      3, 4,              //
      5, 6;
  Workspace<double> workspace;
  Matrix<double> expected(4, 2);
  expected << 11, 12,  //
      11, 12,          //
      13, 14,          //
      15, 16;
  EXPECT_EQ(layer.forward(Matrix<double>::Constant(4, 2, 10), Sequences::of_lengths({1, 3}), workspace), expected);
}

TEST(LearnedPosition, RefusesWhatLiesBeyondItsTable) {
  const LearnedPosition<float> layer(3, 2);
  Workspace<float> workspace;
  const auto message =
      test::message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(4, 2), Sequences::single(4), workspace); });
  EXPECT_NE(message.find("4 tokens, but there are positions for 3"), std::string::npos) << message;
  EXPECT_THROW(LearnedPosition<float>(0, 2), ArgumentError);
}

}  // namespace
}  // namespace gated::learned_position_test
