#include "gated/train/tape.hpp"

#include "gated/train/elementwise.hpp"
#include "gated/train/linear.hpp"
#include "gated/train/norm.hpp"
#include "tests/train/gradients.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::random_matrix;

struct Two {
  Linear<double> first, second;
  static constexpr auto fields() { return std::tuple{field("first", &Two::first), field("second", &Two::second)}; }
};

Two two(Index width) {
  Two model{Linear<double>(width, width), Linear<double>(width, width)};
  test::shake(model, 1);
  return model;
}

TEST(Tape, GradientsOfAChainAreExact) {
  expect_gradients(two(5), random_matrix<double>(4, 5, 2), [](Tape<double>& tape, const Two& model, Variable x) {
    return record(tape, model.second, activate(tape, record(tape, model.first, x), Activation::gelu));
  });
}

TEST(Tape, AVariableThatIsReadTwiceReceivesBothGradients) {
  expect_gradients(two(5), random_matrix<double>(4, 5, 2), [](Tape<double>& tape, const Two& model, Variable x) {
    const Variable a = record(tape, model.first, x), b = record(tape, model.second, a);
    return add(tape, multiply(tape, a, b), add(tape, a, x));
  });
}

TEST(Tape, PartsAndTheirWholeMayBothBeRead) {
  for (const Index unread : {0, 1}) {
    for (const int order : {0, 1, 2}) {
      expect_gradients(two(6), random_matrix<double>(4, 6, 2), [=](Tape<double>& tape, const Two& model, Variable x) {
        const Variable z = record(tape, model.first, x);
        const Variable whole_first = order == 0 ? record(tape, model.second, z) : z;
        const Variable left = tape.columns(z, 0, 3 - unread), right = tape.columns(z, 3, 3 - unread);
        const Variable product = multiply(tape, left, right);
        if (order == 2) {
          return product;
        }
        const Variable y = order == 0 ? whole_first : record(tape, model.second, z);
        return add(tape, tape.columns(y, 0, 3 - unread), product);
      });
    }
  }
}

TEST(Tape, GoesBackOnceForEachStep) {
  const Two model = two(3);
  Two gradient = zeros_like(model);
  Tape<double> tape;
  const Matrix<double> x = random_matrix<double>(1, 3, 2);
  for (int i = 0; i < 2; ++i) {
    tape.begin(model, gradient);
    const Variable y = record(tape, model.first, tape.input(x));
    EXPECT_THROW(tape.backward(y), ShapeError);  // not 1 × 1
    EXPECT_THROW(tape.backward(y, x.leftCols(2)), ShapeError);
    tape.backward(y, x);
    EXPECT_THROW(tape.backward(y, x), ArgumentError);
  }
}

TEST(Tape, ParametersOfOtherModelsAreFixed) {
  const Two model = two(3), other = two(3);
  Two gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const Matrix<double> x = random_matrix<double>(2, 3, 2);
  const Variable y = record(tape, other.second, record(tape, model.first, tape.constant(x)));
  tape.backward(y, x);
  EXPECT_FALSE(gradient.first.weight.isZero(0));
  EXPECT_TRUE(gradient.second.weight.isZero(0));
}

TEST(Tape, AConstantReceivesNoGradient) {
  const Two model = two(3);
  Two gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const Matrix<double> x = random_matrix<double>(2, 3, 2);
  const Variable input = tape.constant(x);
  tape.backward(record(tape, model.first, input), x);
  EXPECT_FALSE(tape.wants_gradient(input));
}

}  // namespace
}  // namespace gated
