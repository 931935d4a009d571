#include "gated/layers/grid_position.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::grid_position_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;

TEST(GridPosition, KeepsItsPromises) {
  for (const ImageSize patches : {ImageSize{2, 3}, ImageSize{4, 1}, ImageSize{5, 7}}) {
    for (const bool with_class_token : {false, true}) {
      const auto make = [&](auto zero) { return GridPosition<decltype(zero)>(5, {2, 3}, patches, with_class_token); };
      const Index tokens = make(0.0).tokens();
      test::expect_promises(make, {.lengths = {tokens, tokens}});
    }
  }
}

TEST(GridPosition, AddsAVectorPerPatch) {
  GridPosition<double> layer(2, {2, 2}, {2, 2}, true);
  layer.weight << 1, 2, 3, 4,  // the first channel
      10, 20, 30, 40;
  layer.class_token << 7, 70;
  Workspace<double> workspace;
  Matrix<double> expected(5, 2);
  expected << 7, 70, 1, 10, 2, 20, 3, 30, 4, 40;
  expected.array() += 0.5;
  EXPECT_EQ(layer.forward(Matrix<double>::Constant(5, 2, 0.5), Sequences::single(5), workspace), expected);
}

TEST(GridPosition, InterpolatesBilinearlyBetweenCellCentres) {
  GridPosition<double> layer(1, {2, 4}, {1, 2}, false);  // each patch covers four cells
  layer.weight << 1, 2, 3, 4, 5, 6, 7, 8;
  Workspace<double> workspace;
  Matrix<double> halved(2, 1);
  halved << 3.5, 5.5;
  EXPECT_TRUE(near(layer.forward(Matrix<double>::Zero(2, 1), Sequences::single(2), workspace), halved));

  GridPosition<double> finer(1, {1, 2}, {1, 4}, false);  // beyond the centres of the outer cells, the vector is constant
  finer.weight << 0, 4;
  Matrix<double> doubled(4, 1);
  doubled << 0, 1, 3, 4;
  EXPECT_TRUE(near(finer.forward(Matrix<double>::Zero(4, 1), Sequences::single(4), workspace), doubled));
}

TEST(GridPosition, RefusesMismatchedSizes) {
  EXPECT_EQ(message_of<ArgumentError>([] {
              GridPosition<float>(4, {0, 3}, {2, 2}, false);
            }),
            "GridPosition: channels = 4, a grid of 0 × 3 positions and a grid of 2 × 2 patches must all be positive.");
  const GridPosition<float> layer(2, {2, 2}, {2, 2}, true);
  Workspace<float> workspace;
  EXPECT_EQ(
      message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(4, 2), Sequences::single(4), workspace); }),
      "GridPosition::forward: sequence 0 of 1 has 4 tokens, expected 5. Pass the class token and all patches of each image.");
}

}  // namespace
}  // namespace gated::grid_position_test
