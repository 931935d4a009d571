#include "gated/layers/learned_position.hpp"

#include "tests/promises.hpp"

namespace gated::learned_position_test {
namespace {

/// LearnedPosition in a layer with Sees::past, for which expect_promises() tests sequences instead of single tokens.
template <class T>
struct Placing : Layer<Placing<T>> {
  static constexpr const char* name = "Placing";

  LearnedPosition<T> position{9, 5};

  static constexpr auto fields() { return Fields(field("position", &Placing::position)); }
  Contract contract() const {
    Contract contract = position.contract();
    contract.sees = Sees::past;
    return contract;
  }

  auto apply(auto& run, auto x) const { return run(position, std::move(x)); }
};

TEST(LearnedPosition, KeepsItsPromisesInALayer) {
  test::expect_promises([](auto zero) { return Placing<decltype(zero)>(); }, {.causal = true});
}

TEST(LearnedPosition, CountsPositionsPerSequence) {
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

TEST(LearnedPosition, RefusesPositionsBeyondItsTable) {
  const LearnedPosition<float> layer(3, 2);
  Workspace<float> workspace;
  const auto message =
      test::message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(4, 2), Sequences::single(4), workspace); });
  EXPECT_EQ(message,
            "LearnedPosition::forward: sequence 0 of 1 has 4 tokens, expected 3 at most. Build the model with a larger "
            "max_length.");
  EXPECT_THROW(LearnedPosition<float>(0, 2), ArgumentError);
}

}  // namespace
}  // namespace gated::learned_position_test
