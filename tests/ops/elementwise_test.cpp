#include "gated/ops/elementwise.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "gated/core/settings.hpp"
#include "tests/ops/op.hpp"

namespace gated::elementwise_test {
namespace {

using test::expect_op;
using test::message_of;
using test::random_matrix;
using test::same_bits;

using R = RunMatrix<double>;

/// Calls f(run, a, b) with a batch of four rows and two 4 × 11 matrices.
template <class F>
void in_a_batch(const F& f) {
  const auto a = random_matrix<double>(4, 11, 1), b = random_matrix<double>(4, 11, 2);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(4));
  f(run, a, b);
}

/// Expects that op(x) equals y. An owned x that is moved in must be overwritten; a shared x, or the caller's x, must not.
template <class Op>
void expect_result(Batch<double>& run, const Matrix<double>& x, const Matrix<double>& y, const Op& op) {
  const Matrix<double> before = x;
  R callers(input_view<double>(x));
  EXPECT_TRUE(same_bits(run[op(callers)], y));
  EXPECT_TRUE(same_bits(run[op(std::move(callers))], y));
  EXPECT_TRUE(same_bits(x, before)) << "belongs to the caller";
  R own = run.columns(run.make(6, 15), 2, 11);  // inside a larger matrix
  own = own.sharing(own.rows(1, 4));
  own.assign(x);
  const double* const place = own.data;
  EXPECT_TRUE(same_bits(run[op(own)], y));
  EXPECT_TRUE(same_bits(run[own], before)) << "not moved";
  const R result = op(std::move(own));
  EXPECT_EQ(result.data, place);
  EXPECT_TRUE(same_bits(run[result], y));
}

TEST(Elementwise, OpsEqualTheirFormulasAndReuseMovedInputs) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>& b) {
    const R x(input_view<double>(a)), other(input_view<double>(b));
    const Vector<double> factors = test::random_vector<double>(11, 3);
    expect_result(run, a, a.cwiseMax(0), [&](R from) { return activate(run, std::move(from), Activation::relu); });
    expect_result(run, a, a.cwiseProduct(b), [&](R from) { return multiply(run, std::move(from), other); });
    expect_result(run, b, a.cwiseProduct(b), [&](R from) { return multiply(run, x, std::move(from)); });
    expect_result(run, a, a + b, [&](R from) { return add(run, std::move(from), other); });
    expect_result(run, b, a + b, [&](R from) { return add(run, x, std::move(from)); });
    expect_result(run, a, 2 * a, [&](R from) { return scale(run, std::move(from), number(2.0)); });
    expect_result(run, a, a.rowwise() + factors.transpose(),
                  [&](R from) { return add_bias(run, std::move(from), factors.data()); });
    const Matrix<double> sum = run[add(run, x, other, factors.data())];
    EXPECT_LE((sum - a - b * factors.asDiagonal()).cwiseAbs().maxCoeff(), 1e-14);
  });
}

TEST(Elementwise, IdentityCopiesNothing) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>&) {
    EXPECT_EQ(activate(run, R(input_view<double>(a)), Activation::identity).data, a.data());
  });
}

TEST(Elementwise, OpsStayWithinBounds) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>& b) {
    const R larger = run.make(7, 15), other(input_view<double>(b));
    larger.fill(-7);
    MatrixUse use;  // makes a block of `larger` an owned matrix
    const MatrixView<double> place = larger.block(1, 2, 4, 11);
    const auto expect = [&](const Matrix<double>& y, const auto& op) {
      place.assign(a);
      EXPECT_EQ(op(R(place, &use)).data, place.data);
      EXPECT_TRUE(same_bits(ConstView<double>(place), y));
      place.fill(-7);
      EXPECT_TRUE((run[larger].array() == -7).all());
    };
    expect(a.cwiseMax(0), [&](R x) { return activate(run, std::move(x), Activation::relu); });
    expect(a.cwiseProduct(b), [&](R x) { return multiply(run, std::move(x), other); });
    expect(a + b, [&](R x) { return add(run, std::move(x), other); });
    expect(2 * a, [&](R x) { return scale(run, std::move(x), number(2.0)); });
    const R x = run.owned(R(input_view<double>(a))), square = multiply(run, x, x);
    EXPECT_NE(square.data, x.data) << "x is still in use";
    EXPECT_TRUE(same_bits(run[square], Matrix<double>(a.cwiseProduct(a))));
  });
}

