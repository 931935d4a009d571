#include "gated/ops/gradients.hpp"

#include <gtest/gtest.h>

#include "gated/train/tape.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/on_vectors.hpp"

namespace gated::gradients_test {
namespace {

using test::random_matrix;
using test::same_bits;

/// A model with one trainable weight.
struct Weight {
  Matrix<double> weight = random_matrix<double>(4, 3, 1);
  static constexpr auto fields() { return Fields(field("weight", &Weight::weight, Role::weight)); }
};

/// A training step with input x (5 × 3) and output y (5 × 4). The backward pass calls `f(back, x, y)`; the gradient of y is dy.
struct Step {
  Weight model, gradient = zeros_like(model);
  Matrix<double> x = random_matrix<double>(5, 3, 2), dy = random_matrix<double>(5, 4, 3), dx;

  template <class F>
  void run(bool wants_gradient, const F& f) {
    Tape<double> tape;
    tape.begin(model, gradient);
    const Variable input = wants_gradient ? tape.input(x) : tape.constant(x), y = tape.make(5, 4);
    tape.push([f, input, y](auto& back) { f(back, input, y); });
    tape.backward(y, dy);
    dx = wants_gradient ? Matrix<double>(tape.gradient(input)) : Matrix<double>();
  }
};

TEST(Assign, WritesAnyWidthAndStaysInBounds) {
  for (Index columns = 1; columns <= 40; ++columns) {
    const auto x = random_matrix<double>(150, columns, 1);
    for (const int threads : {1, 2}) {
      Matrix<double> y = Matrix<double>::Constant(152, columns + 5, -7);
      const auto from = reader<double>(x);
      assign<double>(y.block(1, 2, 150, columns), Workspace<double>(Threads{threads}), from + from);
      ASSERT_TRUE(same_bits(y.block(1, 2, 150, columns), Matrix<double>(2 * x))) << columns;
      y.block(1, 2, 150, columns).setConstant(-7);
      ASSERT_TRUE((y.array() == -7).all());
    }
  }
}

/// The backward pass through act(z) ⊙ factor, element by element.
TEST(ActivationBackward, EqualsItsFormulaAndStaysInBounds) {
  const Activation activation = Activation::gelu;
  const auto act = [&](const Matrix<double>& x, bool upstream) {
    return Matrix<double>(x.unaryExpr([&](double one) {
      return with_activation(activation, [&](auto f) {
        return test::on_scalar([&](auto v) { return upstream ? f.derivative(v) : f.value(v); }, one);
      });
    }));
  };
  for (Index columns = 1; columns <= 37; columns += 3) {
    const auto dy = random_matrix<double>(43, columns, 1), z = random_matrix<double>(43, columns, 2);
    const auto factor = random_matrix<double>(43, columns, 3), before = random_matrix<double>(45, columns + 5, 4);
    const Matrix<double> plain = dy.cwiseProduct(act(z, true)), change = dy.cwiseProduct(act(z, false));
    const Matrix<double> scaled = plain.cwiseProduct(factor);
    for (const int threads : {1, 2}) {
      const Workspace<double> workspace(Threads{threads});
      const auto expect = [&](ActivationBackward<double> b, bool to_factor, const Matrix<double>& dz) {
        Matrix<double> at_dz = before, at_factor = before, expected_dz = before, expected_factor = before;
        b.activation = activation;
        b.dy = dy;
        b.z = z;
        b.dz = at_dz.block(1, 2, 43, columns);
        b.to_factor = to_factor ? MatrixView<double>(at_factor.block(1, 2, 43, columns)) : MatrixView<double>();
        activation_backward<double>(b, workspace);
        const auto put = [&](Matrix<double>& whole, const Matrix<double>& part, bool adds) {
          auto block = whole.block(1, 2, 43, columns);
          block = adds ? Matrix<double>(block + part) : part;
        };
        put(expected_dz, dz, b.adds_to_dz);
        EXPECT_LE((at_dz - expected_dz).cwiseAbs().maxCoeff(), 1e-14) << columns;
        if (to_factor) {
          put(expected_factor, change, b.adds_to_factor);
        }
        EXPECT_LE((at_factor - expected_factor).cwiseAbs().maxCoeff(), 1e-14) << columns;
      };
      expect({}, false, plain);
      expect({.adds_to_dz = true}, false, plain);
      expect({.factor = factor}, true, scaled);
      expect({.factor = factor, .adds_to_dz = true, .adds_to_factor = true}, true, scaled);
    }
    Matrix<double> in_place = dy;  // ∂z may overwrite ∂y
    activation_backward<double>({.activation = activation, .dy = in_place, .z = z, .factor = factor, .dz = in_place},
                                Workspace<double>());
    EXPECT_LE((in_place - scaled).cwiseAbs().maxCoeff(), 1e-14) << columns;
  }
}

TEST(AddGradient, AddsToTheGradientOfAVariable) {
  Step step;
  step.run(true, [](auto& back, Variable x, Variable) {
    add_gradient(back, x, reader<double>(back[x]));
    add_gradient(back, x, ConstView<double>(back[x]));
    add_gradient(back, x, number(1.0));
  });
  EXPECT_LE((step.dx - (2 * step.x.array() + 1).matrix()).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(AddGradient, ReadsNothingForConstants) {
  Step step;
  const Weight* const model = &step.model;
  step.run(false, [model](auto& back, Variable x, Variable) {
    EXPECT_NE(back.gradient_of(model->weight.data()), nullptr);
    const double* const nowhere = nullptr;
    add_gradient(back, x, per_channel(nowhere));
    add_gradient_product(back, x, ConstView<double>(back[x]), ConstView<double>(back[x]));  // bad shapes: must not be read
  });
}

TEST(Accumulator, StartsAtZero) {
  Step step;
  step.run(true, [](auto& back, Variable x, Variable) {
    View<double> fresh = accumulator(back, x);
    EXPECT_TRUE(fresh.isZero(0));
    fresh.row(2).setConstant(3);
    View<double> again = accumulator(back, x);
    EXPECT_EQ(again.data(), fresh.data());
    again.row(2).array() += 1;
  });
  EXPECT_EQ(step.dx.sum(), 3 * 4);
  EXPECT_EQ(step.dx.row(2).sum(), 3 * 4);
}

TEST(AddGradientProduct, AddsAProduct) {
  Step step;
  const Weight* const model = &step.model;
  const auto once = [model](auto& back, Variable x, Variable y) {
    add_gradient_product(back, x, ConstView<double>(back.gradient(y)), model->weight);
  };
  step.run(true, once);
  const Matrix<double> expected = step.dy * step.model.weight;
  EXPECT_LE((step.dx - expected).cwiseAbs().maxCoeff(), 1e-14);
  step.run(true, [once](auto& back, Variable x, Variable y) {
    once(back, x, y);
    once(back, x, y);
  });
  EXPECT_LE((step.dx - 2 * expected).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(AddParameterProduct, AddsAProductForTrainedParametersOnly) {
  Step step;
  const Weight other;
  const Matrix<double>*trained = &step.model.weight, *fixed = &other.weight;
  const auto once = [trained, fixed](auto& back, Variable x, Variable y) {
    for (const Matrix<double>* weight : {trained, fixed}) {
      add_parameter_product(back, *weight, transposed(back.gradient(y)), back[x]);
    }
  };
  step.run(true, once);
  const Matrix<double> expected = step.dy.transpose() * step.x;
  EXPECT_LE((step.gradient.weight - expected).cwiseAbs().maxCoeff(), 1e-14);
  step.run(true, once);  // adds to the previous step's gradient
  EXPECT_LE((step.gradient.weight - 2 * expected).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_TRUE(same_bits(other.weight, Weight().weight));
}

TEST(AddColumnSums, IsCorrectForEverySize) {
  for (const Index rows : {0, 1, 37, 64, 65, 500}) {
    for (const Index columns : {1, 7, 16, 63, 64, 130, 300}) {
      const auto x = random_matrix<double>(rows, columns, 1);
      Vector<double> one = Vector<double>::Constant(columns, 5), two = one;
      add_column_sums<double>(x, one.data(), Workspace<double>());
      add_column_sums<double>(x, two.data(), Workspace<double>(Threads{2}));
      EXPECT_TRUE(same_bits(one, two)) << "threads";
      const Vector<double> expected = (x.colwise().sum().transpose().array() + 5).matrix();
      EXPECT_LE((one - expected).cwiseAbs().maxCoeff(), 1e-12) << rows << " × " << columns;
    }
  }
}

TEST(AssignAndAddColumnSums, EqualsTwoSeparateCalls) {
  Workspace<float> workspace(Threads{2});
  for (const Index columns : {Index{1}, Index{5}, Index{127}, Index{300}}) {
    const Matrix<float> a = random_matrix<float>(70, columns, 1), b = random_matrix<float>(70, columns, 2);
    const auto term = reader<float>(a) * reader<float>(b);
    Matrix<float> y(70, columns), y_too = a;
    Vector<float> sums = test::random_vector<float>(columns, 3), sums_too = sums;
    assign<float>(y, workspace, term);
    add_column_sums<float>(70, columns, sums.data(), workspace, term);
    assign_and_add_column_sums<float>(y_too, workspace, reader<float>(y_too) * reader<float>(b), sums_too.data());  // in place
    EXPECT_TRUE(same_bits(y_too, y)) << columns;
    EXPECT_TRUE(same_bits(sums_too, sums)) << columns;
  }
}

TEST(AddColumnSums, IsAccurateForManyRows) {
  const Matrix<float> x = Matrix<float>::Constant(200000, 130, 0.1F);
  Vector<float> sums = Vector<float>::Zero(130);
  add_column_sums<float>(x, sums.data(), Workspace<float>(Threads{2}));
  const float expected = static_cast<float>(200000 * static_cast<double>(0.1F));
  EXPECT_LE((sums.array() / expected - 1).abs().maxCoeff(), 1e-6F);
}

}  // namespace
}  // namespace gated::gradients_test
