#include "gated/layers/linear.hpp"

#include <tuple>

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::linear_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::wide;

template <class T>
class LinearOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LinearOf, Scalars, );

TEST(Linear, KeepsItsPromises) {
  for (const auto& [in, out, with_bias] : {std::tuple<Index, Index, bool>{5, 3, true}, {7, 33, false}, {64, 64, true}}) {
    SCOPED_TRACE(text(in, " → ", out));
    test::expect_promises(
        [&, from = in, to = out, bias = with_bias](auto zero) { return Linear<decltype(zero)>(from, to, bias); });
  }
}

TYPED_TEST(LinearOf, MultipliesByItsWeightAndAddsItsBias) {
  using T = TypeParam;
  Linear<T> layer(2, 2);
  layer.weight << 1, 2,  //
      3, 4;
  layer.bias << 10, 20;
  Matrix<T> x(2, 2), expected(2, 2);
  x << 1, 1,  //
      1, 0;
  expected << 13, 27,  //
      11, 23;
  Workspace<T> workspace;
  EXPECT_TRUE(test::same_bits(layer.forward(x, workspace), expected));
}

TYPED_TEST(LinearOf, EqualsItsFormulaAtAnySize) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const auto& [rows, in, out] : {std::array<Index, 3>{1, 1, 1}, {1, 7, 33}, {15, 31, 1}, {40, 64, 65}, {3, 200, 16}}) {
    for (const bool with_bias : {false, true}) {
      Linear<T> layer(in, out, with_bias);
      test::randomize(layer, 1);
      const auto x = random_matrix<T>(rows, in, 2);
      EXPECT_TRUE(near(layer.forward(x, workspace), literal::linear(layer, wide(x)))) << rows << ' ' << in << ' ' << out;
    }
  }
}

/// A Linear with every operand of an epilogue: y = activation(x Wᵀ + b + a) ⊙ g + r ⊙ s.
template <class T>
struct Fusing : Layer<Fusing<T>> {
  static constexpr const char* name = "Fusing";

  Linear<T> linear{5, 9}, to_added{5, 9}, to_gate{5, 9}, to_residual{5, 9};
  Vector<T> residual_scale = Vector<T>::Ones(9);

  static constexpr auto fields() {
    return Fields(field("linear", &Fusing::linear), field("to_added", &Fusing::to_added), field("to_gate", &Fusing::to_gate),
                  field("to_residual", &Fusing::to_residual), field("residual_scale", &Fusing::residual_scale, Role::norm));
  }
  Contract contract() const { return {.in = 5, .out = 9, .sees = Sees::itself}; }

  auto apply(auto& run, auto x) const {
    return run(linear, x,
               {.added = run(to_added, x),
                .activation = Activation::silu,
                .gate = run(to_gate, x),
                .residual = run(to_residual, x),
                .residual_scale = residual_scale.data()});
  }
};

TYPED_TEST(LinearOf, AppliesTheEpilogueAfterItsBias) {
  using T = TypeParam;
  Fusing<T> layer;
  test::randomize(layer, 1);
  const auto x = random_matrix<T>(6, 5, 2);
  const Matrix<double> z = literal::linear(layer.linear, wide(x)) + literal::linear(layer.to_added, wide(x));
  const Matrix<double> expected =
      literal::activate(Activation::silu, z).cwiseProduct(literal::linear(layer.to_gate, wide(x))) +
      literal::linear(layer.to_residual, wide(x)) * layer.residual_scale.template cast<double>().asDiagonal();
  Workspace<T> workspace;
  EXPECT_TRUE(near(layer.forward(x, workspace), expected));
}

TEST(Linear, KeepsItsPromisesWithAFullEpilogue) {
  test::expect_promises([](auto zero) { return Fusing<decltype(zero)>(); });
}

TEST(Linear, HooksSeeItsOutputBeforeTheEpilogue) {
  Fusing<double> layer;
  test::randomize(layer, 1);
  const auto x = random_matrix<double>(6, 5, 2);
  Workspace<double> workspace;
  Matrix<double> shown;
  workspace.set_hook([&](const std::string& path, ConstView<double> output) {
    if (path == "linear") {
      shown = output;
    }
  });
  layer.forward(x, workspace);
  EXPECT_TRUE(near(shown, literal::linear(layer.linear, x)));
}

TEST(Linear, HasAnEmptyBiasIfDisabled) {
  const Linear<float> layer(4, 3, false);
  EXPECT_EQ(layer.bias.size(), 0);
  EXPECT_EQ(parameter_count(layer), 12);
  EXPECT_EQ(parameter_count(Linear<float>(4, 3)), 15);
}

TEST(Linear, StartsWithXavierUniformWeights) {
  Linear<double> layer(300, 100);
  Random random(1);
  layer.initialize(random);
  const double bound = std::sqrt(6.0 / 400);
  EXPECT_LE(layer.weight.cwiseAbs().maxCoeff(), bound);
  EXPECT_GT(layer.weight.maxCoeff(), 0.99 * bound);
  EXPECT_LT(layer.weight.minCoeff(), -0.99 * bound);
  EXPECT_LT(std::fabs(layer.weight.mean()), 0.02 * bound);
  EXPECT_LT(layer.bias.cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_GT(layer.bias.cwiseAbs().maxCoeff(), 0.0);
}

TEST(Linear, ExplainsMismatchedShapes) {
  const Linear<float> layer(4, 3);
  Workspace<float> workspace;
  Matrix<float> y(2, 3), wide_output(2, 4);
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 5), y, workspace); }),
            "Linear::forward: x has 5 columns, expected in = 4 (a matrix is tokens × channels, one row per token).");
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 4), wide_output, workspace); }),
            "Linear::forward: y is 2 × 4, expected 2 × 3. Outputs are written in place and never resized.");
}

TEST(Linear, RefusesNonPositiveSizes) {
  EXPECT_EQ(message_of<ArgumentError>([] { Linear<float>(0, 3); }), "Linear: in = 0 and out = 3 must be positive.");
  EXPECT_THROW(Linear<float>(3, -1), ArgumentError);
}

}  // namespace
}  // namespace gated::linear_test