TEST(Elementwise, RefusesDifferentShapes) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>& b) {
    const R x(input_view<double>(a)), narrow(input_view<double>(b.leftCols(3))), low(input_view<double>(b.topRows(2)));
    EXPECT_EQ(message_of<ShapeError>([&] { add(run, x, narrow); }), "add: a is 4 × 11 and b is 4 × 3, expected equal shapes.");
    EXPECT_EQ(message_of<ShapeError>([&] { multiply(run, low, x); }),
              "multiply: a is 2 × 11 and b is 4 × 11, expected equal shapes.");
  });
}

TEST(Elementwise, ActivationsHandleAnyWidth) {
  for (Index columns = 1; columns <= 40; ++columns) {
    const Matrix<float> x = random_matrix<float>(37, columns, 5);
    Matrix<float> larger = Matrix<float>::Constant(39, columns + 3, -7);
    Workspace<float> workspace;
    const auto frame = workspace.frame();
    Batch<float> run(workspace, Sequences::single(37));
    MatrixUse use;
    larger.block(1, 2, 37, columns) = x;
    activate(run, RunMatrix<float>(larger.block(1, 2, 37, columns), &use), Activation::relu2);
    const Matrix<float> positive = x.cwiseMax(0);
    EXPECT_TRUE(same_bits(Matrix<float>(larger.block(1, 2, 37, columns)), Matrix<float>(positive.cwiseProduct(positive))))
        << columns;
    larger.block(1, 2, 37, columns).setConstant(-7);
    EXPECT_TRUE((larger.array() == -7).all()) << columns;
  }
}

TEST(Elementwise, EveryActivationWorksInBatchesStreamsAndTapes) {
  for (const auto& [activation, name] : names_of(Activation{})) {
    SCOPED_TRACE(name);
    expect_op([act = activation](auto& run, auto x) { return activate(run, std::move(x), act); }, {.in = 11, .out = 11});
  }
}

/// A learned scale per channel.
template <class T>
struct Factors {
  using Scalar = T;
  Vector<T> factors;
  explicit Factors(Index count) : factors(test::random_vector<T>(count, 5)) {}
  static constexpr auto fields() { return Fields(field("factors", &Factors::factors, Role::norm)); }
};

TEST(Elementwise, ProductsSumsAndScalesWorkInBatchesStreamsAndTapes) {
  const auto gate = [](auto& run, const auto& x) { return multiply(run, run.columns(x, 0, 5), run.columns(x, 5, 5)); };
  const auto square = [](auto& run, const auto& x) { return multiply(run, x, x); };
  const auto sum = [](auto& run, const auto& x) { return add(run, run.columns(x, 0, 5), run.columns(x, 5, 5)); };
  expect_op(gate, {.in = 10, .out = 5});
  expect_op(square, {.in = 10, .out = 10});
  expect_op(sum, {.in = 10, .out = 5});
  expect_op<Factors>(5, [](auto& run, const auto& p, auto x) { return add_bias(run, std::move(x), p.factors.data()); },
                     {.in = 5, .out = 5});
  expect_op<Factors>(5,
                     [](auto& run, const auto& p, const auto& x) {
                       return add(run, run.columns(x, 0, 5), run.columns(x, 5, 5), p.factors.data());
                     },
                     {.in = 10, .out = 5});
  expect_op(
      [](auto& run, const auto& x) {
        using T = typename std::remove_cvref_t<decltype(run)>::Scalar;
        static const auto factors = [] {
          std::array<T, 10> numbers{};
          std::iota(numbers.begin(), numbers.end(), T{2});
          return numbers;
        }();
        return scale(run, x, per_channel(factors.data()));
      },
      {.in = 10, .out = 10});
}

}  // namespace
}  // namespace gated::elementwise_test
